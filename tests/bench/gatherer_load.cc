// Load for `scripts/bench gatherer`: one connection per node, each sends the files of its node's ranks one after the
// other by PUT with Expect and Repr-Digest, all nodes at once, on one thread. Prints the seconds from the first
// connection to the last acknowledgement.
//   bench_gatherer_load FOLDER JOB PORT NODES RANKS_EACH      FOLDER holds rank<N>_*
// Who is told to come again later (Retry-After) does so over a connection of its own, as an agent would.
#include <boost/asio.hpp>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "skewscope/protocol/sha256.h"

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

struct File {
  std::string head, content, acknowledgement;  // what a good answer holds
};

int number(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<File> read_files(const std::string& folder, const std::string& job, size_t count) {
  std::vector<File> files(count);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    const auto rank = static_cast<size_t>(number(std::string_view(name).substr(4)));
    if (!name.starts_with("rank") || rank >= count) continue;
    File& file = files[rank];
    std::ifstream in(entry.path(), std::ios::binary);
    file.content.assign(std::istreambuf_iterator<char>(in), {});
    file.acknowledgement = skewscope::repr_digest(skewscope::sha256(file.content));
    file.head = "PUT /v1/jobs/" + job + "/ranks/" + std::to_string(rank) +
                " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(file.content.size()) +
                "\r\nExpect: 100-continue\r\nRepr-Digest: " + file.acknowledgement + "\r\n\r\n";
  }
  return files;
}

class Node {
 public:
  Node(asio::io_context& context, size_t index, const tcp::endpoint& daemon, File* first, size_t count)
      : socket_(context), timer_(context), daemon_(daemon), next_(first), end_(first + count) {
    // As many addresses as the daemon's limit of connections for each of them asks for.
    own_ = {asio::ip::make_address_v4(0x7f000001U + (static_cast<uint32_t>(1 + index / 50) << 8U)), 0};
  }

  void begin() {
    error_code ignored;
    socket_.close(ignored);
    answer_.clear();
    socket_.open(tcp::v4());
    socket_.bind(own_);
    socket_.async_connect(daemon_, [this](error_code error) { error ? later(1) : send_head(); });
  }

 private:
  void send_head() {
    if (next_ == end_) return;
    asio::async_write(socket_, asio::buffer(next_->head),
                      [this](error_code error, size_t) { error ? later(1) : read_answer(); });
  }

  void read_answer() {
    asio::async_read_until(socket_, asio::dynamic_buffer(answer_), "\r\n\r\n", [this](error_code error, size_t bytes) {
      if (error) return later(1);
      const std::string head = answer_.substr(0, bytes);
      answer_.erase(0, bytes);
      answered(head);
    });
  }

  void answered(const std::string& head) {
    const std::string status = head.substr(9, 3);
    const size_t again = head.find("Retry-After: ");
    if (status == "100") {
      asio::async_write(socket_, asio::buffer(next_->content),
                        [this](error_code error, size_t) { error ? later(1) : read_answer(); });
    } else if ((status == "201" || status == "204") && head.find(next_->acknowledgement) != std::string::npos) {
      ++next_;
      send_head();
    } else if (again != std::string::npos) {
      later(number(std::string_view(head).substr(again + 13)));
    } else {
      throw std::runtime_error(head);
    }
  }

  void later(int seconds) {
    timer_.expires_after(std::chrono::seconds(seconds));
    timer_.async_wait([this](error_code) { begin(); });
  }

  tcp::socket socket_;
  asio::steady_timer timer_;
  tcp::endpoint daemon_, own_;
  std::string answer_;
  File* next_;
  File* end_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 6) return 2;
  const auto nodes = static_cast<size_t>(number(arguments[4])), ranks = static_cast<size_t>(number(arguments[5]));
  try {
    std::vector<File> files = read_files(arguments[1], arguments[2], nodes * ranks);
    asio::io_context context(1);
    const tcp::endpoint daemon(asio::ip::address_v4::loopback(), static_cast<uint16_t>(number(arguments[3])));
    std::deque<Node> all;
    for (size_t i = 0; i < nodes; ++i) all.emplace_back(context, i, daemon, &files[i * ranks], ranks);
    const auto begin = std::chrono::steady_clock::now();
    for (Node& node : all) node.begin();
    context.run();
    std::printf("%.3f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
