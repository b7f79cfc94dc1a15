#include "skewscope/base/printable.h"

#include <algorithm>

namespace skewscope {
namespace {

unsigned byte_at(std::string_view text, size_t at) { return static_cast<unsigned char>(text[at]); }

// Bytes of the code point that begins `text`, which is not empty; 0: it is not UTF-8 (Unicode, table 3-7).
size_t length_of(std::string_view text) {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                        : lead >= 0xE0 && lead <= 0xEF ? 3
                        : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                       : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte_at(text, i) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte_at(text, 1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool outside = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return overlong || outside ? 0 : length;
}

// C0, DEL, C1; of U+2028 to 202E and 2066 to 2069 those that begin a line or turn the direction of what follows.
bool is_control(std::string_view point) {
  const unsigned first = byte_at(point, 0);
  if (first == 0xE2 && byte_at(point, 1) == 0x80) return byte_at(point, 2) >= 0xA8 && byte_at(point, 2) <= 0xAE;
  if (first == 0xE2 && byte_at(point, 1) == 0x81) return byte_at(point, 2) >= 0xA6 && byte_at(point, 2) <= 0xA9;
  return first < 0x20 || first == 0x7F || (first == 0xC2 && byte_at(point, 1) < 0xA0);
}

bool is_plain(char c) { return c >= 0x20 && c < 0x7F; }

std::string cleaned(std::string_view text, bool keep_controls) {
  if (std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);  // nearly every text
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = length_of(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (!keep_controls && is_control(text.substr(0, length))) {
      out += '?';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace

std::string valid_utf8(std::string_view text) { return cleaned(text, true); }

std::string printable(std::string_view text) { return cleaned(text, false); }

}  // namespace skewscope
