#include "skewscope/base/text_columns.h"

#include <catch2/catch.hpp>

#include "skewscope/base/printable.h"

using namespace skewscope;  // NOLINT

// Visible: 漢 is two columns wide, 字 too, é as e and a combining accent one, 😀 two, a zero-width space none.
namespace {

const std::string kWide = "\xE6\xBC\xA2\xE5\xAD\x97";  // 漢字
const std::string kAccent = "e\xCC\x81";
const std::string kEmoji = "\xF0\x9F\x98\x80";
const std::string kInvisible = "\xE2\x80\x8B";
const std::string kTurned = "\xE2\x80\xAE";  // all that follows from right to left

}  // namespace

TEST_CASE("a wide character takes two columns, a mark and an invisible character none") {
  CHECK(text_width("abc") == 3);
  CHECK(text_width(kWide) == 4);
  CHECK(text_width(kAccent) == 1);
  CHECK(text_width(kEmoji) == 2);
  CHECK(text_width("a" + kInvisible + "b") == 2);
  CHECK(text_width("") == 0);
  CHECK(text_width("\xFF\xFE") == 2);  // no UTF-8: one each
}

TEST_CASE("padded text takes exactly its columns, whatever it holds") {
  const std::string texts[] = {"",
                               "abc",
                               kWide,
                               kWide + kWide + kWide,
                               "a" + kWide + kWide,
                               kAccent + kAccent,
                               kEmoji + "x",
                               kInvisible,
                               kTurned + "abc",
                               "\x1b[2J\t\n",
                               "\xFF\xE6\xBC",
                               std::string(3, '\0'),
                               "\xE6\xBC",
                               "e\xCC\x81\xCC\x81\xCC\x81\xCC\x81" + kWide};
  for (const std::string& text : texts) {
    for (const size_t width : {2u, 3u, 4u, 5u, 7u, 20u}) {
      INFO(text << " in " << width);
      CHECK(text_width(pad(text, width)) == width);
      CHECK(text_width(pad_left(text, width)) == width);
      CHECK(text_width(fit_tail(text, width)) <= width);
      CHECK(pad(text, width).find_first_of("\x1b\n\t") == std::string::npos);
    }
  }
}

TEST_CASE("text is cut between characters, not within one or before its marks") {
  CHECK(fit(kWide + kWide, 8) == kWide + kWide);
  CHECK(fit(kWide + kWide, 7) == kWide + "..");
  CHECK(fit(kWide + kWide, 6) == kWide + "..");
  CHECK(fit(kWide + kWide, 5) == "\xE6\xBC\xA2..");  // a column stays free
  CHECK(fit("abcd" + kAccent + "fgh", 7) == "abcd" + kAccent + "..");
  CHECK(fit_tail(kWide + kWide, 6) == ".." + kWide);
  CHECK(fit_tail(kWide + kWide, 5) == "..\xE5\xAD\x97");
  CHECK(bytes_within(kWide, 3) == 3);
  CHECK(bytes_within("abc", 2) == 2);
}

TEST_CASE("marks that turn the direction of text or begin a line are shown as question marks") {
  CHECK(printable(kTurned + "abc") == "?abc");
  CHECK(printable("a\xE2\x81\xA6"
                  "b\xE2\x80\xA8"
                  "c") == "a?b?c");
  CHECK(printable(kInvisible) == kInvisible);
}

TEST_CASE("wrapped text breaks at blanks, keeps every word, and gives a word that is too long its own line") {
  using Lines = std::vector<std::string>;
  CHECK(wrap("", 10) == Lines{});
  CHECK(wrap("one two three", 80) == Lines{"one two three"});
  CHECK(wrap("one two three", 7) == Lines{"one two", "three"});
  CHECK(wrap("one two three", 8) == Lines{"one two", "three"});
  CHECK(wrap("a /path/that/is/long b", 6) == Lines{"a", "/path/that/is/long", "b"});
  CHECK(wrap("\u5168\u90e8 \u6642\u9593", 4) == Lines{"\u5168\u90e8", "\u6642\u9593"});
}
