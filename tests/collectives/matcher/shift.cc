#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "collectives/matcher/matcher.h"

using namespace skewscope;

namespace {

constexpr uint64_t kSignatures = 4;
const MemberHints kOneHost = {{}, {0, 0}};
const MemberHints kAlone = {{}, {}, false, true};

// A training or decoding loop: what a step does, and when. The same for all its members.
struct Loop {
  int steps = 1, calls = 12;  // calls of a step
  double spacing_us = 500;    // least; up to `uneven` times it, differing within the step, alike in all steps
  double uneven = 3;
  double noise_us = 8;       // of each step, up to
  double pause_us = 10'000;  // between steps
  uint64_t signatures = kSignatures;
};

// Which steps a member recorded, by what number it calls the first, and how its clock and ends are off.
struct Recording {
  int first = 0, last = 0;
  int64_t number = 0;
  double clock_us = 0, jitter_us = 0.8;
};

MemberCalls recorded(const Loop& loop, const Recording& recording) {
  std::mt19937 pattern(3), noise(5), jitter(static_cast<unsigned>(std::lround(recording.clock_us)) + 7);
  const auto uniform = [](std::mt19937& random, double most) {
    return most * static_cast<double>(random() % 1'000'000) / 1e6;
  };
  std::vector<double> spacing;
  for (int c = 0; c < loop.calls; ++c) {
    spacing.push_back(loop.spacing_us * (1 + uniform(pattern, loop.uneven - 1)));
  }
  MemberCalls calls;
  double now = 1000;
  for (int step = 0; step < loop.steps; ++step, now += loop.pause_us) {
    for (int c = 0; c < loop.calls; ++c) {
      now += spacing[static_cast<size_t>(c)] + uniform(noise, loop.noise_us);
      if (step < recording.first || step > recording.last) continue;
      MatchCall call;
      call.end_ns = std::llround(1000 * (now + recording.clock_us + uniform(jitter, recording.jitter_us)));
      call.start_ns = call.end_ns - 10'000;
      call.signature = 1 + static_cast<uint64_t>(c) % loop.signatures;
      call.step = recording.number < 0 ? -1 : recording.number + step - recording.first;
      calls.push_back(call);
    }
  }
  return calls;
}

// Instances that hold both members' calls; every one of them must be of calls `ahead` apart.
size_t pairs(const MatchOutcome& outcome, int32_t ahead) {
  size_t count = 0;
  for (size_t p = 1; p < outcome.parts.size(); ++p) {
    const MatchOutcome::Part &a = outcome.parts[p - 1], &b = outcome.parts[p];
    if (a.instance != b.instance) continue;
    ++count;
    CHECK(a.call - b.call == ahead);
  }
  return count;
}

MatchOutcome match(const MemberCalls& a, const MemberCalls& b, const MemberHints& hints = {}) {
  return match_members({a, b}, Membership::known, hints);
}

}  // namespace

