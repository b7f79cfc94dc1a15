#include "response.h"

#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <random>

namespace skewscope::gather {
namespace {

const char* phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 303:
      return "See Other";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 460:
      return "Checksum Mismatch";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return "Answer";
  }
}

std::string date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[40];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc)};
}

int seconds_to_wait() {
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_int_distribution<int>(1, 30)(random);
}

}  // namespace

Response& Response::field(std::string name, std::string value) {
  fields.emplace_back(std::move(name), std::move(value));
  return *this;
}

Response problem(int status, const char* reason) {
  constexpr const char* kForm = R"({{"type":"about:blank","title":"{}","status":{},"detail":"{}"}})";
  Response response =
      document(status, "application/problem+json", fmt::format(kForm, phrase(status), status, reason) + "\n");
  if (status == 429 || status == 503) response.field("Retry-After", std::to_string(seconds_to_wait()));
  return response;
}

Response unauthorized(const std::string& why) { return problem(401, why.c_str()).field("WWW-Authenticate", "Bearer"); }

Response document(int status, const char* type, std::string body) {
  Response response;
  response.status = status;
  response.body = std::move(body);
  return response.field("Content-Type", type);
}

Response see_other(const std::string& where) {
  Response response;
  response.status = 303;
  return response.field("Location", where);
}

std::string head_of(const Response& response, const std::string& request_id, bool keep_alive) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\nX-Request-Id: {}\r\n", response.status,
                                 phrase(response.status), date(), request_id);
  for (const auto& [name, value] : response.fields) head += fmt::format("{}: {}\r\n", name, value);
  if (response.status != 204) {
    head += fmt::format("Content-Length: {}\r\n", response.file ? response.file_size : response.body.size());
  }
  head += "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n";
  if (!keep_alive) head += "Connection: close\r\n";
  return head + "\r\n";
}

}  // namespace skewscope::gather
