#include "rank_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "skewscope/base/human_units.h"
#include "skewscope/base/text_columns.h"

namespace skewscope::report {
namespace {

// A number and its unit are one word: "12 %", "3.4 ms,".
size_t end_of_word(const std::string& text, size_t at) {
  const size_t end = std::min(text.find(' ', at), text.size());
  if (end == text.size() || text.find_first_of("0123456789", at) >= end) return end;
  const size_t next = std::min(text.find(' ', end + 1), text.size());
  const std::string unit = text.substr(end + 1, std::min(text.find_first_of(",.;:) ", end + 1), next) - end - 1);
  constexpr std::array<std::string_view, 14> kUnits = {"%", "ns", "us", "ms", "s",  "min", "h",
                                                       "B", "kB", "MB", "GB", "TB", "x",   "GB/s"};
  const bool known = std::find(kUnits.begin(), kUnits.end(), unit) != kUnits.end();
  return known ? next : end;
}

}  // namespace

std::string wrapped(const std::string& text, size_t indent, size_t columns) {
  const size_t width = std::min(columns, kWidestText) - indent;
  std::string out, line;
  const auto close = [&] {
    if (!line.empty()) out += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_of_word(text, at);
    const std::string word = fit(text.substr(at, end - at), width);
    if (text_width(line) + text_width(word) + 1 > width) close();
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  close();
  return out;
}

std::string labelled(std::string_view label, const std::string& text, size_t columns) {
  const std::string lines = wrapped(text, kRankLabel, columns);
  return lines.size() < kRankLabel ? "" : pad(label, kRankLabel) + lines.substr(kRankLabel);
}

std::string share_of(int64_t part_ns, int64_t whole_ns) {
  return whole_ns == 0 ? "-" : human_percent(static_cast<double>(part_ns) / static_cast<double>(whole_ns));
}

std::string RankTable::text(size_t all, const char* what) const {
  if (rows_.empty()) return "";
  size_t figures = 0, name = text_width(title_);
  for (const Head& head : heads_) figures += head.width;
  for (const Row& row : rows_) name = std::max(name, text_width(row.name) + 2);
  const size_t room = options_.columns > figures + 8 ? options_.columns - figures : 8;
  name = std::min(name, room);
  std::string out = "\n" + pad(title_, name);
  for (const Head& head : heads_) out += pad_left(head.text, head.width);
  out += "\n";
  for (const Row& row : rows_) {
    out += "  " + pad(row.name, name - 2);
    for (size_t c = 0; c < heads_.size(); ++c) out += pad_left(row.cells[c], heads_[c].width);
    out += "\n";
  }
  if (all > rows_.size()) out += fmt::format("  and {} more {}\n", all - rows_.size(), what);
  return out;
}

}  // namespace skewscope::report
