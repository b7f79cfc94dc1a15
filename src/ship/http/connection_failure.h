// Why a request got no whole answer, in words that say what to change.
#pragma once

#include <curl/curl.h>

#include <string>

#include "reply.h"

namespace skewscope::ship {

// `said`: by libcurl, of `code`. `encrypted`: https was asked for. `has_certificate`: this side has one to show.
Reply failure_of(CURLcode code, const std::string& said, bool encrypted, bool has_certificate);

}  // namespace skewscope::ship
