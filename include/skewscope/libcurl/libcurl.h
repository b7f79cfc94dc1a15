// libcurl, which is loaded when it is called (src/libcurl/libcurl.cc): without it, the first call throws.
#pragma once

#include <curl/curl.h>

namespace skewscope {

// Once per process, before the first handle; libcurl wants it so.
void start_libcurl();

// curl_easy_setopt(): a function of any number of arguments is not handed on, but called where it is.
decltype(&::curl_easy_setopt) set_option();

}  // namespace skewscope
