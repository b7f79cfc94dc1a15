#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "wire_asio.h"

namespace skewscope::gather {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using AsioError = boost::system::error_code;

// What a connection says is its own business: what goes wrong in it ends it and nothing else.
template <class Work>
void contained(Wire& wire, const Work& work) {
  try {
    work();
  } catch (...) {
    wire.close();
  }
}

// Common to both kinds. Pending operations keep the wire alive; the timer does not.
template <class Socket>
class SocketWire : public Wire, public std::enable_shared_from_this<SocketWire<Socket>> {
 public:
  SocketWire(Socket& socket, std::string peer)
      : socket_(socket), timer_(socket.get_executor()), peer_(std::move(peer)) {}

  void close() override {
    stop_timer();
    AsioError ignored;
    socket_.close(ignored);
  }
  void stop_reading() override {
    AsioError ignored;
    socket_.cancel(ignored);
  }
  void post(Step step) override {
    asio::post(socket_.get_executor(),
               [self = this->shared_from_this(), step = std::move(step)] { contained(*self, step); });
  }
  // A wait that has ended can no longer be cancelled, only be known as not the last one.
  void set_timer(std::chrono::milliseconds time, Step expired) override {
    timer_.expires_after(time);
    timer_.async_wait(
        [weak = this->weak_from_this(), wait = ++waits_, expired = std::move(expired)](const AsioError& error) {
          const auto self = weak.lock();
          if (!error && self && wait == self->waits_) contained(*self, expired);
        });
  }
  void stop_timer() override {
    ++waits_;
    timer_.cancel();
  }
  const std::string& peer() const override { return peer_; }

 protected:
  // What Asio calls when an operation ends, as the callbacks of wire.h.
  template <class Then>
  auto reported(Then then) {
    return [self = this->shared_from_this(), then = std::move(then)](const AsioError& error, size_t bytes) {
      contained(*self, [&] { then(error, bytes); });
    };
  }
  static auto counted(std::function<void(size_t)> then) {
    return [then = std::move(then)](const AsioError& error, size_t bytes) { then(error ? 0 : bytes); };
  }
  static auto judged(std::function<void(bool)> then) {
    return [then = std::move(then)](const AsioError& error, size_t) { then(!error); };
  }

 private:
  Socket& socket_;
  asio::steady_timer timer_;
  uint64_t waits_ = 0;
  std::string peer_;
};

std::string address_of(const tcp::socket& socket) {
  AsioError error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  return error ? "" : peer.address().to_string();
}

template <class Socket>
struct PlainSocket {
  explicit PlainSocket(Socket&& accepted) : socket(std::move(accepted)) {}
  Socket socket;
};

template <class Socket>
class PlainWire : private PlainSocket<Socket>, public SocketWire<Socket> {
 public:
  PlainWire(Socket&& accepted, std::string peer)
      : PlainSocket<Socket>(std::move(accepted)), SocketWire<Socket>(this->socket, std::move(peer)) {}

  void handshake(std::function<void(bool)> then) override {
    this->post([then = std::move(then)] { then(true); });
  }
  void read(char* into, size_t room, std::function<void(size_t)> then) override {
    this->socket.async_read_some(asio::buffer(into, room), this->reported(this->counted(std::move(then))));
  }
  void write(std::string_view bytes, std::function<void(bool)> then) override {
    asio::async_write(this->socket, asio::buffer(bytes.data(), bytes.size()),
                      this->reported(this->judged(std::move(then))));
  }
  void end_writing(Wire::Step then) override {
    AsioError ignored;
    this->socket.shutdown(Socket::shutdown_send, ignored);
    this->post(std::move(then));
  }
  bool secure() const override { return false; }
  std::string certificate_name() const override { return ""; }
};

struct TlsSocket {
  TlsSocket(tcp::socket&& accepted, std::shared_ptr<asio::ssl::context> tls)
      : context(std::move(tls)), stream(std::move(accepted), *context) {}
  std::shared_ptr<asio::ssl::context> context;
  asio::ssl::stream<tcp::socket> stream;
};

// The first DNS name of the certificate that the other side proved to own.
std::string name_in(SSL* ssl) {
  if (SSL_get_verify_result(ssl) != X509_V_OK) return "";
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(ssl), X509_free);
  if (!certificate) return "";
  auto* names =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr));
  std::string found;
  for (int i = 0; found.empty() && i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type != GEN_DNS) continue;
    const auto* text = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName));
    found.assign(text, static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
  }
  GENERAL_NAMES_free(names);
  return found;
}

class TlsWire : private TlsSocket, public SocketWire<tcp::socket> {
 public:
  TlsWire(tcp::socket&& accepted, std::shared_ptr<asio::ssl::context> tls)
      : TlsSocket(std::move(accepted), std::move(tls)),
        SocketWire<tcp::socket>(stream.next_layer(), address_of(stream.next_layer())) {}

  void handshake(std::function<void(bool)> then) override {
    stream.async_handshake(asio::ssl::stream_base::server,
                           [finish = reported(judged(std::move(then)))](const AsioError& error) { finish(error, 0); });
  }
  void read(char* into, size_t room, std::function<void(size_t)> then) override {
    stream.async_read_some(asio::buffer(into, room), reported(counted(std::move(then))));
  }
  void write(std::string_view bytes, std::function<void(bool)> then) override {
    asio::async_write(stream, asio::buffer(bytes.data(), bytes.size()), reported(judged(std::move(then))));
  }
  void end_writing(Step then) override {
    stream.async_shutdown([finish = reported(judged([then = std::move(then)](bool) { then(); }))](
                              const AsioError& error) { finish(error, 0); });
  }
  bool secure() const override { return true; }
  std::string certificate_name() const override { return name_in(const_cast<TlsWire*>(this)->stream.native_handle()); }
};

}  // namespace

std::shared_ptr<Wire> make_wire(tcp::socket socket, std::shared_ptr<asio::ssl::context> tls) {
  if (!tls) {
    std::string peer = address_of(socket);
    return std::make_shared<PlainWire<tcp::socket>>(std::move(socket), std::move(peer));
  }
  return std::make_shared<TlsWire>(std::move(socket), std::move(tls));
}

std::shared_ptr<Wire> make_wire(asio::local::stream_protocol::socket socket, const std::string& peer) {
  return std::make_shared<PlainWire<asio::local::stream_protocol::socket>>(std::move(socket), peer);
}

}  // namespace skewscope::gather
