// A terminal shows at most 15 lines, whatever its width. The verdict comes first and is never cut.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "skewscope/base/human_units.h"
#include "skewscope/base/text_columns.h"
#include "skewscope/hang.h"
#include "src/hang/words/verdict.h"

namespace skewscope {
namespace {

constexpr size_t kMostLines = 15, kLabel = 11, kLeastColumns = 60, kMostWhy = 3, kShownLinks = 3;

struct Block {
  std::string label;
  std::vector<std::string> texts;  // each begins a line
  size_t most_lines;
  bool alarm = false;
};

// As they are, where that is short; else the first of them.
std::string few_ranks(const std::vector<int32_t>& ranks) {
  std::string all = human_ranks(ranks);
  if (all.size() <= 24) return all;
  const size_t end = all.rfind(',', 20);
  return fmt::format("{} ranks ({}, ..)", ranks.size(), all.substr(0, end == std::string::npos ? 20 : end));
}

std::string named_ranks(const std::vector<int32_t>& ranks) {
  std::string few = few_ranks(ranks);
  if (few.ends_with(')')) return few;
  return (ranks.size() == 1 ? "rank " : "ranks ") + few;
}

std::string count_words(const HangReport& report) {
  const auto still = std::count_if(report.groups.begin(), report.groups.end(), [](const HangGroup& group) {
    return !group.stalled_operation.empty() || group.stalled_seq >= 0;
  });
  std::string words = fmt::format("{} ranks, {} dumps; {} groups, {} with calls under way", report.world_size,
                                  report.dumps, report.groups.size(), still);
  if (!report.ranks_without_dump.empty())
    words += fmt::format("; no dump of rank {}", few_ranks(report.ranks_without_dump));
  return words;
}

std::vector<std::string> why_texts(const HangReport& report) {
  std::vector<std::string> texts;
  for (const Culprit& culprit : report.culprits) {
    if (texts.size() == kMostWhy) {
      texts.push_back(fmt::format("and {} more in hang.json", report.culprits.size() - kMostWhy));
      break;
    }
    texts.push_back(fmt::format("rank {} ({}): {}", culprit.rank, to_string(culprit.certainty), culprit.reason));
  }
  return texts;
}

std::vector<std::string> last_texts(const HangReport& report) {
  if (report.culprits.empty() || report.culprits.front().last_action.empty()) return {};
  const Culprit& first = report.culprits.front();
  return {fmt::format("rank {}: {}", first.rank, first.last_action)};
}

std::vector<std::string> chain_texts(const HangReport& report) {
  std::string text;
  for (size_t i = 0; i < std::min(report.chain.size(), kShownLinks); ++i) {
    const HangLink& link = report.chain[i];
    text += fmt::format("{}{} for {} in {}", text.empty() ? "" : "; ", named_ranks(link.ranks),
                        named_ranks(link.waits_for), hang::link_words(link));
  }
  if (text.empty()) return {};
  if (report.chain.size() > kShownLinks)
    text += fmt::format("; {} more in hang.json", report.chain.size() - kShownLinks);
  return {text};
}

// The lines of a block, the last of which ends in ".." where it holds more.
void add(const Block& block, size_t columns, bool color, std::vector<std::string>& out) {
  std::vector<std::string> lines;
  const size_t width = std::max(columns, kLeastColumns) - kLabel;
  for (const std::string& text : block.texts) {
    const std::vector<std::string> wrapped = wrap(text, width, LongWord::broken);
    lines.insert(lines.end(), wrapped.begin(), wrapped.end());
  }
  if (lines.size() > block.most_lines) {
    lines.resize(block.most_lines);
    lines.back() = fit(lines.back() + std::string(width, ' '), width - 2) + "..";
    const size_t end = lines.back().find_last_not_of(" .");
    lines.back() = lines.back().substr(0, end + 1) + " ..";
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string words = block.alarm && color ? fmt::format("\x1b[1;31m{}\x1b[0m", lines[i]) : lines[i];
    out.push_back(pad(i == 0 ? block.label : "", kLabel) + words);
  }
}

}  // namespace

std::string hang_summary(const HangReport& report, size_t columns, bool color) {
  std::vector<std::string> lines;
  add({"Hang", {count_words(report)}, 2}, columns, color, lines);
  add({"Verdict", {hang::verdict_of(report)}, 3, !report.culprits.empty()}, columns, color, lines);
  const std::vector<std::string> why = why_texts(report), last = last_texts(report), chain = chain_texts(report);
  std::vector<std::string> tail;
  if (!last.empty()) add({"Last seen", last, 2}, columns, color, tail);
  if (!chain.empty()) add({"Waiting", chain, 4}, columns, color, tail);
  if (!report.problems.empty()) {
    add({"Files", {fmt::format("{} could not be used: {}", report.problems.size(), report.problems.front())}, 1},
        columns, color, tail);
  }
  add({"Next", {hang::next_of(report)}, 3}, columns, color, tail);
  const size_t left = kMostLines - std::min(kMostLines, lines.size() + tail.size());
  if (!why.empty() && left > 0) add({"Why", why, left}, columns, color, lines);
  lines.insert(lines.end(), tail.begin(), tail.end());
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace skewscope
