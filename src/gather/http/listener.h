// Accepts connections and runs the threads of the network.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "skewscope/base/result.h"
#include "wire.h"

namespace skewscope::gather {

// A TLS context as the options want it; opaque here.
struct TlsContext;
struct TlsFiles {
  std::string certificate, private_key,
      client_ca;         // PEM; client_ca "": none is asked for, else one that is shown must be its
  bool tls_1_2 = false;  // is spoken, too, with forward secrecy and authenticated ciphers alone
};
// When the certificate of a PEM file ends; nullopt: none can be read from it.
std::optional<std::chrono::sys_seconds> end_of_certificate(const std::string& file);
Result<std::shared_ptr<TlsContext>> load_tls(const TlsFiles& files);

// A user of this machine; `group`: the primary one.
struct LocalUser {
  uid_t uid = 0;
  gid_t group = 0;
};

class Network {
 public:
  using Accept = std::function<void(std::shared_ptr<Wire>)>;

  static std::unique_ptr<Network> start(int threads);
  virtual ~Network() = default;  // ends the threads

  struct Place {
    std::string address;       // ADDR:PORT; port 0: any
    int activated = -1;        // a descriptor that listens already (socket activation), in place of the address
    bool on_loopback = false;  // anything else is refused
  };
  // `may_accept`: while it says no, connections wait in the kernel. Gives the address it listens on.
  virtual Result<std::string> listen(const Place& place, std::shared_ptr<TlsContext> tls,
                                     std::function<bool()> may_accept, Accept accept) = 0;
  // Listens on a Unix socket, where only root, the daemon's own user and `user` are let in.
  virtual Result<Done> listen_locally(const std::string& path, const std::optional<LocalUser>& user,
                                      std::function<bool()> may_accept, Accept accept) = 0;
  // From here on, accepted connections use this one; those that are open keep theirs.
  virtual void use_tls(std::shared_ptr<TlsContext> tls) = 0;
  virtual void stop_accepting() = 0;
  // None of its threads hangs: Pulse::advanced() of each. Ask no more often than once in a second.
  virtual bool advances() = 0;
};

Result<Done> check_address(const std::string& text);  // that it is ADDR:PORT
// "127.0.0.1:7475", "[::1]:80": whether only this machine can reach it. False for what is no address.
bool is_loopback(const std::string& address);

}  // namespace skewscope::gather
