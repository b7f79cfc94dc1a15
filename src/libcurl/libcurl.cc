// The functions of libcurl that `ship` and webhooks call, handed on to the library, which is loaded at the first call.
//
// Why it is not linked: with the 25 libraries behind it, libcurl is half of what the program would load before any
// command begins, a third of the time that `skewscope --version` takes. Without it the first call throws.
#include "skewscope/libcurl/libcurl.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <stdexcept>

namespace {

void* library() {
  static void* const kLoaded = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (kLoaded == nullptr)
    throw std::runtime_error(fmt::format("cannot load libcurl (package libcurl4): {}", dlerror()));
  return kLoaded;
}

template <class Function>
Function* function_of(const char* name) {
  void* const found = dlsym(library(), name);
  if (found == nullptr) throw std::runtime_error(fmt::format("libcurl has no {}", name));
  return reinterpret_cast<Function*>(found);
}

}  // namespace

#define HAND_ON(name, ...)                                             \
  static auto* const kFunction = function_of<decltype(::name)>(#name); \
  return kFunction(__VA_ARGS__)

CURLcode curl_global_init(long flags) { HAND_ON(curl_global_init, flags); }
CURL* curl_easy_init() { HAND_ON(curl_easy_init); }
void curl_easy_cleanup(CURL* handle) { HAND_ON(curl_easy_cleanup, handle); }
void curl_easy_reset(CURL* handle) { HAND_ON(curl_easy_reset, handle); }
CURLcode curl_easy_perform(CURL* handle) { HAND_ON(curl_easy_perform, handle); }
const char* curl_easy_strerror(CURLcode code) { HAND_ON(curl_easy_strerror, code); }

curl_slist* curl_slist_append(curl_slist* list, const char* text) { HAND_ON(curl_slist_append, list, text); }
void curl_slist_free_all(curl_slist* list) { HAND_ON(curl_slist_free_all, list); }
void curl_free(void* memory) { HAND_ON(curl_free, memory); }
CURLU* curl_url() { HAND_ON(curl_url); }
void curl_url_cleanup(CURLU* url) { HAND_ON(curl_url_cleanup, url); }
CURLUcode curl_url_get(CURLU* url, CURLUPart part, char** text, unsigned flags) {
  HAND_ON(curl_url_get, url, part, text, flags);
}
CURLUcode curl_url_set(CURLU* url, CURLUPart part, const char* text, unsigned flags) {
  HAND_ON(curl_url_set, url, part, text, flags);
}

namespace skewscope {

void start_libcurl() {
  static const CURLcode kStarted = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(kStarted);
}

decltype(&::curl_easy_setopt) set_option() {
  static auto* const kFunction = function_of<decltype(::curl_easy_setopt)>("curl_easy_setopt");
  return kFunction;
}

}  // namespace skewscope
