// In this order, so that the first thing wrong is what is reported: sizes; the form of every field; whatever changes
// where the request ends (transfer codings, Content-Length, Connection); method and target; what the endpoint wants of
// its fields; what of a body.
#include "gate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "route.h"

namespace skewscope::gather {
namespace {

constexpr uint64_t kLargestNumber = std::numeric_limits<int64_t>::max();
constexpr std::string_view kTusVersion = "1.0.0";

// The fields that mean something here. All others are passed over, whatever they say.
constexpr std::array<std::string_view, 23> kKnown = {"host",
                                                     "content-length",
                                                     "content-type",
                                                     "content-encoding",
                                                     "content-range",
                                                     "transfer-encoding",
                                                     "trailer",
                                                     "upgrade",
                                                     "te",
                                                     "connection",
                                                     "expect",
                                                     "authorization",
                                                     "cookie",
                                                     "range",
                                                     "repr-digest",
                                                     "tus-resumable",
                                                     "upload-metadata",
                                                     "upload-length",
                                                     "upload-defer-length",
                                                     "upload-offset",
                                                     "upload-checksum",
                                                     "x-http-method-override",
                                                     "origin"};

// One of them by its name; another name does not compile.
struct Field {
  size_t index = 0;
  consteval Field(const char* name) {
    while (kKnown.at(index) != name) ++index;
  }
};

class Seen {
 public:
  std::optional<std::string_view>& at(size_t index) { return values_[index]; }
  const std::optional<std::string_view>& operator[](Field field) const { return values_[field.index]; }

