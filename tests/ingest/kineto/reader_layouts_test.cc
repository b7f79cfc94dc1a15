// FileBuilder events by the layout of one before must not show in what was read.
#include <catch2/catch.hpp>
#include <random>

#include "src/ingest/kineto/event_layouts.h"
#include "tests/ingest/reader_support.h"

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

std::string with_zeros(std::string event) {
  for (char& c : event) c = std::isdigit(static_cast<unsigned char>(c)) != 0 ? '0' : c;
  return event;
}

std::string launch(int64_t stamp, int64_t correlation) {
  return fmt::format(
      "  {{\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 5, \"tid\": 61,\n"
      "    \"ts\": {}.{:03}, \"dur\": {},\n    \"args\": {{\n      \"cbid\": 211, \"correlation\": {}\n    }}\n  }}",
      stamp, stamp % 1000, stamp % 77, correlation);
}

std::string gemm(int64_t stamp, int64_t correlation, const std::string& name) {
  return fmt::format(
      "  {{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"{}\", \"pid\": 0, \"tid\": {},\n"
      "    \"ts\": {}, \"dur\": {}.5,\n    \"args\": {{\n      \"device\": 0, \"stream\": {}, \"correlation\": {},\n"
      "      \"grid\": [{}, 1, 1], \"occupancy\": 0.{}\n    }}\n  }}",
      name, stamp % 9, stamp, stamp % 101, stamp % 9, correlation, stamp % 4096, stamp % 10);
}

std::string all_reduce(int64_t stamp, int64_t elements) {
  return fmt::format(
      "  {{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", \"pid\": 0, \"tid\": 20,\n"
      "    \"ts\": {}, \"dur\": 12,\n    \"args\": {{\n      \"device\": 0, \"stream\": 20, \"correlation\": 7,\n"
      "      \"Collective name\": \"allreduce\", \"In msg nelems\": {}, \"Group size\": 2, \"dtype\": \"Half\",\n"
      "      \"Process Group Name\": \"{}\", \"Process Group Ranks\": \"[0, {}]\"\n    }}\n  }}",
      stamp, elements, elements % 3, 1 + elements % 2);
}

// Events of a few layouts, most of them seen before; every one leaves a row.
std::vector<std::string> events_of(std::mt19937& random, int count) {
  const std::string names[] = {"gemm_64x64",    "gemm_128x64", "gemm_64x128_tn",
                               "say \\\"4\\\"", "bad \\x4",    "caf\u00e9 9"};
  std::vector<std::string> events;
  for (int i = 0; i < count; ++i) {
    const int64_t stamp = 1000 + static_cast<int64_t>(random() % 100'000),
                  number = static_cast<int64_t>(random() % 5000);
    const auto kind = random() % 4;
    events.push_back(kind == 0   ? launch(stamp, number)
                     : kind == 1 ? all_reduce(stamp, number)
                                 : gemm(stamp, number, names[random() % 6]));
  }
  return events;
}

std::string file_of(const std::vector<std::string>& events) {
  std::string text = "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n";
  for (const std::string& event : events) text += (&event == &events.front() ? "" : ",\n") + event;
  return text + "\n  ],\n  \"traceName\": \"t\"\n}";
}

void check_same_by_layout(const std::string& text) {
  const TempFile file(text);
  ReadSettings settings;
  for (const size_t bytes : {size_t{500}, size_t{5000}, size_t{1} << 20}) {
    CAPTURE(bytes);
    settings.chunk_bytes = bytes;
    settings.sieve = true;
    const std::string by_layout = as_text(read_file(file.path(), settings));
    settings.sieve = false;
    REQUIRE(by_layout == as_text(read_file(file.path(), settings)));
  }
}

}  // namespace

TEST_CASE("a skeleton is the text with each digit as 0, wherever blocks end") {
  std::mt19937 random(5);
  const std::string alphabet = "0123456789019 \"a{/:\xff";
  EventSkeleton skeleton;
  for (const size_t size : {0U, 1U, 31U, 32U, 33U, 63U, 64U, 65U, 700U, 4095U, 4096U}) {
    CAPTURE(size);
    std::string event;
    for (size_t i = 0; i < size; ++i) event += alphabet[random() % alphabet.size()];
    REQUIRE(skeleton.take(event));
    CHECK(skeleton.text() == with_zeros(event));
  }
  CHECK_FALSE(skeleton.take(std::string(4097, ' ')));
}

