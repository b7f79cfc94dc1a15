#include "beast_gate.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

namespace skewscope::gather {
namespace {

namespace http = boost::beast::http;
using Parser = http::request_parser<http::empty_body>;

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

RawHead raw_head(const Parser& parser) {
  RawHead out;
  out.method = view(parser.get().method_string());
  out.target = view(parser.get().target());
  out.version = static_cast<int>(parser.get().version());
  for (const auto& field : parser.get()) out.fields.emplace_back(view(field.name_string()), view(field.value()));
  return out;
}

bool same_body(const Parser& parser, const Request& request) {
  const auto length = parser.content_length();
  const bool same = length.has_value() ? request.content_length == *length : !request.content_length;
  return same && !parser.chunked() && !parser.need_eof();
}

}  // namespace

Read read_with_beast(std::string_view bytes, Listener listener) {
  Parser parser;
  parser.header_limit(kLongestHead);
  parser.body_limit(boost::none);
  boost::beast::error_code error;
  Read out;
  out.head = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (error == http::error::need_more || (!error && !parser.is_header_done())) return out;
  if (error && !parser.is_header_done()) {
    out.outcome = Read::Outcome::parser_error;
    return out;
  }
  const std::variant<Request, Refused> admitted = admit(raw_head(parser), listener);
  if (const Request* request = std::get_if<Request>(&admitted)) {
    out.outcome = Read::Outcome::admitted;
    out.request = *request;
    out.agrees = same_body(parser, *request);
  } else {
    out.outcome = Read::Outcome::refused;
    out.refused = std::get<Refused>(admitted);
  }
  return out;
}

std::vector<Request> requests_in(std::string_view bytes) {
  std::vector<Request> out;
  while (!bytes.empty()) {
    const size_t end = bytes.find("\r\n\r\n");
    if (end == std::string_view::npos || refuse_bytes(bytes.substr(0, end + 4))) break;
    const Read read = read_with_beast(bytes);
    if (read.outcome != Read::Outcome::admitted) break;
    out.push_back(read.request);
    const uint64_t length = read.head + read.request.content_length.value_or(0);
    if (!read.request.keep_alive || length >= bytes.size()) break;
    bytes.remove_prefix(length);
  }
  return out;
}

}  // namespace skewscope::gather
