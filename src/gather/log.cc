#include "log.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>

namespace skewscope::gather {
namespace {

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
  // One write: lines of several threads do not mix. A log that cannot be written is no reason to stop.
  const std::string text = line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

void log_info(const char* event, LogFields fields) { write_line("info", event, fields); }
void log_warning(const char* event, LogFields fields) { write_line("warning", event, fields); }
void log_error(const char* event, LogFields fields) { write_line("error", event, fields); }

}  // namespace skewscope::gather
