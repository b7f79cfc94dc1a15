// Slices on sibling tracks, who released whom, and which windows an excerpt shows.
#include <catch2/catch.hpp>

#include "src/merge/lanes.h"
#include "src/merge/lateness.h"
#include "tests/job_builder.h"

using namespace skewscope;
using namespace skewscope::merge;

namespace {

// An all-reduce of ranks 0, 1, 2 that start at 100, 140, 130 us and end at 150, on one clock; and 10 ms later another,
// in which rank 0 is 7 us late.
struct TwoAllReduces {
  CorrelatedJob rooms;

  TwoAllReduces() {
    JobBuilder builder{3};
    const CommunicatorId group = builder.communicator("g", {0, 1, 2});
    add(builder, group, {100, 140, 130}, 150);
    add(builder, group, {10'007, 10'000, 10'000}, 10'050);
    rooms.instances.communicators = builder.job.communicators;
    rooms.clocks.clocks.resize(3);
    rooms.decomposition.caused_ns.resize(rooms.instances.members.size());
    rooms.job = std::move(builder.job);
  }

  void add(JobBuilder& builder, CommunicatorId group, const std::vector<double>& starts_us, double end_us) {
    InstanceTable& table = rooms.instances;
    Decomposition& decomposition = rooms.decomposition;
    CollectiveInstance instance;
    instance.communicator = group;
    instance.kind = CollectiveKind::all_reduce;
    instance.first_member = static_cast<uint32_t>(table.members.size());
    instance.member_count = 3;
    table.instances.push_back(instance);
    decomposition.instances.emplace_back();
    const double last_us = *std::max_element(starts_us.begin(), starts_us.end());
    for (int32_t r = 0; r < 3; ++r) {
      const double start_us = starts_us[static_cast<size_t>(r)];
      builder.call(r, group, start_us, end_us);
      table.members.push_back({TraceIndex(r), static_cast<int32_t>(builder.trace(r).calls.size()) - 1});
      CallParts parts;
      parts.wait_ns = static_cast<int64_t>((last_us - start_us) * 1000);
      parts.transfer_ns = static_cast<int64_t>((end_us - last_us) * 1000);
      decomposition.members.push_back(parts);
    }
  }
};

}  // namespace

TEST_CASE("slices that nest share a lane, and those that overlap in part do not") {
  Lanes lanes(true);
  CHECK(lanes.lane_of({0}, {100}) == 0);
  CHECK(lanes.lane_of({10}, {40}) == 0);    // within the first
  CHECK(lanes.lane_of({30}, {50}) == 1);    // overlaps the second
  CHECK(lanes.lane_of({40}, {100}) == 0);   // the second is over, the first ends with it
  CHECK(lanes.lane_of({99}, {101}) == 1);   // outlasts the first
  CHECK(lanes.lane_of({101}, {101}) == 0);  // of no length
}

TEST_CASE("kernels of one stream never nest") {
  Lanes lanes(false);
  CHECK(lanes.lane_of({0}, {100}) == 0);
  CHECK(lanes.lane_of({10}, {40}) == 1);
  CHECK(lanes.lane_of({40}, {50}) == 1);
  CHECK(lanes.lane_of({45}, {50}) == 2);
  CHECK(lanes.lane_of({100}, {110}) == 0);
}

TEST_CASE("the last to arrive is late from the first arrival on, and releases all who waited") {
  const TwoAllReduces job;
  const Lateness lateness = find_lateness(job.rooms);
  REQUIRE(lateness.late[1].size() == 1);
  const Late& late = lateness.late[1].front();
  CHECK(late.from == JobNs{100'000});
  CHECK(late.until == JobNs{140'000});
  CHECK(late.released == std::vector<int32_t>{0, 2});
  CHECK(lateness.released_by == std::vector<int32_t>{1, -1, 1, -1, 3, 3});
  CHECK(lateness.late[0].size() == 1);
  CHECK(lateness.late[2].empty());
  CHECK(lateness.first_arrival == std::vector<JobNs>{{100'000}, {10'000'000}});
}

TEST_CASE("of a collective that is not split nobody is shown as late") {
  TwoAllReduces job;
  job.rooms.decomposition.instances[0].reason = SplitReason::causality;
  const Lateness lateness = find_lateness(job.rooms);
  CHECK(lateness.late[1].empty());
  CHECK(lateness.late[0].size() == 1);
}

TEST_CASE("an excerpt shows the worst waits first, at least a millisecond on each side") {
  const TwoAllReduces job;
  const Lateness lateness = find_lateness(job.rooms);
  const MergeOptions options;
  const Selection all(job.rooms, options);
  const std::vector<MergeWindow> one = worst_waits(job.rooms, all, lateness, 1);
  REQUIRE(one.size() == 1);
  CHECK(one.front().instance == InstanceId(0));
  CHECK(one.front().start == JobNs{100'000 - 1'000'000});
  CHECK(one.front().end == JobNs{150'000 + 1'000'000});
  CHECK(worst_waits(job.rooms, all, lateness, 5).size() == 2);
}

TEST_CASE("an excerpt of one rank is about that rank's worst waits") {
  const TwoAllReduces job;
  MergeOptions options;
  options.ranks = {1};  // which waits in the second collective only
  const std::vector<MergeWindow> one =
      worst_waits(job.rooms, Selection(job.rooms, options), find_lateness(job.rooms), 5);
  REQUIRE(one.size() == 1);
  CHECK(one.front().instance == InstanceId(1));
}

TEST_CASE("an excerpt keeps what touches a window, of the ranks that are asked for") {
  const TwoAllReduces job;
  const Lateness lateness = find_lateness(job.rooms);
  MergeOptions options;
  options.ranks = {0, 1};
  Selection selection(job.rooms, options);
  selection.keep_to(worst_waits(job.rooms, selection, lateness, 1));
  CHECK(selection.has_call({TraceIndex(0), 0}));
  CHECK_FALSE(selection.has_call({TraceIndex(0), 1}));
  CHECK_FALSE(selection.has_call({TraceIndex(2), 0}));
  CHECK(selection.has(TraceIndex(0), {{1'150'000}, {2'000'000}}));
  CHECK_FALSE(selection.has(TraceIndex(0), {{1'150'001}, {2'000'000}}));
}

TEST_CASE("an excerpt of a finding keeps rows of its ranks only, and those of overlapping findings once") {
  const TwoAllReduces job;
  const MergeOptions options;
  const auto finding = [](int64_t from, int64_t to, std::vector<int32_t> ranks) {
    MergeWindow window;
    window.from = JobNs{from};
    window.to = JobNs{to};
    window.ranks = std::move(ranks);
    return with_margin(window);
  };
  Selection selection(job.rooms, options);
  selection.keep_to({finding(9'000'000, 12'000'000, {1}), finding(10'000'000, 10'050'000, {1, 2})});
  CHECK_FALSE(selection.has(TraceIndex(0), {{10'000'000}, {10'000'001}}));
  CHECK(selection.has(TraceIndex(1), {{13'500'000}, {14'000'000}}));  // half of three milliseconds after
  CHECK_FALSE(selection.has(TraceIndex(1), {{13'500'001}, {14'000'000}}));
  CHECK(selection.has(TraceIndex(2), {{11'050'000}, {12'000'000}}));
  CHECK_FALSE(selection.has(TraceIndex(2), {{11'050'001}, {12'000'000}}));
}
