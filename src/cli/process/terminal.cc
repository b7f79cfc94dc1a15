#include "terminal.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace skewscope::cli {

bool use_color(When when, int descriptor) {
  if (when != When::automatic) return when == When::always;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return false;
  return isatty(descriptor) == 1 && (term == nullptr || std::string_view(term) != "dumb");
}

bool use_progress(When when) { return when == When::automatic ? isatty(STDERR_FILENO) == 1 : when == When::always; }

size_t terminal_columns(int descriptor) {
  constexpr long kUsual = 80, kFewest = 40, kMost = 1000;
  struct winsize size {};
  const char* columns = std::getenv("COLUMNS");
  long width = columns == nullptr ? 0 : std::strtol(columns, nullptr, 10);
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) width = size.ws_col;
  return static_cast<size_t>(width <= 0 ? kUsual : std::clamp(width, kFewest, kMost));
}

void start_log(bool quiet, int verbose, When color) {
  const auto mode = use_color(color, STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never;
  auto logger = spdlog::stderr_color_mt("skewscope", mode);
  logger->set_pattern("%n: %^%l%$: %v");
  logger->set_level(quiet          ? spdlog::level::err
                    : verbose == 0 ? spdlog::level::warn
                    : verbose == 1 ? spdlog::level::info
                                   : spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

bool print(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

void print_timings(const StageTimer& timer) {
  for (const StageTimer::Stage& stage : timer.stages()) {
    const auto indent = 2 * static_cast<size_t>(stage.depth);
    fmt::print(stderr, "{:{}}{:<{}}{:>10.3f} s\n", "", indent, stage.name, 40 - indent, stage.seconds);
  }
}

}  // namespace skewscope::cli
