// The gatherer over HTTP/1.1: tus 1.0 requests through libcurl, each ended by a bound in time and in size. Certificate
// and name are always verified. One thread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "pace.h"
#include "payload.h"
#include "reply.h"
#include "skewscope/base/result.h"
#include "skewscope/protocol/upload_metadata.h"
#include "skewscope/ship.h"

namespace skewscope::ship {

// "https://head:7475" of what the user gave, "http://localhost" of a socket, unix:PATH; errors: usage, for what is
// neither that nor http(s)://HOST[:PORT], or a token that would travel in the clear beyond this machine.
Result<std::string> base_url(const std::string& url, bool has_token);

// "sha256//" and the base64 of 32 bytes, as curl's --pinnedpubkey has it; several with ";" between: one must fit.
bool is_pin(std::string_view text);

// The token of the file; errors: usage, when it cannot be read, others can read it, or it is no token.
Result<std::string> read_token(const std::string& file);

struct ClientOptions {
  std::string base;  // of base_url()
  std::string ca_file, pin, token_file;
  std::string certificate, private_key;  // of this side; "": none, or the key lies with the certificate
  std::chrono::seconds silence{60};
  uint64_t rate_bytes_per_s = 0;
  std::string socket;  // Unix; "": what `base` names
};

ClientOptions client_options(const GathererConnection& options, const std::string& base, uint64_t rate_bytes_per_s);

class Client {
 public:
  // `go_on` false ends a running request.
  Client(const ClientOptions& options, Pace& pace, std::function<bool()> go_on);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const std::string& base() const { return options_.base; }
  bool encrypted() const { return options_.base.starts_with("https:"); }
  Reply create(uint64_t length, const UploadMetadata& metadata);
  // The gatherer's log that grows for that rank, which there may be already.
  Reply create_log(const UploadMetadata& metadata);
  // The bytes that `piece` holds, at its beginning.
  Reply append_log(const std::string& upload, const Piece& piece);
  Reply head(const std::string& upload);
  // A request without a body; that of its answer goes to `sink` where its status is 2xx. The sink's false ends it.
  Reply ask(const std::string& method, const std::string& path, const std::function<bool(std::string_view)>& sink);
  // `piece` of size 0: asks only for completion. `whole`: of the payload; sent where the piece is its last.
  Reply patch(const std::string& upload, const Payload& payload, const Piece& piece);

 private:
  struct Connection;
  Reply perform(Connection& connection);
  bool prepare(Connection& connection, const std::string& path, Reply& failure);
  Reply create(const std::string& length, const UploadMetadata& metadata);
  Reply post_nothing();  // a POST that is prepared, without a body
  Reply send(const Payload* payload, const Piece& piece);

  ClientOptions options_;
  Pace& pace_;
  std::function<bool()> go_on_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace skewscope::ship
