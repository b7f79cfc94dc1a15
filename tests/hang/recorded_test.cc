// Dumps of jobs that really hung, with known faults: tests/data/hangs, and two of others that are no part of the
// tree.
#include <catch2/catch.hpp>

#include "../real_trace_folder.h"
#include "dumps.h"

using namespace skewscope;        // NOLINT
using namespace skewscope::test;  // NOLINT

namespace {

HangReport of_recording(const std::string& name) {
  return find_hang(dumps_in(SKEWSCOPE_SOURCE_DIR "/tests/data/hangs/" + name));
}

bool first_is(const HangReport& report, int32_t rank, CulpritKind kind) {
  return !report.culprits.empty() && report.culprits.front().rank == rank && report.culprits.front().kind == kind;
}

// Each fault rank is named, or said to have left no dump where that was taken away; no other is named for certain.
bool holds_without(const std::vector<FlightDump>& dumps, const std::set<int32_t>& faults,
                   const std::set<int32_t>& removed) {
  const HangReport report = find_hang(without(dumps, removed));
  for (const int32_t fault : faults) {
    const bool found = named(report, fault) != nullptr || (removed.count(fault) != 0 && says_missing(report, fault));
    if (!found) return false;
  }
  for (const Culprit& culprit : report.culprits) {
    if (culprit.certainty == Certainty::certain && faults.count(culprit.rank) == 0) return false;
  }
  return true;
}

void check_removals(const std::string& set, const std::set<int32_t>& faults) {
  const std::string folder = formats("flight_recorder/" + set);
  if (folder.empty()) return;
  const std::vector<FlightDump> dumps = dumps_in(folder);
  REQUIRE(dumps.size() == 16);
  const HangReport whole = find_hang(dumps);
  CHECK(sure_ranks(whole) == std::vector<int32_t>(faults.begin(), faults.end()));
  CHECK(whole.culprits.size() == 2);
  CHECK(whole.waiting_ranks.size() == 14);
  int failed = 0;
  for (int32_t a = 0; a < 16; ++a) {
    for (int32_t b = a; b < 16; ++b) {
      for (int32_t c = b; c < 16; ++c) {
        if (holds_without(dumps, faults, {a, b, c})) continue;
        ++failed;
        UNSCOPED_INFO("without " << a << ", " << b << ", " << c);
      }
    }
  }
  CHECK(failed == 0);
}

}  // namespace

TEST_CASE("a rank that left out a call is named, and the others wait for it") {
  const HangReport report = of_recording("missing_rank");
  CHECK(first_is(report, 2, CulpritKind::missing));
  CHECK(report.culprits.front().certainty == Certainty::certain);
  CHECK(report.waiting_ranks == std::vector<int32_t>{0, 1, 3});
}

TEST_CASE("a host that sleeps ahead of its call is named, with where it was last") {
  const HangReport report = of_recording("stuck_host");
  REQUIRE(first_is(report, 2, CulpritKind::missing));
  CHECK(report.culprits.front().collective_seq == 6);
  CHECK(report.culprits.front().operation == "all_reduce");
  CHECK(report.culprits.front().last_action.find("all_reduce 5 of group 2") == 0);
  CHECK(report.culprits.front().stack.back() == "record_hangs.py:110 in <module>");
}

TEST_CASE("a rank that called another operation is named, with both stacks") {
  const HangReport report = of_recording("other_operation");
  REQUIRE(first_is(report, 2, CulpritKind::mismatch));
  const Culprit& culprit = report.culprits.front();
  CHECK(culprit.certainty == Certainty::certain);
  CHECK(culprit.reason.find("it entered broadcast, 3 ranks entered all_reduce") != std::string::npos);
  CHECK(culprit.stack.front().find("in broadcast") != std::string::npos);
  CHECK(culprit.other_stack.front().find("in all_reduce") != std::string::npos);
}

TEST_CASE("a shorter tensor is named though every call is completed") {
  const HangReport report = of_recording("other_size");
  CHECK(first_is(report, 2, CulpritKind::mismatch));
  CHECK_FALSE(report.stalled);
}

TEST_CASE("a rank that called two groups the other way round is named") {
  CHECK(first_is(of_recording("other_order"), 2, CulpritKind::mismatch));
}

TEST_CASE("a rank that does not receive is named, and nobody for certain: first sends are not recorded") {
  const HangReport report = of_recording("no_receive");
  CHECK(named(report, 2) != nullptr);
  for (const Culprit& culprit : report.culprits) CHECK(culprit.certainty != Certainty::certain);
}

TEST_CASE("dumps of jobs that ended name nobody") {
  for (const std::string name : {"dependent_launch", "fsdp2_recorder", "experts_recorder", "pipeline_one_step"}) {
    const std::vector<FlightDump> dumps = dumps_in(SKEWSCOPE_SOURCE_DIR "/tests/data/real/" + name);
    REQUIRE(dumps.size() == 4);
    const HangReport report = find_hang(dumps);
    CHECK(report.culprits.empty());
    CHECK_FALSE(report.stalled);
  }
}

TEST_CASE("two GPUs with errors are named, whichever three dumps are lost") {
  check_removals("gpu_error_1st", {12, 14});
}

TEST_CASE("two hosts that hold Python's lock are named, whichever three dumps are lost") {
  check_removals("lock_gil_2nd", {10, 15});
}