TEST_CASE("events that differ in digits alone have one hash, others have others") {
  EventSkeleton skeleton;
  const auto hash = [&](const std::string& event) {
    REQUIRE(skeleton.take(event));
    return skeleton.hash();
  };
  const uint64_t one = hash(gemm(12'345, 67, "gemm_128x64_tn"));
  CHECK(one == hash(gemm(16'441, 45, "gemm_256x32_tn")));
  CHECK(one != hash(gemm(12'345, 67, "gemm_128x64_nt")));
  CHECK(one != hash(gemm(112'345, 67, "gemm_128x64_tn")));
  CHECK(hash("{}") != hash("{}" + std::string(1, '\0')));
}

TEST_CASE("an event that differs in numbers alone is read by the layout of one before") {
  const std::string first = R"({"name": "gemm_8", "ts": 17.5, "stream": 7})";
  const std::string second = R"({"name": "gemm_9", "ts": 23.1, "stream": 4})";
  const std::string longer = R"({"name": "gemm_8", "ts": 117.5, "stream": 7})";
  const auto token_in = [](const std::string& text, const std::string& from, const std::string& to) {
    const size_t begin = text.find(from);
    return std::string_view(text).substr(begin, text.find(to, begin) - begin);
  };
  EventLayouts layouts;
  RawEvent raw;
  REQUIRE_FALSE(layouts.read(first, raw));
  raw.event_class = EventClass::kernel;
  raw.name = token_in(first, "\"gemm", ",");
  raw.stamp = token_in(first, "17.5", ",");
  raw.present = mask_of(Arg::stream);
  raw.args[static_cast<size_t>(Arg::stream)] = token_in(first, "7}", "}");
  layouts.learn(first, raw);

  RawEvent found;
  REQUIRE(layouts.read(second, found));
  CHECK(found.event_class == EventClass::kernel);
  CHECK(found.name == "\"gemm_9\"");
  CHECK(found.stamp == "23.1");
  CHECK(found.duration.empty());
  CHECK(found.present == mask_of(Arg::stream));
  CHECK(found.args[static_cast<size_t>(Arg::stream)] == "4");
  CHECK_FALSE(layouts.read(longer, found));
}

TEST_CASE("asking for layouts stops where hardly an event has one that is known") {
  EventLayouts layouts;
  RawEvent raw;
  int asked = 0;
  for (; layouts.useful() && asked < 10'000; ++asked) {
    layouts.read("{" + std::string(static_cast<size_t>(asked % 4000), 'x'), raw);
  }
  CHECK(asked < 1000);
}

TEST_CASE("whether asking for layouts pays is found out anew for each file, and what was learned stays") {
  EventLayouts layouts;
  RawEvent raw;
  REQUIRE_FALSE(layouts.read("{}", raw));
  layouts.learn("{}", raw);
  while (layouts.useful()) layouts.read("{\"x\":" + std::string(9, 'x'), raw);
  layouts.begin_file();
  CHECK(layouts.useful());
  CHECK(layouts.read("{}", raw));
}

TEST_CASE("layouts are learned anew where there are too many, and those that come again are known again") {
  EventLayouts layouts;
  RawEvent raw;
  const auto nth = [](size_t n) { return "{\"" + std::string(n % 64, 'x') + std::string(n / 64, 'y') + "\"}"; };
  for (size_t n = 0; n < EventLayouts::kMostLayouts + 1; ++n) {
    REQUIRE_FALSE(layouts.read(nth(n), raw));
    layouts.learn(nth(n), raw);
  }
  CHECK(layouts.read(nth(EventLayouts::kMostLayouts), raw));
  CHECK_FALSE(layouts.read(nth(0), raw));
}

TEST_CASE("with and without layouts a file reads the same, whatever its names and numbers") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    check_same_by_layout(file_of(events_of(random, 80)));
  }
}

TEST_CASE("a reader reads each of many files as one of its own would") {
  ReadSettings settings;
  settings.chunk_bytes = 5000;
  const KinetoReader for_all(settings);
  MemoryBudget budget(0);
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::string text = file_of(events_of(random, 80));
    if (seed % 4 == 0) text.resize(text.size() / 2);              // cut
    if (seed % 4 == 1) text.insert(text.size() / 2, "\xff\"{[");  // damaged
    const TempFile file(seed % 5 == 0 ? "" : text);
    REQUIRE(as_text(for_all.read(file.path(), budget).value().front()) == as_text(read_file(file.path(), settings)));
  }
}

TEST_CASE("with and without layouts numbers of any length and form read the same") {
  std::mt19937 random(5);
  const auto digits = [&](size_t most) {
    std::string text(1 + random() % most, '0');
    for (char& c : text) c = static_cast<char>('0' + random() % 10);
    return text;
  };
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    std::vector<std::string> events;
    for (int i = 0; i < 60; ++i) {
      const std::string fraction = i % 3 == 0 ? "" : "." + digits(i % 3 == 1 ? 3 : 7), sign = i % 7 == 0 ? "-" : "";
      events.push_back(fmt::format(
          "  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"cudaLaunchKernel\", \"pid\": {}, \"tid\": {},\n"
          "    \"ts\": {}{}, \"dur\": {}{},\n    \"args\": {{\n      \"device\": {}, \"stream\": {}, \"External id\": "
          "{}{},"
          " \"correlation\": {}\n    }}\n  }}",
          i % 2 ? "cuda_runtime" : "kernel", digits(18), digits(18), digits(17), fraction, digits(6), fraction,
          digits(3), digits(4), sign, digits(19), digits(18)));
    }
    check_same_by_layout(file_of(events));
  }
}

TEST_CASE("with and without layouts an event that is damaged among its like reads the same") {
  constexpr char kOddBytes[] = "\"\\{}[],:\n\0x\xff 0-.eE/u";
  std::mt19937 random(11);
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    std::vector<std::string> events = events_of(random, 30);
    std::string& event = events[random() % events.size()];
    const size_t behind_name = event.find("\"pid\"");  // before it, the sieve decides
    const size_t at = behind_name + random() % (event.size() - behind_name), length = 1 + random() % 12;
    const char byte = kOddBytes[random() % (sizeof kOddBytes - 1)];
    switch (random() % 4) {
      case 0:
        event[at] = byte;
        break;
      case 1:
        event.insert(at, 1, byte);
        break;
      case 2:
        event.erase(at, length);
        break;
      default:
        event.insert(at, event.substr(random() % event.size(), length));
        break;
    }
    CAPTURE(event);
    check_same_by_layout(file_of(events));
  }
}
