#include "collectives/matcher/group_blocks.h"

#include <catch2/catch.hpp>
#include <random>

using namespace skewscope;

namespace {

// Calls of groups that the same step holds in line: their last members arrive within `in_line_us` of each other, and
// each leaves its group within `jitter_us` of the others.
struct Step {
  Blocks groups;
  double in_line_us = 2, jitter_us = 1;
  size_t calls = 30;
  int64_t clock_us = 0;  // of member 0

  std::vector<JointCall> joint(unsigned seed) const {
    std::mt19937 random(seed);
    const auto uniform = [&](double most) { return most * static_cast<double>(random() % 1'000'000) / 1e6; };
    const size_t members = groups.size() * groups.front().size();
    std::vector<JointCall> all(calls);
    double now = 0;
    for (JointCall& call : all) {
      now += 400 + uniform(40);
      call.start_ns.resize(members);
      call.end_ns.resize(members);
      for (const std::vector<size_t>& group : groups) {
        const double last = now + uniform(in_line_us);
        for (const size_t m : group) {
          const double clock = m == 0 ? static_cast<double>(clock_us) : 0;
          const bool is_last = m == group.front();
          call.start_ns[m] = std::llround(1000 * (last + clock - (is_last ? 0 : uniform(50))));
          call.end_ns[m] = std::llround(1000 * (last + clock + 20 + uniform(jitter_us)));
        }
      }
    }
    return all;
  }
};

const Blocks kAll = {{0, 1, 2, 3, 4, 5, 6, 7}}, kEvenAndOdd = {{0, 2, 4, 6}, {1, 3, 5, 7}},
             kPairs = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};

}  // namespace

TEST_CASE("groups whose ends lie within two microseconds of each other are told apart by pairs of ends") {
  for (const Step& step : {Step{kEvenAndOdd, 2, 1}, Step{kPairs, 2, 0.5}}) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
      CAPTURE(seed);
      CHECK(blocks_of(step.joint(seed)) == step.groups);
    }
  }
}

TEST_CASE("members of one group fall into no blocks, whatever their clocks") {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    Step step{kAll};
    step.clock_us = 70'000;
    CHECK(blocks_of(step.joint(seed)) == kAll);
  }
}

TEST_CASE("where jitter hides the border nothing is told, unless the size is: then those of that size, or none") {
  Step step{kEvenAndOdd};
  step.jitter_us = 4;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const Blocks of_four = blocks_of(step.joint(seed), 4);
    CHECK((of_four.empty() || of_four == kEvenAndOdd));
  }
}

TEST_CASE("likely blocks are confirmed by fewer calls, and refuted where arrivals had to show") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Step few{kEvenAndOdd};
    few.calls = 12;
    CHECK(division_of(few.joint(seed), kEvenAndOdd) == Division::blocks);
    CHECK(division_of(few.joint(seed), {{0, 1, 4, 5}, {2, 3, 6, 7}}) != Division::blocks);
    CHECK(division_of(Step{kAll}.joint(seed), kEvenAndOdd) == Division::one_group);
  }
}

TEST_CASE("likely blocks that arrive together are neither confirmed nor refuted") {
  Step together{kEvenAndOdd};
  together.in_line_us = 0.01;
  int decided = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    decided += division_of(together.joint(seed), kEvenAndOdd) == Division::undecided ? 0 : 1;
  }
  CHECK(decided == 0);
}

TEST_CASE("halves of one group that were counted from different calls on may be shifted; groups in line are not") {
  const std::vector<JointCall> calls = Step{kAll}.joint(1);
  std::vector<JointCall> shifted(calls.begin(), calls.end() - 1);
  for (size_t k = 0; k < shifted.size(); ++k) {
    for (const size_t m : kEvenAndOdd[1]) {
      shifted[k].start_ns[m] = calls[k + 1].start_ns[m];
      shifted[k].end_ns[m] = calls[k + 1].end_ns[m];
    }
  }
  CHECK(may_be_shifted(shifted, kEvenAndOdd));
  CHECK_FALSE(may_be_shifted(Step{kEvenAndOdd}.joint(1), kEvenAndOdd));
}
