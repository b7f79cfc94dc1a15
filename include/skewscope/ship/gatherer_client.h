// Questions to a gatherer, over the HTTP of `skewscope ship`.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "skewscope/base/result.h"

namespace skewscope {

// A connection says where a gatherer is, and how it is spoken to.
struct GathererConnection {
  std::string url;          // http(s)://HOST:PORT, or unix:PATH, the socket of --registry-socket
  std::string token_file;   // read again for each connection: it may rotate
  std::string ca_file;      // PEM; "": the system's
  std::string certificate;  // PEM, for a gatherer that asks for one; read again for each connection, as is its key
  std::string private_key;  // PEM; "": in the file of the certificate
  std::string pin;          // "sha256//BASE64": the gatherer's public key must have this digest, too
  std::chrono::seconds silence{60};  // of the gatherer, before a request counts as failed
};

struct GathererAnswer {
  int status = 0;
  std::string body;      // of a status 2xx; "" where it went into a file
  std::string filename;  // letters, digits, '.', '_', '-'; "": it has none
  std::string detail;    // of other statuses: why, for people
  bool done() const { return status / 100 == 2; }
};

class GathererClient {
 public:
  // Errors: usage.
  static Result<GathererClient> make(const GathererConnection& connection);
  GathererClient(GathererClient&&) noexcept;
  GathererClient& operator=(GathererClient&&) noexcept;
  ~GathererClient();

  const std::string& base() const;  // http(s)://HOST[:PORT]
  // `method`: GET, POST or DELETE, without a body. Errors: no_input (no whole answer came); resource_limit (more than
  // 256 MiB).
  Result<GathererAnswer> ask(const std::string& method, const std::string& path);
  // GET, whose body goes to `descriptor` and has the digest that its head tells, if it tells one. Errors: no_input;
  // output.
  Result<GathererAnswer> download(const std::string& path, int descriptor);

 private:
  struct State;
  explicit GathererClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace skewscope
