// Whom a reverse proxy has signed on (OpenID Connect, LDAP, whatever it speaks), as a field of its requests says. The
// field counts on the proxy's own socket alone, which lets nobody else in. It is a user of this cluster, by name or by
// an address of its domain, who may read his jobs, an operator all.
#pragma once

#include <string>

#include "src/gather/http/service.h"
#include "user_names.h"

namespace skewscope::gather {

// The name in NSS of whom the field names; `domain`: what of an address is cut off; "": nothing is. "": nobody, as for
// an address of another domain.
std::string user_named(const std::string& field, const std::string& domain);

// NotKnownYet: NSS has been asked. A response: why he is not let in.
Admitted signed_on(const Call& call, const GatherOptions& options, const UserNames& users);

}  // namespace skewscope::gather
