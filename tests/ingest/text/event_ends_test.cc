// Ends of events found many bytes at a time must be those found one by one, up to the first that is none.
#include "src/ingest/text/event_ends.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

using namespace skewscope::ingest;

namespace {

constexpr size_t kWindow = 64 * 64;

std::vector<size_t> found(const std::string& text, size_t indent, size_t from) {
  EventEnds ends(text, indent, from);
  std::vector<size_t> places;
  for (size_t at = ends.next(); at != EventEnds::kNone; at = ends.next()) places.push_back(at);
  return places;
}

// The braces behind a line break and `indent` more bytes that end an event, up to the first that does not: a closing
// one that no event follows, an opening one that follows no event.
std::vector<size_t> found_one_by_one(const std::string& text, size_t indent, size_t from) {
  const std::string blanks(indent, ' '), joint = blanks + "},\n" + blanks + "{";
  std::vector<size_t> places;
  size_t due = std::string::npos;  // opening brace
  for (size_t at = std::max(from, indent + 1); at < text.size(); ++at) {
    if (text[at - indent - 1] != '\n') continue;
    if (text[at] == '{' && at != due) break;
    if (text[at] != '}') continue;
    if (text.compare(at - indent, joint.size(), joint) != 0) break;
    places.push_back(at);
    due = at + indent + 3;
  }
  return places;
}

// Events of some length, laid out; the last one is not followed by another.
std::string events(std::mt19937& random, size_t indent, int count) {
  const std::string blanks(indent, ' ');
  std::string text = blanks + "{";
  for (int i = 0; i < count; ++i) {
    for (auto lines = 1 + random() % 4; lines > 0; --lines) {
      text += "\n" + blanks + "  \"a{}\": {" + std::string(random() % 90, 'x') + "},";
    }
    text += "\n" + blanks + (i + 1 < count ? "},\n" + blanks + "{" : "}\n]");
  }
  return text;
}

void check_prefix(const std::vector<size_t>& some, const std::vector<size_t>& all) {
  REQUIRE(some.size() <= all.size());
  CHECK(some == std::vector<size_t>(all.begin(), all.begin() + static_cast<ptrdiff_t>(some.size())));
}

}  // namespace

TEST_CASE("an event ends at a brace that another event follows in the next line, in one column") {
  std::string text = "  {\n    \"a\": {1}\n  },\n  {\n    \"b\": [\n  },\n  {\n";
  CHECK(found(text, 2, 3) == std::vector<size_t>{19, 39});
  CHECK(found(text, 2, 26) == std::vector<size_t>{39});
  CHECK(found(text, 3, 3).empty());
}

TEST_CASE("ends of long texts are found up to the last whole window, wherever windows and texts end") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const size_t indent = random() % 6;
    const std::string text = events(random, indent, 1 + static_cast<int>(random() % 120));
    CAPTURE(round, indent);
    const std::vector<size_t> some = found(text, indent, indent + 1), all = found_one_by_one(text, indent, indent + 1);
    check_prefix(some, all);
    if (some.size() < all.size()) CHECK(all[some.size()] + kWindow >= text.size());
  }
}

TEST_CASE("of damaged text no end is found behind the damage, and none that is not one") {
  std::mt19937 random(8);
  const std::string bytes = "\n{} ,x";
  for (int round = 0; round < 2000; ++round) {
    const size_t indent = random() % 4;
    std::string text = events(random, indent, 40);
    const size_t at = random() % text.size(), length = random() % 9;
    std::string damage;
    for (size_t i = 0; i < random() % 9; ++i) damage += bytes[random() % bytes.size()];
    text.replace(at, std::min(length, text.size() - at), damage);
    CAPTURE(round, indent, at);
    check_prefix(found(text, indent, indent + 1), found_one_by_one(text, indent, indent + 1));
  }
}

TEST_CASE("in text of braces and blanks, ends are those found one by one") {
  std::mt19937 random(9);
  const std::string alphabet = "\n\n{}   ab\",";
  for (const size_t size : {0U, 1U, 63U, 64U, 65U, 1000U, 16384U, 16390U, 40000U}) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += alphabet[random() % alphabet.size()];
    for (const size_t indent : {0U, 1U, 2U, 5U}) {
      CAPTURE(size, indent);
      check_prefix(found(text, indent, 0), found_one_by_one(text, indent, 0));
      check_prefix(found(text, indent, size / 3), found_one_by_one(text, indent, size / 3));
    }
  }
}
