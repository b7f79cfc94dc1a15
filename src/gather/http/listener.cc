#include "listener.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <cstring>
#include <list>
#include <thread>
#include <vector>

#include "src/gather/process/pulse.h"
#include "wire_asio.h"

namespace skewscope::gather {

struct TlsContext {
  std::shared_ptr<boost::asio::ssl::context> context;
};

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using BoostError = boost::system::error_code;

constexpr int kBacklog = 4096;
constexpr std::chrono::milliseconds kShortestPause{10}, kLongestPause{1000}, kFullPause{10};
constexpr std::chrono::milliseconds kThreadBeat{250};
constexpr int kSilenceMs = 60'000, kProbeAfterS = 15, kProbes = 3;

Result<tcp::endpoint> endpoint_of(const std::string& text) {
  const size_t colon = text.rfind(':');
  const Error wrong{ErrorKind::usage, "'" + text + "' is no ADDR:PORT, such as 127.0.0.1:7475 or [::1]:7475"};
  if (colon == std::string::npos) return wrong;
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const std::string port = text.substr(colon + 1);
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos) return wrong;
  const int number = std::stoi(port);
  BoostError error;
  const auto address = asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  if (error || number > 65535) return wrong;
  return tcp::endpoint(address, static_cast<uint16_t>(number));
}

// Dead peers are noticed within a minute, whether something is on its way to them or not.
void notice_dead_peers(tcp::socket& socket) {
  const int fd = socket.native_handle(), on = 1;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kSilenceMs, sizeof kSilenceMs);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kProbeAfterS, sizeof kProbeAfterS);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kProbeAfterS, sizeof kProbeAfterS);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kProbes, sizeof kProbes);
}

// One listening socket. Without a descriptor to accept with, the spare one is given up so that the connection can be
// taken and closed: left in the queue, it would make accept() fail at once for ever.
template <class Protocol>
class Door : public std::enable_shared_from_this<Door<Protocol>> {
 public:
  using Socket = typename Protocol::socket;

  Door(asio::io_context& io, std::function<bool()> may_accept)
      : acceptor_(asio::make_strand(io)),
        io_(io),
        timer_(acceptor_.get_executor()),
        may_accept_(std::move(may_accept)),
        spare_(open("/dev/null", O_RDONLY | O_CLOEXEC)) {}
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  virtual ~Door() { ::close(spare_); }

  void start() {
    asio::post(acceptor_.get_executor(), [self = this->shared_from_this()] { self->accept_next(); });
  }
  void stop() {
    asio::post(acceptor_.get_executor(), [self = this->shared_from_this()] {
      self->stopped_ = true;
      BoostError ignored;
      self->acceptor_.close(ignored);
      self->timer_.cancel();
    });
  }

 protected:
  virtual void let_in(Socket socket) = 0;
  typename Protocol::acceptor& acceptor() { return acceptor_; }  // its executor is a strand

 private:
  void accept_next() {
    if (stopped_) return;
    if (!may_accept_()) return wait(kFullPause);
    acceptor_.async_accept(asio::make_strand(io_), [self = this->shared_from_this()](BoostError error, Socket socket) {
      self->accepted(error, std::move(socket));
    });
  }

  void accepted(BoostError error, Socket socket) {
    if (stopped_) return;
    if (error == asio::error::no_descriptors || error == BoostError(ENFILE, boost::system::system_category())) {
      shed();
      pause_ = std::clamp(2 * pause_, kShortestPause, kLongestPause);
      return wait(pause_);
    }
    pause_ = std::chrono::milliseconds(0);
    if (!error) {
      try {
        let_in(std::move(socket));
      } catch (const std::exception&) {
        return wait(kShortestPause);  // no memory for this one
      }
    }
    accept_next();
  }

  void wait(std::chrono::milliseconds time) {
    timer_.expires_after(time);
    timer_.async_wait([self = this->shared_from_this()](BoostError error) {
      if (!error) self->accept_next();
    });
  }

  void shed() {
    ::close(spare_);
    const int refused = accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (refused >= 0) ::close(refused);
    spare_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  }

  typename Protocol::acceptor acceptor_;
  asio::io_context& io_;
  asio::steady_timer timer_;
  std::function<bool()> may_accept_;
  int spare_;
  bool stopped_ = false;
  std::chrono::milliseconds pause_{0};
};

