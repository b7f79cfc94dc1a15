#include "client.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "connection_failure.h"
#include "skewscope/base/printable.h"
#include "skewscope/libcurl/request.h"

namespace skewscope::ship {
namespace {

constexpr size_t kLongestToken = 4096;
constexpr long kConnect_s = 10;
constexpr uint64_t kLeastRate = 1024;  // slower than this over `silence`: failed

Error usage(std::string message) { return {ErrorKind::usage, std::move(message)}; }

// Of unix:PATH; "": it is another URL.
std::string socket_of(const std::string& url) {
  constexpr std::string_view kScheme = "unix:";
  return url.starts_with(kScheme) ? url.substr(kScheme.size()) : "";
}

}  // namespace

Result<std::string> base_url(const std::string& url, bool has_token) {
  if (!socket_of(url).empty()) return std::string("http://localhost");
  const UrlParts parts = parse_url(url).value_or(UrlParts());
  const bool bare = parts.path == "/" && (parts.user + parts.password + parts.query + parts.fragment).empty();
  if ((parts.scheme != "https" && parts.scheme != "http") || parts.host.empty() || !bare) {
    return usage(fmt::format("'{}' is not a gatherer: --to needs http://HOST:PORT or https://HOST:PORT", url));
  }
  if (parts.scheme == "http" && has_token && !is_this_machine(parts.host)) {
    return usage(fmt::format("'{}' would carry the token in the clear: use https", url));
  }
  return parts.scheme + "://" + parts.host + (parts.port.empty() ? "" : ":" + parts.port);
}

bool is_pin(std::string_view text) {
  constexpr std::string_view kPrefix = "sha256//";
  for (bool more = true; more;) {
    const size_t end = text.find(';');
    const std::string_view pin = text.substr(0, end);
    if (!pin.starts_with(kPrefix)) return false;
    const auto digest = from_base64(pin.substr(kPrefix.size()));
    if (!digest || digest->size() != Digest{}.size()) return false;
    more = end != std::string_view::npos;
    text.remove_prefix(more ? end + 1 : text.size());
  }
  return true;
}

Result<std::string> read_token(const std::string& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return usage(fmt::format("{}: {}", file, std::strerror(errno)));
  struct stat status {};
  std::string token(kLongestToken, '\0');
  const bool known = fstat(descriptor, &status) == 0;
  const ssize_t got = ::read(descriptor, token.data(), token.size());
  close(descriptor);
  if (!known || got < 0) return usage(file + ": cannot be read");
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) return usage(file + ": others can read it: chmod 600");
  token.resize(static_cast<size_t>(got));
  token.erase(token.find_last_not_of(" \t\r\n") + 1);
  const bool plain = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 127; });
  if (token.empty() || !plain || token.size() >= kLongestToken - 1) return usage(file + ": holds no token");
  return token;
}

ClientOptions client_options(const GathererConnection& options, const std::string& base, uint64_t rate_bytes_per_s) {
  return {base,
          options.ca_file,
          options.pin,
          options.token_file,
          options.certificate,
          options.private_key,
          options.silence,
          rate_bytes_per_s,
          socket_of(options.url)};
}

struct Client::Connection {
  CURL* handle = curl_easy_init();
  curl_slist* fields = nullptr;
  std::array<char, CURL_ERROR_SIZE> error{};
  ReplyReader reader;
  // Body of a PATCH.
  const Payload* payload = nullptr;  // null: the piece has its bytes
  const Piece* piece = nullptr;
  uint64_t position = 0;
  const std::function<bool(std::string_view)>* sink = nullptr;  // of the answer's body
  Client* client = nullptr;

