// Beast reads the head, and never anything behind it: its body readers believe transfer codings and trailers that are
// refused here. What it repairs silently (folded fields, bare line feeds) is refused before it sees it.
#include "head.h"

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

namespace skewscope::gather {
namespace {

namespace http = boost::beast::http;

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

size_t end_of_head(std::string_view bytes) {
  const size_t end = bytes.find("\r\n\r\n");
  return end == std::string_view::npos ? end : end + 4;
}

std::variant<Request, Refused> read_head(std::string_view head, Listener listener, std::string_view user_header) {
  if (auto refused = refuse_bytes(head)) return *std::move(refused);
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kLongestHead);
  parser.body_limit(boost::none);
  parser.eager(false);
  boost::beast::error_code error;
  parser.put(boost::asio::buffer(head.data(), head.size()), error);
  if (error && error != http::error::need_more) return Refused{400, "malformed head", {}};
  if (!parser.is_header_done()) return Refused{400, "malformed head", {}};
  const auto& message = parser.get();
  RawHead raw;
  raw.method = view(message.method_string());
  raw.target = view(message.target());
  raw.version = static_cast<int>(message.version());
  for (const auto& field : message) raw.fields.emplace_back(view(field.name_string()), view(field.value()));
  return admit(raw, listener, user_header);
}

}  // namespace skewscope::gather
