// What a browser is allowed on the pages of the daemon: nothing but what is in them.
#pragma once

#include <string>
#include <string_view>

#include "response.h"

namespace skewscope::gather {

// What a policy calls a script or a style that is part of a page: "'sha256-BASE64'".
std::string hash_source(std::string_view content);

// Content-Security-Policy of a report's page: its one script and one style, which the page's own policy names by their
// hashes; whatever else the page's policy says is not believed. A page without such hashes may run nothing.
std::string policy_of_report(std::string_view beginning_of_page);

// `policy`: the Content-Security-Policy.
Response page(int status, std::string html, const std::string& policy, const char* referrer = "no-referrer");
// `referrer`: a page with a form needs "same-origin": with none at all browsers do not say whose form it was.
void add_page_fields(Response& response, const std::string& policy, const char* referrer = "no-referrer");

}  // namespace skewscope::gather
