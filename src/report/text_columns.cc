#include "text_columns.h"

#include "skewscope/base/printable.h"

namespace skewscope::report {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

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