 private:
  std::array<std::optional<std::string_view>, kKnown.size()> values_;
};

// std::tolower asks the locale.
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z'); }

// A token of RFC 9110.
bool is_token(std::string_view text) {
  const auto allowed = [](char c) {
    return is_alphanumeric(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
}

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::optional<Refused> refuse_sizes(const RawHead& head) {
  if (head.target.size() > kLongestTarget) return Refused{414, "the target is too long", {}};
  if (head.fields.size() > kMostFields) return Refused{431, "too many fields", {}};
  size_t bytes = head.method.size() + head.target.size() + std::string_view("  HTTP/1.1\r\n\r\n").size();
  for (const auto& [name, value] : head.fields) bytes += name.size() + value.size() + std::string_view(": \r\n").size();
  if (bytes > kLongestHead) return Refused{431, "the head is too long", {}};
  return std::nullopt;
}

std::optional<Refused> take_fields(Seen& seen, const RawHead& head) {
  for (const auto& [name, value] : head.fields) {
    if (!is_token(name)) return Refused{400, "a field's name is no token", {}};
    if (has_control_character(value)) return Refused{400, "a field has a control character", {}};
    for (size_t i = 0; i < kKnown.size(); ++i) {
      if (!same_ignoring_case(name, kKnown[i])) continue;
      if (kKnown[i] == "transfer-encoding") return Refused{411, "a transfer coding: send a Content-Length instead", {}};
      if (seen.at(i)) return Refused{400, "a field is there twice", {}};
      if (!is_visible(value)) return Refused{400, "a field has a character beyond ASCII", {}};
      seen.at(i) = value;
    }
  }
  return std::nullopt;
}

// The last X-Forwarded-For is the nearest proxy's.
std::optional<Refused> take_user(Request& request, const RawHead& head, std::string_view user_header) {
  bool is_named = false;
  for (const auto& [name, value] : head.fields) {
    if (same_ignoring_case(name, "x-forwarded-for") && is_visible(value)) request.forwarded_for = value;
    if (!same_ignoring_case(name, user_header)) continue;
    if (is_named) return Refused{400, "the field that names the user is there twice", {}};
    if (!is_visible(value)) return Refused{400, "the field that names the user has a character beyond ASCII", {}};
    is_named = true;
    request.user = value;
  }
  return std::nullopt;
}

// name, IPv4 or [IPv6] address; with :port or without.
bool is_host(std::string_view text) {
  const bool bracketed = text.starts_with('[');
  const size_t end = bracketed ? text.find(']') : std::min(text.find(':'), text.size());
  if (end == std::string_view::npos) return false;
  const std::string_view name = text.substr(bracketed, end - bracketed), port = text.substr(end + bracketed);
  if (!port.empty() && (port.front() != ':' || !whole_number(port.substr(1), 65535))) return false;
  const auto allowed = [&](char c) {
    return is_alphanumeric(c) || c == '.' || (bracketed ? c == ':' : c == '-' || c == '_');
  };
  return !name.empty() && name.size() <= 255 && std::all_of(name.begin(), name.end(), allowed);
}

// Everything that says where this request ends and whether another follows.
std::optional<Refused> take_framing(Request& request, const Seen& seen, int version) {
  if (version == 11 && !seen["host"]) return Refused{400, "Host is missing", {}};
  if (seen["host"] && !is_host(*seen["host"])) return Refused{400, "Host is no name or address", {}};
  request.host = seen["host"].value_or("");
  request.origin = seen["origin"].value_or("");
  if (seen["content-length"]) {
    request.content_length = whole_number(*seen["content-length"], kLargestNumber);
    if (!request.content_length) return Refused{400, "Content-Length is no number", {}};
  }
  for (const Field field : {Field("trailer"), Field("upgrade"), Field("te")}) {
    if (seen[field]) return Refused{400, "trailers, upgrades and TE are not taken", {}};
  }
  const bool closes = seen["connection"] && same_ignoring_case(*seen["connection"], "close");
  if (seen["connection"] && !closes && !same_ignoring_case(*seen["connection"], "keep-alive")) {
    return Refused{400, "Connection says neither close nor keep-alive", {}};
  }
  request.keep_alive = version == 11 && !closes;
  if (seen["expect"] && !same_ignoring_case(*seen["expect"], "100-continue")) {
    return Refused{417, "Expect says something else than 100-continue", {}};
  }
  request.expects_continue = version == 11 && seen["expect"];
  return std::nullopt;
}

std::optional<Method> method_of(std::string_view text) {
  constexpr std::pair<std::string_view, Method> kMethods[] = {
      {"GET", Method::get},     {"HEAD", Method::head},      {"PUT", Method::put},        {"POST", Method::post},
      {"PATCH", Method::patch}, {"DELETE", Method::delete_}, {"OPTIONS", Method::options}};
  for (const auto& [name, method] : kMethods) {
    if (text == name) return method;
  }
  return std::nullopt;
}

bool is_upload(Endpoint endpoint) {
  return endpoint == Endpoint::upload_head || endpoint == Endpoint::upload_patch || endpoint == Endpoint::upload_delete;
}

bool is_tus(Endpoint endpoint) { return is_upload(endpoint) || endpoint == Endpoint::upload_create; }

// "http://host:port/path", as it is sent to proxies and must be taken by servers (RFC 9112, 3.2.2): its authority
// counts in place of Host. Gives the path, or what is wrong.
std::variant<std::string_view, Refused> path_of(Request& request, std::string_view target) {
  const size_t scheme = same_ignoring_case(target.substr(0, 7), "http://")    ? 7
                        : same_ignoring_case(target.substr(0, 8), "https://") ? 8
                                                                              : 0;
  if (scheme == 0) return target;
  target.remove_prefix(scheme);
  const size_t end = std::min(target.find_first_of("/?"), target.size());
  if (!is_host(target.substr(0, end))) return Refused{400, "the target's authority is no name or address", {}};
  request.host = target.substr(0, end);
  target.remove_prefix(end);
  if (target.empty()) return std::string_view("/");
  if (target.front() == '?') return Refused{400, "the target is no path", {}};
  return target;
}

// X-HTTP-Method-Override makes a POST a PATCH or a DELETE, on uploads alone.
std::variant<Body, Refused> take_target(Request& request, const RawHead& head, const Seen& seen, Listener listener) {
  const std::optional<Method> method = method_of(head.method);
  if (!method) return Refused{501, "this method is not known", {}};
  const std::variant<std::string_view, Refused> path = path_of(request, head.target);
  if (const auto* refused = std::get_if<Refused>(&path)) return *refused;
  const std::string_view target = std::get<std::string_view>(path);
  if (!seen["x-http-method-override"]) return route(request, *method, target, listener);
  const std::optional<Method> other = method_of(*seen["x-http-method-override"]);
  if (method != Method::post || (other != Method::patch && other != Method::delete_)) {
    return Refused{400, "X-HTTP-Method-Override is for PATCH and DELETE by POST", {}};
  }
  std::variant<Body, Refused> out = route(request, *other, target, listener);
  if (std::holds_alternative<Body>(out) && !is_upload(request.endpoint)) {
    return Refused{400, "X-HTTP-Method-Override is for uploads", {}};
  }
  return out;
}

std::optional<Refused> take_authorization(Request& request, const Seen& seen) {
  const std::string_view text = seen["authorization"].value_or("");
  if (!seen["authorization"]) return std::nullopt;
  const size_t space = std::min(text.find(' '), text.size());
  const std::string_view scheme = text.substr(0, space), credential = text.substr(std::min(space + 1, text.size()));
  if (!is_token(scheme) || credential.find(' ') != std::string_view::npos) {
    return Refused{400, "Authorization is not a scheme and a credential", {}};
  }
  std::transform(scheme.begin(), scheme.end(), std::back_inserter(request.authorization_scheme), lower);
  request.bearer = credential;
  return std::nullopt;
}

void take_texts(Request& request, const Seen& seen) {
  constexpr std::pair<Field, std::string Request::*> kTexts[] = {
      {Field("cookie"), &Request::cookie},
      {Field("content-type"), &Request::content_type},
      {Field("range"), &Request::range},
      {Field("repr-digest"), &Request::repr_digest},
      {Field("tus-resumable"), &Request::tus_resumable},
      {Field("upload-metadata"), &Request::upload_metadata},
      {Field("upload-length"), &Request::upload_length},
      {Field("upload-defer-length"), &Request::upload_defer_length},
      {Field("upload-offset"), &Request::upload_offset},
      {Field("upload-checksum"), &Request::upload_checksum},
  };
  for (const auto& [field, member] : kTexts) request.*member = seen[field].value_or("");
}

std::optional<Refused> refuse_tus(const Request& request, const Seen& seen) {
  if (!is_tus(request.endpoint)) return std::nullopt;
  if (request.tus_resumable != kTusVersion) {
    return Refused{412, "Tus-Resumable is not 1.0.0", {{"Tus-Version", std::string(kTusVersion)}}};
  }
  for (const Field field : {Field("upload-length"), Field("upload-offset")}) {
    if (seen[field] && !whole_number(*seen[field], kLargestNumber)) {
      return Refused{400, "Upload-Length or Upload-Offset is no number", {}};
    }
  }
  if (seen["upload-defer-length"] && request.upload_defer_length != "1") {
    return Refused{400, "Upload-Defer-Length is not 1", {}};
  }
  if (request.endpoint == Endpoint::upload_create &&
      seen["upload-length"].has_value() == seen["upload-defer-length"].has_value()) {
    return Refused{400, "either Upload-Length or Upload-Defer-Length is needed", {}};
  }
  if (request.endpoint == Endpoint::upload_patch && !seen["upload-offset"]) {
    return Refused{400, "Upload-Offset is missing", {}};
  }
  return std::nullopt;
}

// The type alone, without parameters.
bool is_type(std::string_view text, std::string_view type) {
  text = text.substr(0, text.find(';'));
  while (text.ends_with(' ')) text.remove_suffix(1);
  return same_ignoring_case(text, type);
}

std::optional<Refused> refuse_body(const Request& request, Body body, const Seen& seen) {
  const uint64_t length = request.content_length.value_or(0);
  if (seen["content-encoding"] && !same_ignoring_case(*seen["content-encoding"], "identity")) {
    return Refused{415, "a content coding: send the file as it is", {}};
  }
  const bool needed = body == Body::bytes || body == Body::needed_document || body == Body::form;
  if (needed && !request.content_length) return Refused{411, "Content-Length is missing", {}};
  if (body == Body::none && length > 0) return Refused{400, "a body where none belongs", {}};
  const bool is_file = body == Body::bytes || body == Body::first_bytes;
  if (!is_file && length > kLongestDocument) return Refused{413, "the body is too long", {}};
  const bool is_patch = request.endpoint == Endpoint::upload_patch;
  if (is_patch || (body == Body::first_bytes && length > 0)) {
    if (!is_type(request.content_type, "application/offset+octet-stream")) {
      return Refused{415, "Content-Type is not application/offset+octet-stream", {}};
    }
  }
  if (body == Body::form && !is_type(request.content_type, "application/x-www-form-urlencoded")) {
    return Refused{415, "Content-Type is not application/x-www-form-urlencoded", {}};
  }
  // A part taken for the whole would be kept as the whole (RFC 9110, 14.5). curl -C sends it with a PATCH, too, where
  // Upload-Offset counts.
  if (seen["content-range"] && !is_patch) return Refused{400, "Content-Range: send the whole, or use an upload", {}};
  return std::nullopt;
}

}  // namespace

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<uint64_t> whole_number(std::string_view text, uint64_t most) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  if (text.front() == '0' && text.size() > 1) return std::nullopt;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && value <= most ? std::optional(value) : std::nullopt;
}

std::optional<Refused> refuse_bytes(std::string_view bytes) {
  if (bytes.size() > kLongestHead) return Refused{431, "the head is too long", {}};
  bool first = true;
  while (!bytes.empty()) {
    const size_t end = bytes.find("\r\n");
    if (end == std::string_view::npos) return Refused{400, "a line does not end in CR LF", {}};
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end + 2);
    if (line.empty() && !first && bytes.empty()) return std::nullopt;
    if (line.empty()) return Refused{400, "an empty line in the head", {}};
    if (line.front() == ' ' || line.front() == '\t') return Refused{400, "a field is folded", {}};
    if (has_control_character(line)) return Refused{400, "the head has a control character", {}};
    if (!first && line.find(':') == std::string_view::npos) return Refused{400, "a line is no field", {}};
    first = false;
  }
  return Refused{400, "the head has no end", {}};
}

std::variant<Request, Refused> admit(const RawHead& head, Listener listener, std::string_view user_header) {
  if (head.version != 10 && head.version != 11) return Refused{505, "this version of HTTP is not taken", {}};
  if (std::optional<Refused> refused = refuse_sizes(head)) return *refused;
  Seen seen;
  if (std::optional<Refused> refused = take_fields(seen, head)) return *refused;
  Request request;
  if (!user_header.empty()) {
    if (std::optional<Refused> refused = take_user(request, head, user_header)) return *refused;
    for (const Field field : {Field("authorization"), Field("cookie"), Field("te")}) seen.at(field.index).reset();
  }
  if (std::optional<Refused> refused = take_framing(request, seen, head.version)) return *refused;
  const std::variant<Body, Refused> body = take_target(request, head, seen, listener);
  if (const Refused* refused = std::get_if<Refused>(&body)) return *refused;
  take_texts(request, seen);
  if (std::optional<Refused> refused = take_authorization(request, seen)) return *refused;
  std::optional<Refused> refused = refuse_tus(request, seen);
  if (!refused) refused = refuse_body(request, std::get<Body>(body), seen);
  if (!refused) return request;
  if (is_tus(request.endpoint)) refused->fields.emplace_back("Tus-Resumable", std::string(kTusVersion));
  return *std::move(refused);
}

}  // namespace skewscope::gather
