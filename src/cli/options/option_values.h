// Values of options that CLI11 does not know: sizes, rank sets, ranges of steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skewscope::cli {

// "8G", "512M", "1.5GiB", "1000000": bytes; K, M, G, T are powers of 1024. nullopt: no size.
std::optional<int64_t> parse_size(const std::string& text);

// "0-7,12": sorted, unique. nullopt: no set of ranks, or over 2^20 ranks.
std::optional<std::vector<int32_t>> parse_ranks(const std::string& text);

// "10:20": 10 <= step < 20; "10:" and ":20" are open. nullopt: no range, or an empty one.
std::optional<std::pair<int64_t, int64_t>> parse_steps(const std::string& text);

}  // namespace skewscope::cli
