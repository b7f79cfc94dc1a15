#include "skewscope/ship/gatherer_client.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "http/client.h"
#include "start_rules.h"

namespace skewscope {
namespace {

constexpr size_t kLargestAnswer = size_t{256} << 20;

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(descriptor, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

}  // namespace

struct GathererClient::State {
  ship::Pace pace{0};
  ship::Client client;

  explicit State(const ship::ClientOptions& options) : client(options, pace, [] { return true; }) {}

  Result<GathererAnswer> answer_of(const ship::Reply& reply) const {
    if (reply.status == 0) return Error{ErrorKind::no_input, fmt::format("{}: {}", client.base(), reply.detail)};
    const std::string why = reply.detail.empty() ? fmt::format("answered {}", reply.status) : reply.detail;
    return GathererAnswer{reply.status, "", reply.filename, why};
  }
};

GathererClient::GathererClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
GathererClient::GathererClient(GathererClient&&) noexcept = default;
GathererClient& GathererClient::operator=(GathererClient&&) noexcept = default;
GathererClient::~GathererClient() = default;

Result<GathererClient> GathererClient::make(const GathererConnection& connection) {
  if (auto fine = ship::check_connection(connection); !fine.ok()) return fine.error();
  const Result<std::string> base = ship::base_url(connection.url, !connection.token_file.empty());
  if (!base.ok()) return base.error();
  return GathererClient(std::make_unique<State>(ship::client_options(connection, base.value(), 0)));
}

const std::string& GathererClient::base() const { return state_->client.base(); }

Result<GathererAnswer> GathererClient::ask(const std::string& method, const std::string& path) {
  std::string body;
  bool fits = true;
  const ship::Reply reply = state_->client.ask(method, path, [&](std::string_view bytes) {
    fits = body.size() + bytes.size() <= kLargestAnswer;
    if (fits) body += bytes;
    return fits;
  });
  if (!fits) return Error{ErrorKind::resource_limit, base() + ": the answer is larger than 256 MiB"};
  Result<GathererAnswer> answer = state_->answer_of(reply);
  if (answer.ok() && answer.value().done()) answer.value().body = std::move(body);
  return answer;
}

Result<GathererAnswer> GathererClient::download(const std::string& path, int descriptor) {
  Sha256 hash;
  int failed = 0;
  const ship::Reply reply = state_->client.ask("GET", path, [&](std::string_view bytes) {
    hash.update(bytes);
    if (!write_all(descriptor, bytes)) failed = errno;
    return failed == 0;
  });
  if (failed != 0) return Error{ErrorKind::output, std::strerror(failed)};
  if (reply.status / 100 == 2 && reply.digest && *reply.digest != hash.digest()) {
    return Error{ErrorKind::no_input, fmt::format("{}{}: not the bytes that were announced", base(), path)};
  }
  return state_->answer_of(reply);
}

}  // namespace skewscope
