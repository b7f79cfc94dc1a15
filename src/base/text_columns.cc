// Widths are libunistring's: the C library's wcwidth() depends on the locale of whoever runs the program.
#include "skewscope/base/text_columns.h"

#include <unigbrk.h>
#include <uniwidth.h>

#include <algorithm>
#include <array>

#include "skewscope/base/printable.h"

namespace skewscope {
namespace {

constexpr std::string_view kCut = "..";

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
}

const uint8_t* bytes(std::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }

// A character with all its marks.
size_t first_character(std::string_view text) {
  const uint8_t* const next = u8_grapheme_next(bytes(text), bytes(text) + text.size());
  return next == nullptr ? text.size() : static_cast<size_t>(next - bytes(text));
}

size_t width_of(std::string_view valid) {
  if (is_ascii(valid)) return valid.size();
  return static_cast<size_t>(std::max(0, u8_width(bytes(valid), valid.size(), "UTF-8")));
}

// Whether the blank at `at` is between a number and its unit: "12 %", "3.4 ms,".
bool parts_number_from_unit(std::string_view text, size_t at) {
  constexpr std::array<std::string_view, 14> kUnits = {"%", "ns", "us", "ms", "s",  "min", "h",
                                                       "B", "kB", "MB", "GB", "TB", "x",   "GB/s"};
  const size_t blank = text.rfind(' ', at - 1), begin = blank == std::string_view::npos ? 0 : blank + 1;
  if (text.substr(begin, at - begin).find_first_of("0123456789") == std::string_view::npos) return false;
  const std::string_view next = text.substr(at + 1);
  const std::string_view unit = next.substr(0, next.find_first_of(",.;:) "));
  return std::find(kUnits.begin(), kUnits.end(), unit) != kUnits.end();
}

std::string cut_mark(size_t width) { return std::string(kCut.substr(0, width)); }

}  // namespace

size_t text_width(std::string_view text) { return is_ascii(text) ? text.size() : width_of(valid_utf8(text)); }

size_t bytes_within(std::string_view text, size_t width) {
  if (is_ascii(text)) return std::min(text.size(), width);
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = first_character(text.substr(at));
    const size_t columns = text_width(text.substr(at, length));
    if (columns > width) break;
    width -= columns;
    at += length;
  }
  return at;
}

std::string fit(std::string_view text, size_t width) {
  std::string out = printable(text);
  if (width_of(out) <= width) return out;
  out.resize(bytes_within(out, width - std::min(width, kCut.size())));
  return out + cut_mark(width);
}

std::string fit_tail(std::string_view text, size_t width) {
  std::string out = printable(text);
  std::string_view rest = out;
  if (width_of(rest) <= width) return out;
  const size_t room = width - std::min(width, kCut.size());
  for (size_t columns = width_of(rest); columns > room;) {
    const size_t length = first_character(rest);
    columns -= std::min(columns, width_of(rest.substr(0, length)));
    rest.remove_prefix(length);
  }
  return cut_mark(width) + std::string(rest);
}

std::string pad(std::string_view text, size_t width) {
  std::string out = fit(text, width);
  return out.append(width - width_of(out), ' ');
}

std::string pad_left(std::string_view text, size_t width) {
  const std::string out = fit(text, width);
  return std::string(width - width_of(out), ' ') + out;
}

std::vector<std::string> wrap(std::string_view text, size_t width, LongWord long_word) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    size_t cut = text.size();
    if (text_width(text) > width) {
      const size_t within = std::max<size_t>(1, bytes_within(text, width));
      cut = text[within] == ' ' ? within : text.rfind(' ', within);
      if (cut != std::string_view::npos && cut > 0 && parts_number_from_unit(text, cut)) cut = text.rfind(' ', cut - 1);
      const bool is_long = cut == std::string_view::npos || cut == 0;
      if (is_long) cut = long_word == LongWord::broken ? within : std::min(text.find(' ', 1), text.size());
    }
    lines.emplace_back(text.substr(0, cut));
    text.remove_prefix(cut);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return lines;
}

}  // namespace skewscope
