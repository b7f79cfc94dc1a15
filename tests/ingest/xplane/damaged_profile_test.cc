// Profiles that are cut, of other bytes, or that claim what cannot be.
#include <catch2/catch.hpp>
#include <limits>

#include "made_profile.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT
using test::MadeEvent;
using test::MadePlane;

namespace {

std::string two_devices() {
  MadePlane first("/device:GPU:0"), second("/device:GPU:1");
  first.line(1, "Stream #1(Compute)", 0, {{"a", 10'000, 5'000, {}, {}}, {"b", 20'000, 5'000, {}, {}}});
  second.line(1, "Stream #1(Compute)", 0, {{"c", 10'000, 5'000, {}, {}}});
  return test::profile_of({first, second});
}

}  // namespace

TEST_CASE("of a profile that is cut anywhere the whole planes are read, and the cut is said") {
  const std::string whole = two_devices();
  size_t with_first = 0;
  for (size_t size = 60; size < whole.size(); size += 7) {
    const std::vector<FileContent> contents = test::read_profile(whole.substr(0, size));
    REQUIRE_FALSE(contents.empty());
    const bool between = contents.front().gpu.size() == 2 && count_of(contents.front(), "truncated-file") == 0;
    CHECK((between || count_of(contents.front(), "truncated-file") == 1));
    with_first += contents.front().gpu.size() == 2 ? 1 : 0;
  }
  CHECK(with_first > 0);
}

TEST_CASE("any byte that is another leaves rows or findings, and nothing else happens") {
  const std::string whole = two_devices();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string bytes = whole;
      bytes[at] = value;
      CHECK_FALSE(test::read_profile(bytes).empty());
    }
  }
}

TEST_CASE("lengths that no file has are no reason to take memory") {
  for (const char* const length : {"\xff\xff\xff\xff\x0f", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}) {
    // A plane whose name, kinds and lines claim to be as long.
    for (const char* const field : {"\x12", "\x22", "\x1a"}) {
      const std::string plane = std::string("\x12\x0d/device:GPU:0", 15) + field + length;
      std::string space("\x0a");
      space += static_cast<char>(plane.size());
      space += plane;
      const std::vector<FileContent> contents = test::read_profile(space);
      REQUIRE(contents.size() == 1);
      CHECK(contents.front().gpu.empty());
    }
    const std::vector<FileContent> contents =
        test::read_profile(std::string("\x0a") + length + std::string("\x12\x0d/device:GPU:0", 15));
    CHECK(count_of(contents.front(), "truncated-file") == 1);
  }
}

TEST_CASE("an event whose stats are damaged is left out and counted, the others stay") {
  MadePlane gpu("/device:GPU:0");
  gpu.stat("unit", std::string("a"));
  std::string lines;
  protozero::pbf_writer plane(lines);
  protozero::pbf_writer line(plane, 3);
  line.add_string(2, "Stream #1(Compute)");
  {
    protozero::pbf_writer event(line, 4);
    event.add_int64(1, 1);
    event.add_bytes(4, "\x08");  // a number is missing
  }
  {
    protozero::pbf_writer event(line, 4);
    event.add_int64(1, 1);
    event.add_int64(2, 5000);
    event.add_int64(3, 5000);
  }
  line.commit();
  std::string space;
  protozero::pbf_writer(space).add_message(1, gpu.bytes() + lines);
  const FileContent content = std::move(test::read_profile(space).front());
  CHECK(content.gpu.size() == 1);
  CHECK(count_of(content, "dropped-event") == 1);
}

TEST_CASE("times and numbers at the end of what fits do not overflow") {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  MadePlane gpu("/device:GPU:0"), environment("Task Environment");
  environment.stat("profile_start_time", kMost);
  gpu.line(
      kMost, "Stream #2147483647(Compute)", kMost,
      {{"a", kMost, kMost, {{"correlation_id", kMost}}, {}}, {"b", kLeast, kMost, {{"correlation_id", kLeast}}, {}}});
  gpu.line(kLeast, "Stream #1(Compute)", kLeast, {{"c", kMost, kLeast, {}, {}}, {"d", kLeast, kLeast, {}, {}}});
  const std::vector<FileContent> contents = test::read_profile(test::profile_of({gpu, environment}));
  CHECK(contents.front().gpu.size() == 4);
}

TEST_CASE("groups and devices of numbers that no job has are no group, and overflow nothing") {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const auto rows_of = [](const std::string& opcode, bool global, const std::vector<std::vector<int64_t>>& groups,
                          const std::vector<std::pair<int64_t, int64_t>>& pairs, const std::vector<int64_t>& devices) {
    MadePlane metadata("/host:metadata"), gpu("/device:GPU:0"), gpu1("/device:GPU:1");
    metadata.program(7, "jit_step",
                     test::hlo_of("jit_step", {{{"op.1", opcode, {64}, 1, global, groups, pairs, 0}}}, devices));
    std::vector<MadeEvent> rows(3000, {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)",
                                       0,
                                       kMost,
                                       {{"hlo_op", test::Ref{"op.1"}}, {"program_id", int64_t{7}}},
                                       {}});
    gpu.line(1, "Stream #1(Compute)", 0, rows);  // whose sum no number holds
    gpu1.line(1, "Stream #1(Compute)", 0, {rows.front()});
    return test::read_profile(test::profile_of({metadata, gpu, gpu1})).front().comm_args;
  };
  const std::vector<std::vector<int64_t>> far = {{0, kMost, kMost - 1}};
  CHECK_FALSE(rows_of("all-reduce", false, far, {}, {0, 1})[0].group_ranks.known());
  CHECK_FALSE(rows_of("all-gather", false, far, {}, {0, 1})[0].group_ranks.known());
  CHECK_FALSE(rows_of("all-to-all", false, far, {}, {0, 1})[0].group_ranks.known());
  CHECK_FALSE(rows_of("collective-permute", false, {}, {{0, kMost}, {kMost, 0}}, {0, 1})[0].group_ranks.known());
  CHECK_FALSE(rows_of("all-reduce", true, far, {}, {0, kMost})[0].group_ranks.known());
}

TEST_CASE("a program that is damaged costs its groups, not its rows") {
  MadePlane metadata("/host:metadata"), gpu("/device:GPU:0");
  const std::string hlo = test::hlo_of("jit_step", {{{"sum.1", "all-reduce", {64}, 1, true, {{0, 1}}, {}, 0}}}, {0, 1});
  metadata.program(7, "jit_step", hlo.substr(0, hlo.size() / 2));
  gpu.line(1, "Stream #1(Compute)", 0,
           {{"ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)",
             1000,
             1000,
             {{"hlo_op", test::Ref{"sum.1"}}, {"program_id", int64_t{7}}},
             {}}});
  const FileContent content = std::move(test::read_profile(test::profile_of({metadata, gpu})).front());
  CHECK(content.gpu.size() == 1);
  CHECK(content.gpu[0].work == GpuWork::communication);
}

TEST_CASE("a profile without devices is no rank's, and an empty file is said to be empty") {
  CHECK(test::read_profile(test::profile_of({MadePlane("/host:CPU")})).front().kind == ContentKind::front_end);
  CHECK(test::read_profile("").front().kind == ContentKind::empty);
}

TEST_CASE("a profile is known by its first bytes, whatever it is called, and also compressed") {
  const FileContent content = read_any(two_devices());
  CHECK(content.format == "jax xplane");
}
