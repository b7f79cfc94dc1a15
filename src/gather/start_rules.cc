#include "start_rules.h"

#include <algorithm>

#include "skewscope/protocol/names.h"

namespace skewscope::gather {
namespace {

Error wrong(std::string message) { return {ErrorKind::usage, std::move(message)}; }

}  // namespace

Result<Done> check_options(const GatherOptions& options) {
  const bool tls = !options.certificate.empty();
  const bool credential = !options.token_key_file.empty() || options.munge;
  if (options.spool.empty()) return wrong("a spool directory is needed: --spool DIR");
  if (tls != !options.private_key.empty()) return wrong("TLS needs both --certificate and --private-key");
  if (!options.client_ca.empty() && !tls) return wrong("--client-ca needs --certificate and --private-key");
  if (options.insecure_local && credential) return wrong("--insecure-local asks for no credential, yet one is given");
  if (!options.insecure_local && !credential) {
    return wrong("no credential is configured: give --token-key-file FILE, or --insecure-local on loopback");
  }
  if (options.munge && options.token_key_file.empty()) {
    return wrong("--munge gives out job tokens: these need --token-key-file FILE");
  }
  if (options.insecure_local && !is_loopback(options.listen)) {
    return wrong("--insecure-local lets anybody in: only on loopback, not on " + options.listen);
  }
  if (!tls && !is_loopback(options.listen)) {
    return wrong("plain HTTP only on loopback, not on " + options.listen +
                 ": give --certificate and --private-key");
  }
  if (!is_loopback(options.admin)) return wrong("--admin is plain HTTP: only on loopback, not on " + options.admin);
  return Done{};
}

Result<std::shared_ptr<const Settings>> settings_of(const GatherOptions& options) {
  if (auto checked = check_options(options); !checked.ok()) return checked.error();
  auto settings = std::make_shared<Settings>();
  settings->options = options;
  if (!options.token_key_file.empty()) {
    auto keys = TokenKeys::read(options.token_key_file);
    if (!keys.ok()) return keys.error();
    settings->keys = std::move(keys).value();
  }
  return std::shared_ptr<const Settings>(settings);
}

Result<std::shared_ptr<TlsContext>> tls_of(const GatherOptions& options) {
  if (options.certificate.empty()) return std::shared_ptr<TlsContext>();
  return load_tls({options.certificate, options.private_key, options.client_ca});
}

}  // namespace skewscope::gather

namespace skewscope {

Result<std::string> mint_token(const GatherOptions& options, const TokenRequest& request) {
  using gather::Scope;
  if (!is_name(request.job) && request.job != "*") {
    return Error{ErrorKind::usage, "'" + request.job + "' is no name of a job: A-Z a-z 0-9 . _ -, at most 64"};
  }
  if (options.token_key_file.empty()) return Error{ErrorKind::usage, "a token is signed with --token-key-file FILE"};
  auto keys = gather::TokenKeys::read(options.token_key_file);
  if (!keys.ok()) return keys.error();
  gather::TokenPayload payload;
  payload.job = request.job;
  for (const std::string& scope : request.scopes) {
    const unsigned bit = scope == "upload" ? gather::kUpload
                         : scope == "read" ? gather::kRead
                         : scope == "admin" ? gather::kAdmin
                                            : 0U;
    if (bit == 0) return Error{ErrorKind::usage, "'" + scope + "' is no scope: upload, read, admin"};
    payload.scopes |= bit;
  }
  if (request.job == "*" && (payload.scopes & gather::kAdmin) == 0) {
    return Error{ErrorKind::usage, "a token for every job needs the scope admin"};
  }
  if (request.life <= std::chrono::seconds(0)) return Error{ErrorKind::usage, "a token lives for longer than no time"};
  payload.expires =
      std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now()) + request.life;
  return keys.value().mint(payload);
}

}  // namespace skewscope
