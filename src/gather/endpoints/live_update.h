// Pages that stay current while they are open: a script asks for the page again every ten seconds and changes what is
// different in its live parts, so that scroll, focus, selection and what is typed stay. It rests while nobody sees the
// page. A browser without scripts loads the whole page anew as often.
#pragma once

#include <string>

namespace skewscope::gather {

// A part of `body` that stays current; `id` is unique on the page. Within it, what may be inserted or go, such as a
// row, has an id of its own.
std::string live_part(const char* id, const std::string& body);

std::string live_head();    // within <head>
std::string live_script();  // at the end of <body>
std::string live_policy();  // what its Content-Security-Policy allows besides, as directives

}  // namespace skewscope::gather
