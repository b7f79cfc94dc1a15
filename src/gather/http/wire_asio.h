// Sockets as wires. Heavy (Asio): only wire.cc and listener.cc include it.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <memory>

#include "wire.h"

namespace skewscope::gather {

// The socket's executor is a strand. `tls`: null for plain TCP; stays alive as long as the wire.
std::shared_ptr<Wire> make_wire(boost::asio::ip::tcp::socket socket, std::shared_ptr<boost::asio::ssl::context> tls);
std::shared_ptr<Wire> make_wire(boost::asio::local::stream_protocol::socket socket, const std::string& peer);

}  // namespace skewscope::gather