class TcpDoor : public Door<tcp> {
 public:
  TcpDoor(asio::io_context& io, std::shared_ptr<TlsContext> tls, std::function<bool()> may_accept,
          Network::Accept accept)
      : Door(io, std::move(may_accept)), tls_(std::move(tls)), accept_(std::move(accept)) {}

  Result<std::string> open_at(const tcp::endpoint& endpoint) {
    BoostError error;
    acceptor().open(endpoint.protocol(), error);
    if (!error) acceptor().set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor().bind(endpoint, error);
    if (!error) acceptor().listen(kBacklog, error);
    if (error) return Error{ErrorKind::usage, "cannot listen on " + spelled(endpoint) + ": " + error.message()};
    return spelled(acceptor().local_endpoint(error));
  }
  Result<std::string> take_over(int descriptor) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    BoostError error;
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
      acceptor().assign(address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), descriptor, error);
      if (!error) return spelled(acceptor().local_endpoint(error));
    }
    return Error{ErrorKind::usage, "the socket that was handed over is no TCP listener"};
  }
  void use(std::shared_ptr<TlsContext> tls) {
    asio::post(acceptor().get_executor(), [self = shared_from_this(), this, tls = std::move(tls)] { tls_ = tls; });
  }

 private:
  static std::string spelled(const tcp::endpoint& endpoint) {
    const std::string host = endpoint.address().to_string();
    return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(endpoint.port());
  }
  void let_in(tcp::socket socket) override {
    notice_dead_peers(socket);
    accept_(make_wire(std::move(socket), tls_ ? tls_->context : nullptr));
  }

  std::shared_ptr<TlsContext> tls_;
  Network::Accept accept_;
};