TEST_CASE("members that recorded different steps share no call, however alike the steps are") {
  for (const double pause_us : {10'000.0, 1'500'000.0}) {
    Loop loop;
    loop.steps = 2;
    loop.pause_us = pause_us;
    const MatchOutcome outcome = match(recorded(loop, {0, 0, 11}), recorded(loop, {1, 1, 12}));
    CHECK(outcome.method.empty());
    REQUIRE(outcome.left.size() == 24);
    for (const auto& left : outcome.left) CHECK(left.reason == UnmatchedReason::ambiguous);
    // Without numbers, the clock of the host that both name says as much.
    CHECK(match(recorded(loop, {0, 0, -1}), recorded(loop, {1, 1, -1}), kOneHost).method.empty());
  }
}

TEST_CASE("steps that both recorded are matched where one began a step earlier") {
  Loop loop;
  loop.steps = 4;
  for (const MemberHints& hints : {MemberHints(), kOneHost}) {
    CHECK(pairs(match(recorded(loop, {0, 2, 10}), recorded(loop, {1, 3, 11}), hints), 12) == 24);
  }
}

TEST_CASE("where one host's clock and step numbers disagree in a periodic job, the clock is right") {
  Loop loop;
  loop.steps = 8;
  loop.calls = 3;
  loop.uneven = 1;
  loop.noise_us = 2;
  loop.pause_us = 100;
  loop.signatures = 1;
  CHECK(pairs(match(recorded(loop, {0, 7, 0}), recorded(loop, {0, 7, 1}), kOneHost), 0) == 24);
}

TEST_CASE("a rank that numbers its steps otherwise is told by clocks that agree, where calls lie far apart") {
  Loop loop;
  loop.steps = 8;
  loop.calls = 3;
  loop.spacing_us = 5'000;
  loop.pause_us = 20'000;
  loop.uneven = 1;
  loop.noise_us = 2;
  CHECK(pairs(match(recorded(loop, {0, 7, 0}), recorded(loop, {0, 7, 1, 8})), 0) == 24);
  // Clocks that are apart tell nothing: then equal numbers are equal steps.
  CHECK(pairs(match(recorded(loop, {0, 7, 0}), recorded(loop, {0, 7, 0, 60'000})), 0) == 24);
}

TEST_CASE("two machines of one name are told apart by calls that did not meet on one clock") {
  Loop loop;
  loop.steps = 8;
  loop.noise_us = 300;
  for (const int64_t number : {-1, 100}) {
    const MatchOutcome outcome =
        match(recorded(loop, {0, 7, number}), recorded(loop, {0, 7, number, 40'000}), kOneHost);
    CHECK(pairs(outcome, 0) == 96);
  }
}

TEST_CASE("a decoding loop's calls, alike to microseconds, are told by ends that agree better still") {
  Loop loop;
  loop.steps = 8;
  loop.calls = 48;
  loop.spacing_us = 55;
  loop.uneven = 1;
  loop.noise_us = 4;
  loop.pause_us = 250;
  loop.signatures = 1;
  for (const MemberHints& hints : {MemberHints(), kOneHost}) {
    CHECK(pairs(match(recorded(loop, {0, 7, -1}), recorded(loop, {0, 7, -1}), hints), 0) == 384);
  }
}

TEST_CASE("evenly spaced calls whose ends scatter are joined by their places in the step") {
  Loop loop;
  loop.steps = 3;
  loop.calls = 40;
  loop.spacing_us = 150;
  loop.uneven = 1;
  loop.noise_us = 0;
  loop.pause_us = 600;
  loop.signatures = 1;
  MemberCalls one_lost = recorded(loop, {0, 2, 7, 300, 12});
  one_lost.pop_back();
  CHECK(pairs(match(recorded(loop, {0, 2, 7, 0, 12}), one_lost), 0) == 119);
  // A clock off by two calls, and no steps: nothing tells which call is which.
  CHECK(match(recorded(loop, {0, 2, -1, 0, 12}), recorded(loop, {0, 2, -1, 300, 12})).method.empty());
}

TEST_CASE("which of evenly spaced calls are one, clocks tell that are known better than the spacing") {
  Loop loop;
  loop.steps = 20;
  loop.calls = 48;
  loop.spacing_us = 50;
  loop.pause_us = 0;
  loop.uneven = 1;
  loop.noise_us = 0;
  loop.signatures = 1;
  const MemberCalls hub = recorded(loop, {0, 19, -1}), member = recorded(loop, {0, 19, -1, 300'000});
  const auto with_clocks_known_to = [&](int64_t error_ns) {
    return match(hub, member, {{Prior{0, error_ns}, Prior{-300'000'000, error_ns}}, {}});
  };
  CHECK(with_clocks_known_to(500'000).method.empty());
  CHECK(with_clocks_known_to(10'000).method.empty());  // each of the two: a neighbour may be the right one
  CHECK(pairs(with_clocks_known_to(1'000), 0) == 960);
}

TEST_CASE("captures taken ten seconds apart share no call, though each counts its steps from 0") {
  Loop loop;
  loop.steps = 10;
  loop.calls = 4;
  loop.spacing_us = 2'500;
  loop.uneven = 1;
  loop.noise_us = 3;
  loop.signatures = 1;
  loop.pause_us = 2'500;
  const MemberCalls first = recorded(loop, {0, 9, 0, 0, 5}), second = recorded(loop, {0, 9, 0, 10'000'000, 5});
  CHECK(match(first, second).method.empty());
  CHECK(match(first, second, kOneHost).method.empty());
  // Half a second may be what their clocks err.
  CHECK(pairs(match(first, recorded(loop, {0, 9, 0, 500'000, 5})), 0) == 40);
}

TEST_CASE("close ends of calls that do not leave together prove no group") {
  Loop loop;
  loop.steps = 8;
  std::vector<MemberCalls> members(4, recorded(loop, {0, 7, -1}));
  CHECK_FALSE(match_members(members, Membership::inferred_of_all_ranks, kAlone).method.empty());
  // Nor do close ends, where something else may hold groups in line.
  CHECK(match_members(members, Membership::inferred_of_all_ranks, {}).method.empty());
  for (MemberCalls& member : members) {
    for (MatchCall& call : member) call.ends_together = false;
  }
  CHECK(match_members(members, Membership::inferred_of_all_ranks, kAlone).method.empty());
}
