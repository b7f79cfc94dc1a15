// Requests over libcurl are made one way, whoever makes them and to whom.
#pragma once

#include <optional>
#include <string>

#include "skewscope/libcurl/libcurl.h"

namespace skewscope {

struct UrlParts {
  std::string scheme, user, password, host, port, path, query, fragment;  // port "": the scheme's own
};
// nullopt: it is no URL.
std::optional<UrlParts> parse_url(const std::string& url);

bool is_this_machine(const std::string& host);  // by its name or address: localhost, 127.0.0.0/8, [::1]

// HTTP/1.1 to this host alone: no proxy and no redirect. Certificates are verified, with TLS 1.2 or later, against
// `ca_file` (PEM, read again for each connection) or, "", what this system trusts.
void secure(CURL* handle, const std::string& ca_file);

}  // namespace skewscope