// Not on one that a daemon left behind when it was killed.
bool somebody_listens(const asio::local::stream_protocol::endpoint& endpoint) {
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool nobody = connect(probe, endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0 &&
                      (errno == ECONNREFUSED || errno == ENOENT);
  ::close(probe);
  return !nobody;
}

// The registry's and the proxy's: from this machine, by the user who asks.
class LocalDoor : public Door<asio::local::stream_protocol> {
 public:
  LocalDoor(asio::io_context& io, const std::optional<LocalUser>& user, std::function<bool()> may_accept,
            Network::Accept accept)
      : Door(io, std::move(may_accept)), user_(user), accept_(std::move(accept)) {}

  Result<Done> open_at(const std::string& path) {
    const asio::local::stream_protocol::endpoint endpoint(path);
    struct stat there {};
    if (lstat(path.c_str(), &there) == 0 && S_ISSOCK(there.st_mode)) {
      if (somebody_listens(endpoint)) {
        return Error{ErrorKind::usage, "cannot listen on " + path + ": another process does"};
      }
      unlink(path.c_str());
    }
    BoostError error;
    acceptor().open(endpoint.protocol(), error);
    if (!error) acceptor().bind(endpoint, error);
    if (!error) acceptor().listen(kBacklog, error);
    if (!error && chmod(path.c_str(), mode_for_user(path)) == 0) return Done{};
    return Error{ErrorKind::usage,
                 "cannot listen on " + path + ": " + (error ? error.message() : std::strerror(errno))};
  }

 private:
  void let_in(Socket socket) override {
    ucred peer{};
    socklen_t size = sizeof peer;
    const bool known = getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    if (known && (peer.uid == 0 || peer.uid == geteuid() || (user_ && peer.uid == user_->uid))) {
      accept_(make_wire(std::move(socket), "uid " + std::to_string(peer.uid)));
    }
  }
  // That the user can connect; let_in() decides. Where the socket cannot be given to the user's group, all can.
  mode_t mode_for_user(const std::string& path) const {
    if (!user_) return 0600;
    return chown(path.c_str(), static_cast<uid_t>(-1), user_->group) == 0 ? 0660 : 0666;
  }

  std::optional<LocalUser> user_;
  Network::Accept accept_;
};

class AsioNetwork : public Network {
 public:
  explicit AsioNetwork(int threads) : io_(threads), work_(asio::make_work_guard(io_)) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this, &pulse = pulses_.emplace_back()] { run(pulse); });
  }
  AsioNetwork(const AsioNetwork&) = delete;
  AsioNetwork& operator=(const AsioNetwork&) = delete;
  ~AsioNetwork() override {
    work_.reset();
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  Result<std::string> listen(const Place& place, std::shared_ptr<TlsContext> tls, std::function<bool()> may_accept,
                             Accept accept) override {
    const bool given = place.activated >= 0;
    const auto endpoint = endpoint_of(place.address);
    if (!given && !endpoint.ok()) return endpoint.error();
    const bool secure = tls != nullptr;
    auto door = std::make_shared<TcpDoor>(io_, std::move(tls), std::move(may_accept), std::move(accept));
    auto bound = given ? door->take_over(place.activated) : door->open_at(endpoint.value());
    if (!bound.ok()) return bound;
    if (place.on_loopback && !is_loopback(bound.value())) {
      return Error{ErrorKind::usage, "only on loopback, not on " + bound.value()};
    }
    door->start();
    doors_.push_back({door, secure});
    return bound;
  }
  Result<Done> listen_locally(const std::string& path, const std::optional<LocalUser>& user,
                              std::function<bool()> may_accept, Accept accept) override {
    auto door = std::make_shared<LocalDoor>(io_, user, std::move(may_accept), std::move(accept));
    if (auto open = door->open_at(path); !open.ok()) return open;
    door->start();
    local_doors_.push_back(std::move(door));
    return Done{};
  }
  void use_tls(std::shared_ptr<TlsContext> tls) override {
    for (const Entry& entry : doors_) {
      if (entry.secure) entry.door->use(tls);
    }
  }
  void stop_accepting() override {
    for (const Entry& entry : doors_) entry.door->stop();
    for (const auto& door : local_doors_) door->stop();
  }
  bool advances() override {
    bool all = true;
    for (Pulse& pulse : pulses_) all = pulse.advanced() && all;
    return all;
  }

 private:
  struct Entry {
    std::shared_ptr<TcpDoor> door;
    bool secure;
  };

  // Out of Asio now and then, idle or not: a thread that does not come out hangs in a handler. What a handler lets
  // escape is its connection's end, never the thread's.
  void run(Pulse& pulse) {
    const Pulse::Work work(pulse);
    while (!io_.stopped()) {
      try {
        io_.run_for(kThreadBeat);
      } catch (...) {
        continue;
      }
      Pulse::beat_here();
    }
  }

  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::list<Entry> doors_;
  std::list<std::shared_ptr<LocalDoor>> local_doors_;
  std::list<Pulse> pulses_;  // of the threads
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Network> Network::start(int threads) { return std::make_unique<AsioNetwork>(threads); }

Result<Done> check_address(const std::string& text) {
  const auto endpoint = endpoint_of(text);
  return endpoint.ok() ? Result<Done>(Done{}) : endpoint.error();
}

bool is_loopback(const std::string& address) {
  const auto endpoint = endpoint_of(address);
  return endpoint.ok() && endpoint.value().address().is_loopback();
}

std::optional<std::chrono::sys_seconds> end_of_certificate(const std::string& file) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> in(BIO_new_file(file.c_str(), "r"), BIO_free);
  if (!in) return std::nullopt;
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr),
                                                                X509_free);
  tm end{};
  if (!certificate || ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1) return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::seconds(timegm(&end)));
}

Result<std::shared_ptr<TlsContext>> load_tls(const TlsFiles& files) {
  try {
    auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
    SSL_CTX* tls = context->native_handle();
    SSL_CTX_set_min_proto_version(tls, files.tls_1_2 ? TLS1_2_VERSION : TLS1_3_VERSION);
    SSL_CTX_set_cipher_list(tls, "ECDHE+AESGCM:ECDHE+CHACHA20");  // of TLS 1.2
    SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_num_tickets(tls, 0);
    SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS);
    context->use_certificate_chain_file(files.certificate);
    context->use_private_key_file(files.private_key, asio::ssl::context::pem);
    if (SSL_CTX_check_private_key(tls) != 1) {
      return Error{ErrorKind::usage,
                   "the private key " + files.private_key + " does not belong to " + files.certificate};
    }
    if (!files.client_ca.empty()) {
      context->load_verify_file(files.client_ca);
      context->set_verify_mode(asio::ssl::verify_peer);  // browsers and users have none, and show a token
    }
    return std::make_shared<TlsContext>(TlsContext{std::move(context)});
  } catch (const boost::system::system_error& error) {
    return Error{ErrorKind::usage, "TLS: " + files.certificate + ", " + files.private_key +
                                       (files.client_ca.empty() ? "" : ", " + files.client_ca) + ": " + error.what()};
  }
}

}  // namespace skewscope::gather
