#include "unescape.h"

namespace skewscope::ingest {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Four hex digits at raw[at]; -1: not there.
int32_t code_unit(std::string_view raw, size_t at) {
  if (at + 4 > raw.size()) return -1;
  int32_t unit = 0;
  for (size_t i = at; i < at + 4; i++) {
    const int digit = hex_digit(raw[i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

void append_utf8(uint32_t point, std::string& text) {
  const auto put = [&](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (point < 0x80) return put(point);
  if (point < 0x800) return put(0xc0 | point >> 6), put(0x80 | (point & 0x3f));
  if (point < 0x10000) {
    return put(0xe0 | point >> 12), put(0x80 | (point >> 6 & 0x3f)), put(0x80 | (point & 0x3f));
  }
  put(0xf0 | point >> 18), put(0x80 | (point >> 12 & 0x3f)), put(0x80 | (point >> 6 & 0x3f)),
      put(0x80 | (point & 0x3f));
}

}  // namespace

void unescape(std::string_view raw, std::string& text, int64_t& bad_escapes) {
  text.clear();
  for (size_t at = 0; at < raw.size(); at++) {
    if (raw[at] != '\\' || at + 1 == raw.size()) {
      text.push_back(raw[at]);
      continue;
    }
    const char c = raw[at + 1];
    constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const size_t known = kEscapes.find(c);
    int32_t unit = c == 'u' ? code_unit(raw, at + 2) : -1;
    if (known != std::string_view::npos) {
      text.push_back(kMeanings[known]);
      at++;
    } else if (unit >= 0) {
      at += 5;
      const int32_t low = raw.substr(at + 1).starts_with("\\u") ? code_unit(raw, at + 3) : -1;
      uint32_t point = static_cast<uint32_t>(unit);
      if (unit >= 0xd800 && unit < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
        point = 0x10000 + ((point - 0xd800) << 10) + (static_cast<uint32_t>(low) - 0xdc00);
        at += 6;
      } else if (unit >= 0xd800 && unit < 0xe000) {
        point = 0xfffd;
      }
      append_utf8(point, text);
    } else {
      text.push_back('\\');
      bad_escapes++;
    }
  }
}

}  // namespace skewscope::ingest
