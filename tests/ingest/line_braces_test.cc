// Braces found many bytes at a time must be those found one by one.
#include "src/ingest/line_braces.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

using namespace skewscope::ingest;

namespace {

std::vector<size_t> found(const std::string& text, size_t indent, size_t from) {
  LineBraces braces(text, indent, from);
  std::vector<size_t> places;
  for (size_t at = braces.next(); at != LineBraces::kNone; at = braces.next()) places.push_back(at);
  return places;
}

std::vector<size_t> found_one_by_one(const std::string& text, size_t indent, size_t from) {
  const std::string line = "\n" + std::string(indent, ' ');
  std::vector<size_t> places;
  for (size_t at = from; at < text.size(); ++at) {
    const bool brace = text[at] == '{' || text[at] == '}';
    if (brace && at >= line.size() && text.compare(at - line.size(), line.size(), line) == 0) places.push_back(at);
  }
  return places;
}

}  // namespace

TEST_CASE("a brace begins a line when nothing but the indentation stands before it") {
  const std::string text = "{\n  {\n    \"a\": {1}\n  },\n  {\n x{\n   }\n  }";
  CHECK(found(text, 2, 0) == std::vector<size_t>{4, 21, 26, 39});
  CHECK(found(text, 2, 5) == std::vector<size_t>{21, 26, 39});
  CHECK(found(text, 3, 0) == std::vector<size_t>{35});
}

TEST_CASE("braces of long texts are found whatever stands between them and wherever the text ends") {
  std::mt19937 random(7);
  const std::string alphabet = "\n\n{}   ab\"";
  for (const size_t size : {0U, 1U, 63U, 64U, 65U, 1000U, 16384U, 16390U, 40000U}) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += alphabet[random() % alphabet.size()];
    for (const size_t indent : {0U, 1U, 2U, 5U}) {
      CAPTURE(size, indent);
      CHECK(found(text, indent, 0) == found_one_by_one(text, indent, 0));
      CHECK(found(text, indent, size / 3) == found_one_by_one(text, indent, size / 3));
    }
  }
}
