#include "start_rules.h"

#include <pwd.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace skewscope::gather {
namespace {

Error wrong(std::string message) { return {ErrorKind::usage, std::move(message)}; }

// The Unix sockets, and who is let in there.
Result<Done> check_sockets(const GatherOptions& options) {
  if (!options.registry_user.empty() && options.registry_socket.empty()) {
    return wrong("--registry-user needs --registry-socket PATH");
  }
  const bool signs_on = !options.proxy_user.empty() || !options.user_domain.empty() || !options.operators.empty();
  if (signs_on && options.proxy_socket.empty()) {
    return wrong("--proxy-user, --user-domain and --operators need --proxy-socket PATH");
  }
  if (!options.proxy_socket.empty() && options.insecure_local) {
    return wrong("--insecure-local asks nobody who they are, but --proxy-socket is for users");
  }
  if (!options.proxy_socket.empty() && options.proxy_socket == options.registry_socket) {
    return wrong("--proxy-socket and --registry-socket need a path each");
  }
  if (options.user_header.empty()) return wrong("--user-header needs the name of a field");
  for (const auto& [flag, user] :
       {std::pair("--registry-user", options.registry_user), std::pair("--proxy-user", options.proxy_user)}) {
    if (const auto found = local_user(flag, user); !found.ok()) return found.error();
  }
  return Done{};
}

}  // namespace

Result<Done> check_options(const GatherOptions& options) {
  const bool tls = !options.certificate.empty();
  const bool credential = !options.token_key_file.empty() || options.munge;
  if (options.spool.empty()) return wrong("a spool directory is needed: --spool DIR");
  if (tls != !options.private_key.empty()) return wrong("TLS needs both --certificate and --private-key");
  if (!options.client_ca.empty() && !tls) return wrong("--client-ca needs --certificate and --private-key");
  if (options.insecure_local && credential) return wrong("--insecure-local needs no credential, but one is given");
  if (!options.insecure_local && !credential) {
    return wrong("no credential is configured: use --token-key-file FILE, or --insecure-local on loopback");
  }
  if (options.munge && options.token_key_file.empty()) {
    return wrong("--munge issues job tokens, which need --token-key-file FILE");
  }
  for (const std::string& address : {options.listen, options.admin}) {
    if (auto checked = check_address(address); !checked.ok()) return checked;
  }
  if (options.insecure_local && !is_loopback(options.listen)) {
    return wrong("--insecure-local lets anybody in: only on loopback, not on " + options.listen);
  }
  if (!tls && !is_loopback(options.listen)) {
    return wrong("plain HTTP only on loopback, not on " + options.listen + ": use --certificate and --private-key");
  }
  if (auto checked = check_sockets(options); !checked.ok()) return checked;
  if (!is_loopback(options.admin) && (!tls || options.token_key_file.empty())) {
    return wrong("--admin on " + options.admin +
                 ", which is not loopback, needs --certificate, --private-key and --token-key-file");
  }
  return Done{};
}

Result<std::optional<LocalUser>> local_user(const char* flag, const std::string& name) {
  if (name.empty()) return std::optional<LocalUser>();
  std::vector<char> text(16 << 10);
  passwd entry{};
  passwd* found = nullptr;
  const int error = getpwnam_r(name.c_str(), &entry, text.data(), text.size(), &found);
  if (found != nullptr) return std::optional(LocalUser{entry.pw_uid, entry.pw_gid});
  return wrong(std::string(flag) + ": " +
               (error == 0 ? "no user of this name: " : std::strerror(error) + std::string(": ")) + name);
}

Result<Done> make_spool(const std::string& folder) {
  if (mkdir(folder.c_str(), 0750) == 0 || errno == EEXIST) return Done{};
  return Error{ErrorKind::no_input, "cannot make the spool " + folder + ": " + std::strerror(errno)};
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
  if (options.munge) {
    auto munge = Munge::load();
    if (!munge.ok()) return munge.error();
    settings->munge = std::move(munge).value();
  }
  return std::shared_ptr<const Settings>(settings);
}

Result<std::shared_ptr<TlsContext>> tls_of(const GatherOptions& options) {
  if (options.certificate.empty()) return std::shared_ptr<TlsContext>();
  return load_tls({options.certificate, options.private_key, options.client_ca, options.tls_min == "1.2"});
}

}  // namespace skewscope::gather