  Connection() = default;
  ~Connection() {
    curl_slist_free_all(fields);
    curl_easy_cleanup(handle);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void add(const std::string& field) { fields = curl_slist_append(fields, field.c_str()); }

  template <class Value>
  void set(CURLoption option, Value value) {
    set_option()(handle, option, value);
  }

  static size_t take_line(char* text, size_t, size_t size, void* self) {
    return static_cast<Connection*>(self)->reader.take_line({text, size}) ? size : 0;
  }
  static size_t take_body(char* text, size_t, size_t size, void* self) {
    auto& connection = *static_cast<Connection*>(self);
    const bool wanted = connection.sink != nullptr && connection.reader.status() / 100 == 2;
    const bool taken = wanted ? (*connection.sink)({text, size}) : connection.reader.take_body({text, size});
    return taken ? size : 0;
  }
  static size_t give_body(char* out, size_t, size_t size, void* self) {
    return static_cast<Connection*>(self)->give(out, size);
  }
  static int seek_body(void* self, curl_off_t offset, int origin) {
    if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_CANTSEEK;
    static_cast<Connection*>(self)->position = static_cast<uint64_t>(offset);
    return CURL_SEEKFUNC_OK;
  }
  static int still_wanted(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Connection*>(self)->client->go_on_() ? 0 : 1;
  }

  size_t give(char* out, size_t size) {
    if (piece == nullptr || position >= piece->size) return 0;
    size = std::min<uint64_t>({size, piece->size - position, client->pace_.portion()});
    auto wait = client->pace_.book(size, std::chrono::steady_clock::now());
    constexpr std::chrono::nanoseconds kSlice = std::chrono::milliseconds(100);
    for (; wait.count() > 0; wait -= kSlice) {
      if (!client->go_on_()) return CURL_READFUNC_ABORT;
      std::this_thread::sleep_for(std::min(wait, kSlice));
    }
    const size_t got =
        payload != nullptr ? payload->read(*piece, position, out, size) : piece->bytes.copy(out, size, position);
    position += got;
    return got == 0 ? static_cast<size_t>(CURL_READFUNC_ABORT) : got;
  }
};

Client::Client(const ClientOptions& options, Pace& pace, std::function<bool()> go_on)
    : options_(options), pace_(pace), go_on_(std::move(go_on)) {
  start_libcurl();
  connection_ = std::make_unique<Connection>();
  connection_->client = this;
}

Client::~Client() = default;

bool Client::prepare(Connection& connection, const std::string& path, Reply& failure) {
  curl_easy_reset(connection.handle);  // keeps the connection
  curl_slist_free_all(connection.fields);
  connection.fields = nullptr;
  connection.reader = {};
  connection.piece = nullptr;
  connection.sink = nullptr;
  connection.position = 0;
  connection.error[0] = '\0';
  connection.add("Tus-Resumable: 1.0.0");
  connection.add("Accept:");
  if (!options_.token_file.empty()) {
    const Result<std::string> token = read_token(options_.token_file);
    if (!token.ok()) {
      failure.detail = token.error().message;
      failure.untrusted = true;
      return false;
    }
    connection.add("Authorization: Bearer " + token.value());
  }
  const std::string url = options_.base + path;
  connection.set(CURLOPT_URL, url.c_str());
  secure(connection.handle, options_.ca_file);
  if (!options_.socket.empty()) connection.set(CURLOPT_UNIX_SOCKET_PATH, options_.socket.c_str());
  if (!options_.pin.empty()) connection.set(CURLOPT_PINNEDPUBLICKEY, options_.pin.c_str());
  if (!options_.certificate.empty()) {
    const std::string& key = options_.private_key.empty() ? options_.certificate : options_.private_key;
    connection.set(CURLOPT_SSLCERT, options_.certificate.c_str());
    connection.set(CURLOPT_SSLKEY, key.c_str());
  }
  connection.set(CURLOPT_USERAGENT, "skewscope-ship");
  connection.set(CURLOPT_CONNECTTIMEOUT, kConnect_s);
  const auto silence = static_cast<long>(options_.silence.count());
  const uint64_t least = options_.rate_bytes_per_s == 0 ? kLeastRate : options_.rate_bytes_per_s / 8;
  connection.set(CURLOPT_LOW_SPEED_TIME, silence);
  connection.set(CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(std::clamp<uint64_t>(least, 1, kLeastRate)));
  connection.set(CURLOPT_HEADERFUNCTION, &Connection::take_line);
  connection.set(CURLOPT_HEADERDATA, &connection);
  connection.set(CURLOPT_WRITEFUNCTION, &Connection::take_body);
  connection.set(CURLOPT_WRITEDATA, &connection);
  connection.set(CURLOPT_XFERINFOFUNCTION, &Connection::still_wanted);
  connection.set(CURLOPT_XFERINFODATA, &connection);
  connection.set(CURLOPT_NOPROGRESS, 0L);
  connection.set(CURLOPT_ERRORBUFFER, connection.error.data());
  return true;
}

Reply Client::perform(Connection& connection) {
  connection.set(CURLOPT_HTTPHEADER, connection.fields);
  const CURLcode code = curl_easy_perform(connection.handle);
  Reply reply = connection.reader.reply();
  // An answer that came whole counts, even where sending broke off: a refusal may come before the body is through.
  const bool refused_early = (code == CURLE_SEND_ERROR || code == CURLE_ABORTED_BY_CALLBACK) && reply.status >= 400;
  if (code == CURLE_OK || refused_early) return reply;
  const std::string said = printable(connection.error[0] != '\0' ? connection.error.data() : curl_easy_strerror(code));
  return failure_of(code, said, encrypted(), !options_.certificate.empty());
}

Reply Client::create(uint64_t length, const UploadMetadata& metadata) {
  return create(fmt::format("Upload-Length: {}", length), metadata);
}

Reply Client::create_log(const UploadMetadata& metadata) { return create("Upload-Defer-Length: 1", metadata); }

Reply Client::create(const std::string& length, const UploadMetadata& metadata) {
  Reply failure;
  if (!prepare(*connection_, "/v1/uploads", failure)) return failure;
  connection_->add(length);
  connection_->add("Upload-Metadata: " + encode(metadata));
  return post_nothing();
}

Reply Client::ask(const std::string& method, const std::string& path,
                  const std::function<bool(std::string_view)>& sink) {
  Reply failure;
  if (!prepare(*connection_, path, failure)) return failure;
  connection_->sink = &sink;
  if (method == "POST") return post_nothing();
  if (method != "GET") connection_->set(CURLOPT_CUSTOMREQUEST, method.c_str());
  return perform(*connection_);
}

Reply Client::post_nothing() {
  connection_->add("Content-Type:");
  connection_->set(CURLOPT_POST, 1L);
  connection_->set(CURLOPT_POSTFIELDS, "");
  connection_->set(CURLOPT_POSTFIELDSIZE, 0L);
  connection_->set(CURLOPT_TIMEOUT, static_cast<long>(options_.silence.count()));
  return perform(*connection_);
}

Reply Client::head(const std::string& upload) {
  Reply failure;
  if (!prepare(*connection_, upload, failure)) return failure;
  connection_->set(CURLOPT_NOBODY, 1L);
  connection_->set(CURLOPT_TIMEOUT, static_cast<long>(options_.silence.count()));
  return perform(*connection_);
}

Reply Client::patch(const std::string& upload, const Payload& payload, const Piece& piece) {
  Reply failure;
  if (!prepare(*connection_, upload, failure)) return failure;
  if (piece.begin + piece.size == payload.size()) connection_->add("Repr-Digest: " + repr_digest(payload.sha256()));
  return send(&payload, piece);
}

Reply Client::append_log(const std::string& upload, const Piece& piece) {
  Reply failure;
  return prepare(*connection_, upload, failure) ? send(nullptr, piece) : failure;
}

Reply Client::send(const Payload* payload, const Piece& piece) {
  connection_->payload = payload;
  connection_->piece = &piece;
  connection_->add("Content-Type: application/offset+octet-stream");
  connection_->add(fmt::format("Upload-Offset: {}", piece.begin));
  if (piece.sha256) connection_->add("Upload-Checksum: " + upload_checksum(*piece.sha256));
  connection_->set(CURLOPT_UPLOAD, 1L);
  connection_->set(CURLOPT_CUSTOMREQUEST, "PATCH");
  connection_->set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(piece.size));
  connection_->set(CURLOPT_READFUNCTION, &Connection::give_body);
  connection_->set(CURLOPT_READDATA, connection_.get());
  connection_->set(CURLOPT_SEEKFUNCTION, &Connection::seek_body);
  connection_->set(CURLOPT_SEEKDATA, connection_.get());
  return perform(*connection_);
}

}  // namespace skewscope::ship
