#include "skewscope/base/human_units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace skewscope {
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

std::string size_text(int64_t bytes) {
  constexpr std::array<const char*, 4> kPowers = {"K", "M", "G", "T"};
  for (size_t power = kPowers.size(); power > 0; --power) {
    const int64_t unit = int64_t{1} << (10 * power);
    if (bytes >= unit && bytes % unit == 0) return fmt::format("{}{}", bytes / unit, kPowers[power - 1]);
  }
  return fmt::format("{} bytes", bytes);
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

}  // namespace skewscope
