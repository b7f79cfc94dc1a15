#include "collectives/matcher/group_proof.h"

#include <catch2/catch.hpp>
#include <random>

using namespace skewscope;

namespace {

// Calls of members that arrive up to `jitter_us` apart, each member `late_us` later besides; each group leaves 100 us
// after its last, its members within 2 us of each other. Clocks are known up to a constant only.
struct Program {
  std::vector<std::vector<size_t>> groups;
  std::vector<double> late_us, clock_us, transfer_us;  // per member, per member, per group
  double jitter_us = 40;
  size_t count = 60;

  std::vector<JointCall> calls(unsigned seed = 1) const {
    std::mt19937 random(seed);
    const auto uniform = [&] { return static_cast<double>(random() % 1'000'000) / 1e6; };
    std::vector<JointCall> all(count);
    double now = 0;
    for (JointCall& call : all) {
      now += 5000 + 1000 * uniform();
      call.start_ns.resize(late_us.size());
      call.end_ns.resize(late_us.size());
      for (size_t g = 0; g < groups.size(); ++g) {
        std::vector<double> start;
        for (const size_t m : groups[g]) start.push_back(now + late_us[m] + jitter_us * uniform());
        const double leave = *std::max_element(start.begin(), start.end()) + transfer_us[g];
        for (size_t k = 0; k < groups[g].size(); ++k) {
          const size_t m = groups[g][k];
          call.start_ns[m] = std::llround(1000 * (start[k] + clock_us[m]));
          call.end_ns[m] = std::llround(1000 * (leave + 2 * uniform() + clock_us[m]));
        }
      }
    }
    return all;
  }
};

}  // namespace

TEST_CASE("members that hold each other up are one group") {
  const Program one{{{0, 1, 2, 3}}, {0, 0, 0, 0}, {0, 0, 0, 0}, {100}};
  CHECK(bond_of(one.calls()) == Bond::together);
}

TEST_CASE("groups side by side do not hold each other up") {
  const Program two{{{0, 1}, {2, 3}}, {0, 0, 0, 0}, {0, 0, 0, 0}, {100, 100}};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    CHECK(bond_of(two.calls(seed)) == Bond::apart);
  }
}

TEST_CASE("a rank that is always late by the same time, and a group whose links are slower, prove nothing") {
  // The clocks, known from ends, have taken up what is constant: all groups seem to leave together.
  const Program two{{{0, 1, 2}, {3, 4, 5}}, {0, 0, 0, 0, 0, 300}, {0, 0, 0, -200, -200, -200}, {200, 100}, 30};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    CHECK(bond_of(two.calls(seed)) != Bond::together);
  }
}

TEST_CASE("members that arrive together leave open who waits for whom") {
  Program one{{{0, 1, 2, 3}}, {0, 0, 0, 0}, {0, 0, 0, 0}, {100}};
  one.jitter_us = 1;
  CHECK(bond_of(one.calls()) == Bond::undecided);
  one.jitter_us = 40;
  one.count = 4;
  CHECK(bond_of(one.calls()) == Bond::undecided);
  CHECK(bond_of({}) == Bond::undecided);
}

TEST_CASE("a call or two that end together by chance make no group") {
  // One half comes 2 ms later once or twice, when the other happens to take 2 ms longer: a slope, but of these alone.
  const Program two{{{0, 1}, {2, 3}}, {0, 0, 0, 0}, {0, 0, 0, 0}, {100, 100}, 3};
  std::vector<JointCall> calls = two.calls();
  for (const size_t k : {20U, 40U}) {
    for (const size_t m : {0U, 1U}) calls[k].start_ns[m] += 2'000'000;
    for (int64_t& end : calls[k].end_ns) end += 2'000'000;
  }
  CHECK(bond_of(calls) != Bond::together);
}

TEST_CASE("what the ends of given blocks follow is asked of all pairs of blocks at once") {
  const std::vector<double> none(6, 0);
  const Program three{{{0, 1}, {2, 3}, {4, 5}}, none, none, {100, 100, 100}};
  CHECK(bond_between(three.calls(), three.groups) == Bond::apart);
  const Program one{{{0, 1, 2, 3, 4, 5}}, none, none, {100}};
  CHECK(bond_between(one.calls(), three.groups) == Bond::together);
}
