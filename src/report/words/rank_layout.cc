#include "rank_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "skewscope/base/human_units.h"
#include "skewscope/base/text_columns.h"

namespace skewscope::report {
std::string wrapped(const std::string& text, size_t indent, size_t columns) {
  std::string out;
  for (const std::string& line : wrap(text, std::min(columns, kWidestText) - indent, LongWord::broken)) {
    out += std::string(indent, ' ') + line + "\n";
  }
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
