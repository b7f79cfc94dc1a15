// How the text of one GPU is laid out: labelled lines, wrapped words, tables as wide as the terminal.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skewscope/report.h"

namespace skewscope::report {

constexpr size_t kRankLabel = 10;
constexpr size_t kWidestText = 100;  // of sentences, which are hard to read in longer lines

// A label, and text next to it, wrapped.
std::string labelled(std::string_view label, const std::string& text, size_t columns);
// Words wrapped at the last column, each line after `indent` blanks.
std::string wrapped(const std::string& text, size_t indent, size_t columns);
// "12 %"; "-" where the whole is nothing.
std::string share_of(int64_t part_ns, int64_t whole_ns);

// A table: names at the left, as wide as they are or as there is room; figures right-aligned.
class RankTable {
 public:
  struct Head {
    const char* text;
    size_t width;
  };

  RankTable(const RankTextOptions& options, std::string title, std::vector<Head> heads)
      : options_(options), title_(std::move(title)), heads_(std::move(heads)) {}

  // How many rows to show where the table shows `by_itself` unasked.
  size_t most(size_t by_itself) const { return options_.rows == 0 ? by_itself : options_.rows; }
  void add(std::string name, std::vector<std::string> cells) { rows_.push_back({std::move(name), std::move(cells)}); }
  // `all`: how many rows there are of what `what` names. "" without rows.
  std::string text(size_t all, const char* what) const;

 private:
  struct Row {
    std::string name;
    std::vector<std::string> cells;
  };

  const RankTextOptions& options_;
  std::string title_;
  std::vector<Head> heads_;
  std::vector<Row> rows_;
};

}  // namespace skewscope::report
