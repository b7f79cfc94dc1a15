#include "human_units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "skewscope/base/printable.h"

namespace skewscope::report {
namespace {

struct Unit {
  double size;
  const char* name;
};

constexpr double kThreeDigits = 999.5;  // what would round to 1000 goes to the next unit

template <size_t N>
std::string in_units(double value, const std::array<Unit, N>& units) {
  size_t u = 0;
  while (u + 1 < N && std::abs(value) >= kThreeDigits * units[u].size) ++u;
  if (u == 0) return fmt::format("{:.0f} {}", value, units[0].name);
  return fmt::format("{} {}", human_number(value / units[u].size), units[u].name);
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::string human_number(double value) {
  const double size = std::abs(value);
  const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string human_duration(int64_t ns) {
  constexpr std::array<Unit, 6> kUnits = {
      {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}, {60e9, "min"}, {3600e9, "h"}}};
  return in_units(static_cast<double>(ns), kUnits);
}

std::string human_bytes(int64_t bytes) {
  constexpr std::array<Unit, 5> kUnits = {{{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}}};
  return in_units(static_cast<double>(bytes), kUnits);
}

std::string human_percent(double ratio) {
  const double percent = ratio * 100;
  if (percent > 0 && percent < 0.5) return "<1 %";
  if (percent < 100 && percent >= 99.5) return ">99 %";
  return fmt::format("{:.0f} %", percent);
}

std::string human_ranks(const std::vector<int32_t>& ranks) {
  std::string out;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", ranks[i]);
    if (last > i) out += fmt::format("{}{}", last == i + 1 ? ", " : "-", ranks[last]);
    i = last + 1;
  }
  return out;
}

size_t text_width(std::string_view text) {
  size_t width = 0;
  for (const char c : text) width += is_continuation(c) ? 0 : 1;
  return width;
}

std::string fit(std::string_view text, size_t width) {
  std::string out = printable(text);
  if (text_width(out) <= width) return out;
  while (!out.empty() && text_width(out) + 2 > width) {
    while (out.size() > 1 && is_continuation(out.back())) out.pop_back();
    out.pop_back();
  }
  return out + "..";
}

std::string fit_tail(std::string_view text, size_t width) {
  std::string out = printable(text);
  size_t excess = text_width(out) > width ? text_width(out) + 2 - width : 0;
  if (excess == 0) return out;
  size_t at = 0;
  while (excess > 0 || (at < out.size() && is_continuation(out[at]))) {
    excess -= is_continuation(out[at]) ? 0 : 1;
    ++at;
  }
  return ".." + out.substr(at);
}

std::string pad(std::string_view text, size_t width) {
  std::string out = fit(text, width);
  return out.append(width - text_width(out), ' ');
}

std::string pad_left(std::string_view text, size_t width) {
  const std::string out = fit(text, width);
  return std::string(width - text_width(out), ' ') + out;
}

}  // namespace skewscope::report
