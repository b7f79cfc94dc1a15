// libcurl is loaded when it is called (libcurl.cc).
#pragma once

#include <curl/curl.h>

namespace skewscope::ship {

// curl_easy_setopt(): a function of any number of arguments is not handed on, but called where it is.
decltype(&::curl_easy_setopt) set_option();

}  // namespace skewscope::ship
