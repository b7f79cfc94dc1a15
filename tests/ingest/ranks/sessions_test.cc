#include <catch2/catch.hpp>

#include "src/ingest/ranks/sessions.h"
#include "tests/ingest/content_builder.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

Capture capture(const std::string& file, int32_t rank, int64_t start_us, int64_t end_us, int64_t calls = 10) {
  return {file, Rank(rank), "", -1, at_us(start_us), at_us(end_us), calls};
}

std::vector<int32_t> sessions_of(const std::vector<Capture>& captures) {
  std::vector<int32_t> ids;
  for (const SessionId id : assign_sessions(captures).of_capture) ids.push_back(id.value);
  return ids;
}

}  // namespace

TEST_CASE("one capture of each rank is one session") {
  CHECK(sessions_of({capture("a", 0, 0, 100), capture("b", 1, 10, 110)}) == std::vector<int32_t>{0, 0});
}

TEST_CASE("one capture of each rank is one session even if clocks put them apart") {
  CHECK(sessions_of({capture("a", 0, 0, 100), capture("b", 1, 5'000'000, 5'000'100)}) == std::vector<int32_t>{0, 0});
}

TEST_CASE("captures that follow each other belong to those of other ranks at the same time") {
  // Rank 1 lost its first capture: its only one belongs to the second session.
  CHECK(sessions_of({capture("a1", 0, 0, 100), capture("a2", 0, 1000, 1100), capture("b2", 1, 1005, 1105)}) ==
        std::vector<int32_t>{0, 1, 1});
}

TEST_CASE("where clocks differ by more than a window, captures belong together in order") {
  CHECK(sessions_of({capture("a1", 0, 0, 100), capture("a2", 0, 1000, 1100), capture("b1", 1, 500, 600),
                     capture("b2", 1, 1500, 1600)}) == std::vector<int32_t>{0, 1, 0, 1});
}

TEST_CASE("where windows of neighbouring captures chain, order decides") {
  CHECK(sessions_of({capture("a1", 0, 0, 100), capture("a2", 0, 100, 200), capture("b1", 1, 20, 120),
                     capture("b2", 1, 120, 220)}) == std::vector<int32_t>{0, 1, 0, 1});
}

TEST_CASE("iteration folders decide before time does, and number the sessions") {
  std::vector<Capture> captures = {capture("iteration_100/rank0", 0, 5000, 5100),
                                   capture("iteration_20/rank0", 0, 0, 100),
                                   capture("iteration_20/rank1", 1, 5000, 5100)};
  captures[0].label = "iteration 100";
  captures[0].number = 100;
  captures[1].label = captures[2].label = "iteration 20";
  captures[1].number = captures[2].number = 20;
  CHECK(sessions_of(captures) == std::vector<int32_t>{1, 0, 0});
}

TEST_CASE("two traces of one rank over the same time are duplicates: the one with more calls stays") {
  const AssignedSessions sessions =
      assign_sessions({capture("a", 0, 0, 100, 3), capture("b", 0, 50, 150, 7), capture("c", 1, 0, 100)});
  CHECK_FALSE(sessions.of_capture[0].known());
  CHECK(sessions.of_capture[1] == SessionId(0));
  CHECK(sessions.of_capture[2] == SessionId(0));
  CHECK(sessions.sessions == 1);
  REQUIRE(sessions.findings.size() == 1);
  CHECK(sessions.findings[0].code.text() == "duplicate-rank");
  CHECK(sessions.findings[0].file == "a");
  CHECK(sessions.findings[0].message.ends_with(": b"));
}

TEST_CASE("of duplicates with equally many calls the first name stays") {
  const AssignedSessions sessions = assign_sessions({capture("a", 0, 0, 100), capture("b", 0, 0, 100)});
  CHECK(sessions.of_capture[0] == SessionId(0));
  CHECK_FALSE(sessions.of_capture[1].known());
}

TEST_CASE("a capture minutes away from the others of its session may be of another run") {
  const int64_t hour_us = 3'600'000'000;
  const AssignedSessions sessions =
      assign_sessions({capture("a", 0, 0, 100), capture("b", 1, 50, 150), capture("c", 2, hour_us, hour_us + 100)});
  CHECK(sessions.sessions == 1);
  REQUIRE(sessions.findings.size() == 1);
  CHECK(sessions.findings[0].code.text() == "capture-apart");
  CHECK(sessions.findings[0].file == "c");
  CHECK(assign_sessions({capture("a", 0, 0, 100), capture("b", 1, 5'000'000, 5'000'100)}).findings.empty());
}
