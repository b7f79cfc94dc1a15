// Lines of a summary on a terminal. A label and its words are wrapped at the terminal's width and never cut; a row of a
// table is laid out by who adds it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skewscope::report {

constexpr size_t kLabel = 11;         // columns of a label and the blank behind it
constexpr size_t kLeastColumns = 60;  // a narrower terminal wraps these lines itself

enum class Style : uint8_t { plain, bold, alarm, warning };

struct Line {
  std::string text;
  Style style = Style::plain;
};

class Lines {
 public:
  // At least kLeastColumns wide.
  explicit Lines(size_t columns);
  size_t columns() const { return columns_; }
  size_t size() const { return lines_.size(); }

  // A row as it is; "": an empty line.
  void push_back(Line line) { lines_.push_back(std::move(line)); }
  // `label`, then all words of `text`, on as many lines as they take.
  void add_wrapped(std::string_view label, std::string_view text, Style style = Style::plain);
  // `label`, then the end of a path that fits: the end says more.
  void add_path(std::string_view label, std::string_view path);
  void append(const Lines& other);
  void pop_back() { lines_.pop_back(); }

  // Escapes only with `color`.
  std::string text(bool color) const;

 private:
  size_t columns_;
  std::vector<Line> lines_;
};

}  // namespace skewscope::report
