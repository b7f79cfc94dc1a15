// Reading events by the layout of one before must not show in what was read.
#include <catch2/catch.hpp>
#include <random>

#include "reader_support.h"
#include "src/ingest/event_layouts.h"

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

std::string with_room_behind(const std::string& event) { return event + std::string(EventSkeleton::kBlock, '7'); }

std::string skeleton_one_by_one(const std::string& event) {
  std::string skeleton;
  for (const char c : event) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit || skeleton.empty() || skeleton.back() != '0') skeleton += digit ? '0' : c;
  }
  return skeleton;
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

TEST_CASE("a skeleton is the text with each run of digits as one 0, wherever runs and blocks end") {
  const SkeletonMethods* methods = GENERATE(avx2_skeletons(), avx512_skeletons());
  if (methods == nullptr) {
    WARN("skipped: this processor lacks AVX2 or AVX-512 VBMI2");
    return;
  }
  CAPTURE(methods->name);
  std::mt19937 random(5);
  const std::string alphabet = "0123456789019 \"a{";
  EventSkeleton skeleton(methods);
  for (const size_t size : {0U, 1U, 63U, 64U, 65U, 127U, 128U, 129U, 700U, 4095U, 4096U}) {
    CAPTURE(size);
    std::string event;
    for (size_t i = 1; i < size; ++i) event += alphabet[random() % alphabet.size()];
    if (size > 0) event += '}';
    const std::string text = with_room_behind(event);
    REQUIRE(skeleton.take(std::string_view(text).substr(0, size)));
    CHECK(skeleton.text() == skeleton_one_by_one(event));
    size_t run = 0;
    for (size_t i = 1; i < size; ++i) {
      if (std::isdigit(event[i - 1]) != 0 && std::isdigit(event[i]) == 0) CHECK(skeleton.behind(++run) == i);
    }
    CHECK(skeleton.runs() == run);
  }
  CHECK_FALSE(skeleton.take(with_room_behind(std::string(4097, ' '))));
}

TEST_CASE("an event is of the skeleton that is expected of it, or is not, as if it were taken and compared") {
  const SkeletonMethods* methods = GENERATE(avx2_skeletons(), avx512_skeletons());
  if (methods == nullptr) {
    WARN("skipped: this processor lacks AVX2 or AVX-512 VBMI2");
    return;
  }
  CAPTURE(methods->name);
  std::mt19937 random(9);
  EventSkeleton taken(methods), expected(methods);
  int equal = 0;
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    std::string event = gemm(static_cast<int64_t>(random() % 100'000), static_cast<int64_t>(random() % 5000), "gemm_8");
    std::string other =
        gemm(static_cast<int64_t>(random() % 100'000), static_cast<int64_t>(random() % 5000), "gemm_64");
    if (random() % 2 == 0) event[random() % (event.size() - 1)] = "7x"[random() % 2];
    if (random() % 8 == 0) event.insert(random() % event.size(), 70, 'y');
    if (random() % 8 == 0) other.erase(other.size() / 2);
    const std::string text = with_room_behind(event), others = skeleton_one_by_one(other);
    REQUIRE(taken.take(std::string_view(text).substr(0, event.size())));
    const bool same = taken.text() == others;
    const std::string padded = with_room_behind(others);
    CHECK(expected.take_expected(std::string_view(text).substr(0, event.size()),
                                 std::string_view(padded).substr(0, others.size())) == same);
    if (!same) continue;
    ++equal;
    REQUIRE(expected.runs() == taken.runs());
    for (size_t run = 0; run <= taken.runs(); ++run) CHECK(expected.behind(run) == taken.behind(run));
  }
  CHECK(equal > 500);
}

TEST_CASE("a hint does not depend on digits, but on the name") {
  const SkeletonMethods* methods = GENERATE(avx2_skeletons(), avx512_skeletons());
  if (methods == nullptr) {
    WARN("skipped: this processor lacks AVX2 or AVX-512 VBMI2");
    return;
  }
  CAPTURE(methods->name);
  const EventSkeleton skeleton(methods);
  const auto hint = [&](const std::string& event) { return skeleton.hint(with_room_behind(event)); };
  CHECK(hint(gemm(12'345, 67, "gemm_128x64_tn")) == hint(gemm(98'765, 4321, "gemm_256x32_tn")));
  CHECK(hint(gemm(12'345, 67, "gemm_128x64_tn")) != hint(gemm(12'345, 67, "gemm_128x64_nt")));
}

TEST_CASE("an event that differs in numbers alone is read by the layout of one before") {
  const SkeletonMethods* methods = GENERATE(avx2_skeletons(), avx512_skeletons());
  if (methods == nullptr) {
    WARN("skipped: this processor lacks AVX2 or AVX-512 VBMI2");
    return;
  }
  CAPTURE(methods->name);
  const std::string first = with_room_behind(R"({"name": "gemm_8", "ts": 17.5, "stream": 7})");
  const std::string second = with_room_behind(R"({"name": "gemm_128", "ts": 1234.625, "stream": 20})");
  const std::string other = with_room_behind(R"({"name": "gemm_8", "ts": 17, "stream": 7})");
  const auto event_in = [](const std::string& text) { return std::string_view(text).substr(0, text.find('}') + 1); };
  const auto token_in = [](const std::string& text, const std::string& from, const std::string& to) {
    const size_t begin = text.find(from);
    return std::string_view(text).substr(begin, text.find(to, begin) - begin);
  };
  EventLayouts layouts(methods);
  RawEvent raw;
  REQUIRE_FALSE(layouts.read(event_in(first), raw));
  raw.event_class = EventClass::kernel;
  raw.name = token_in(first, "\"gemm", ",");
  raw.stamp = token_in(first, "17.5", ",");
  raw.present = mask_of(Arg::stream);
  raw.args[static_cast<size_t>(Arg::stream)] = token_in(first, "7}", "}");
  layouts.learn(event_in(first), raw);

  RawEvent found;
  REQUIRE(layouts.read(event_in(second), found));
  CHECK(found.event_class == EventClass::kernel);
  CHECK(found.name == "\"gemm_128\"");
  CHECK(found.stamp == "1234.625");
  CHECK(found.duration.empty());
  CHECK(found.present == mask_of(Arg::stream));
  CHECK(found.args[static_cast<size_t>(Arg::stream)] == "20");
  CHECK_FALSE(layouts.read(event_in(other), found));
}

TEST_CASE("asking for layouts stops where hardly an event has one that is known") {
  const SkeletonMethods* methods = GENERATE(avx2_skeletons(), avx512_skeletons());
  if (methods == nullptr) {
    WARN("skipped: this processor lacks AVX2 or AVX-512 VBMI2");
    return;
  }
  CAPTURE(methods->name);
  EventLayouts layouts(methods);
  RawEvent raw;
  int asked = 0;
  for (; layouts.useful() && asked < 10'000; ++asked) {
    const std::string event = with_room_behind("{" + std::string(static_cast<size_t>(asked % 4000), 'x'));
    layouts.read(std::string_view(event).substr(0, event.size() - EventSkeleton::kBlock), raw);
  }
  CHECK(asked < 1000);
}

TEST_CASE("with and without layouts a file reads the same, whatever its names and numbers") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    check_same_by_layout(file_of(events_of(random, 80)));
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
