// Whom a request's Host names. A page elsewhere that has its own name resolve to our address (DNS rebinding) must get
// nothing from a browser on this machine.
#pragma once

#include <string_view>

#include "skewscope/gather.h"

namespace skewscope::gather {

// `host`: as in the request, with or without port, whatever the port says; "": HTTP/1.0 without Host, which no browser
// sends.
//
// With a server name: that name or the listening address. Without: where nobody is asked for a credential, this machine
// (localhost, 127.0.0.0/8, [::1]); elsewhere anything, as a rebinding page has none.
bool is_our_host(std::string_view host, const GatherOptions& options);
// The listener of metrics and health asks nobody for a credential on loopback: this machine, or the server name. On
// another address its metrics want a token: any name.
bool is_our_admin_host(std::string_view host, const GatherOptions& options);
// Whether a request comes from no page (`origin` "") or from one of the server that `host` names. A page of elsewhere
// can have a browser send what changes something, though it does not get the answer.
bool is_our_page(std::string_view origin, std::string_view host);

}  // namespace skewscope::gather
