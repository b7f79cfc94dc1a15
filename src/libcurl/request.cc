#include "skewscope/libcurl/request.h"

#include <arpa/inet.h>

#include <memory>

#include "authorities.h"

namespace skewscope {
namespace {

std::string url_part(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return "";
  std::string copy(text);
  curl_free(text);
  return copy;
}

}  // namespace

std::optional<UrlParts> parse_url(const std::string& url) {
  start_libcurl();
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parsed(curl_url(), curl_url_cleanup);
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return std::nullopt;
  const auto part = [&](CURLUPart which) { return url_part(parsed.get(), which); };
  return UrlParts{part(CURLUPART_SCHEME), part(CURLUPART_USER), part(CURLUPART_PASSWORD), part(CURLUPART_HOST),
                  part(CURLUPART_PORT),   part(CURLUPART_PATH), part(CURLUPART_QUERY),    part(CURLUPART_FRAGMENT)};
}

bool is_this_machine(const std::string& host) {
  in_addr address{};
  const bool loops = inet_pton(AF_INET, host.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
  return loops || host == "localhost" || host == "[::1]";
}

void secure(CURL* handle, const std::string& ca_file) {
  const auto set = [handle](CURLoption option, auto value) { set_option()(handle, option, value); };
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  set(CURLOPT_PROXY, "");  // what is sent is for nobody between
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
  if (!ca_file.empty()) {
    set(CURLOPT_CAINFO, ca_file.c_str());
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // else the system's authorities count, too
    set(CURLOPT_CA_CACHE_TIMEOUT, 0L);                       // the file may have been replaced
  } else if (const std::string file = system_authorities(); !file.empty()) {
    set(CURLOPT_CAINFO, file.c_str());
  }
  set(CURLOPT_NOSIGNAL, 1L);
}

}  // namespace skewscope
