#include "option_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace skewscope::cli {
namespace {

constexpr int64_t kLargestRankNamed = 1 << 20;

// The whole text as a number of at least 0.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

std::optional<int64_t> parse_size(const std::string& text) {
  const size_t digits = text.find_first_not_of("0123456789.");
  const auto number = parse_number<double>(std::string_view(text).substr(0, digits));
  std::string_view unit = digits == std::string::npos ? std::string_view() : std::string_view(text).substr(digits);
  if (!number) return std::nullopt;
  double factor = 1;
  if (const size_t power = std::string_view("KMGT").find(unit.empty() ? '\0' : static_cast<char>(unit[0] & ~0x20));
      !unit.empty() && power != std::string_view::npos) {
    factor = std::pow(1024.0, static_cast<double>(power + 1));
    unit.remove_prefix(1);
    if (!unit.empty() && unit[0] == 'i') unit.remove_prefix(1);
  }
  if (!(unit.empty() || unit == "B") || *number * factor >= 9e18) return std::nullopt;
  return static_cast<int64_t>(*number * factor);
}

std::optional<std::vector<int32_t>> parse_ranks(const std::string& text) {
  std::vector<int32_t> ranks;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view part = std::string_view(text).substr(at, comma - at);
    const size_t dash = part.find('-');
    const auto first = parse_number<int32_t>(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number<int32_t>(part.substr(dash + 1));
    if (!first || !last || *last < *first || int64_t{*last} - *first + std::ssize(ranks) >= kLargestRankNamed) {
      return std::nullopt;
    }
    for (int64_t rank = *first; rank <= *last; ++rank) ranks.push_back(static_cast<int32_t>(rank));
    at = comma + 1;
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

std::optional<std::pair<int64_t, int64_t>> parse_steps(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos || text.size() == 1) return std::nullopt;
  const std::string_view first_text = std::string_view(text).substr(0, colon);
  const std::string_view last_text = std::string_view(text).substr(colon + 1);
  const auto first = first_text.empty() ? std::optional<int64_t>(0) : parse_number<int64_t>(first_text);
  const auto last =
      last_text.empty() ? std::optional(std::numeric_limits<int64_t>::max()) : parse_number<int64_t>(last_text);
  if (!first || !last || *last <= *first) return std::nullopt;
  return std::pair(*first, *last);
}

}  // namespace skewscope::cli
