#include "page_policy.h"

#include "skewscope/protocol/sha256.h"

namespace skewscope::gather {
namespace {

// "'sha256-BASE64'" behind "script-src " or "style-src "; "" where there is no such thing.
std::string hash_after(std::string_view page, std::string_view directive) {
  const std::string start = std::string(directive) + " 'sha256-";
  const size_t at = page.find(start);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = page.substr(at + start.size());
  const std::string_view hash = rest.substr(0, rest.find('\''));
  const auto bytes = from_base64(hash);
  return bytes && bytes->size() == Digest{}.size() ? "'sha256-" + std::string(hash) + "'" : "";
}

}  // namespace

std::string hash_source(std::string_view content) {
  const Digest digest = sha256(content);
  return "'sha256-" + base64({reinterpret_cast<const char*>(digest.data()), digest.size()}) + "'";
}

std::string policy_of_report(std::string_view beginning) {
  std::string policy = "default-src 'none'; ";
  for (const char* directive : {"script-src", "style-src"}) {
    const std::string hash = hash_after(beginning, directive);
    policy += std::string(directive) + " " + (hash.empty() ? "'none'" : hash) + "; ";
  }
  return policy + "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts";
}

void add_page_fields(Response& response, const std::string& policy, const char* referrer) {
  response.field("Content-Type", "text/html; charset=utf-8")
      .field("Content-Security-Policy", policy)
      .field("Referrer-Policy", referrer)
      .field("Cross-Origin-Resource-Policy", "same-origin");
}

Response page(int status, std::string html, const std::string& policy, const char* referrer) {
  Response response;
  response.status = status;
  add_page_fields(response, policy, referrer);
  response.body = std::move(html);
  return response;
}

}  // namespace skewscope::gather
