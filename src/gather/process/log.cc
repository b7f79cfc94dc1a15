#include "log.h"

#include <fmt/chrono.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <mutex>
#include <nlohmann/json.hpp>

namespace skewscope::gather {
namespace {

std::atomic<uint64_t> left_out{0};

// A pipe or terminal that can be written to takes PIPE_BUF bytes without waiting, a socket what it says. The
// rest of a line that was begun goes in front of the next.
bool write_at_once(std::string text) {
  static std::mutex mutex;
  static std::string begun;
  const std::lock_guard lock(mutex);
  const size_t old = begun.size();
  text.insert(0, begun);
  size_t at = 0;
  while (at < text.size()) {
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) break;
    const size_t most = std::min<size_t>(text.size() - at, PIPE_BUF);
    ssize_t written = send(STDERR_FILENO, text.data() + at, most, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (written < 0 && errno == ENOTSOCK) written = write(STDERR_FILENO, text.data() + at, most);
    if (written <= 0) break;
    at += static_cast<size_t>(written);
  }
  const bool begins = at > old;  // of the new line
  begun = at < old ? text.substr(at, old - at) : begins ? text.substr(at) : "";
  return begins;
}

void write_line(const char* level, const char* event, LogFields fields) {
  using std::chrono::milliseconds;
  const auto now = std::chrono::system_clock::now();
  const auto ms = std::chrono::duration_cast<milliseconds>(now.time_since_epoch()).count();
  nlohmann::ordered_json line;
  line["ts"] = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(ms / 1000)), ms % 1000);
  line["level"] = level;
  line["event"] = event;
  for (const auto& [key, value] : fields) {
    if (const auto* number = std::get_if<int64_t>(&value)) {
      line[key] = *number;
    } else if (const auto text = std::get<std::string_view>(value); !text.empty()) {
      line[key] = text;
    }
  }
  if (!write_at_once(line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n")) ++left_out;
}

}  // namespace

void log_info(const char* event, LogFields fields) { write_line("info", event, fields); }
void log_warning(const char* event, LogFields fields) { write_line("warning", event, fields); }
void log_error(const char* event, LogFields fields) { write_line("error", event, fields); }

uint64_t log_lines_left_out() { return left_out; }

}  // namespace skewscope::gather
