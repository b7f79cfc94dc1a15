#include "collectives/matcher/matcher.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "tests/cpu_time.h"

using namespace skewscope;

namespace {

constexpr uint64_t kSmall = 1, kLarge = 2;  // signatures

MatchCall ending(double end_us, uint64_t signature, int64_t seq = -1) {
  MatchCall c;
  c.end_ns = static_cast<int64_t>(end_us * 1000);
  c.start_ns = c.end_ns - 20'000;
  c.signature = signature;
  c.seq = seq;
  return c;
}

// `n` collectives at irregular times, alternating two signatures; seeds differ between jobs, not between members.
MemberCalls job_of(size_t n, unsigned seed, double offset_us = 0, double drift_ppm = 0) {
  std::mt19937 random(seed);
  MemberCalls calls;
  double t = 1000;
  for (size_t i = 0; i < n; ++i) {
    t += 800 + static_cast<double>(random() % 4000);
    MatchCall c = ending(t + offset_us + t * drift_ppm * 1e-6, i % 3 == 0 ? kLarge : kSmall);
    c.comms_id = 0;
    calls.push_back(c);
  }
  return calls;
}

// (instance -> member -> call), to compare by eye.
std::vector<std::map<int32_t, int32_t>> rows_of(const MatchOutcome& outcome) {
  std::vector<std::map<int32_t, int32_t>> rows(outcome.method.size());
  for (const auto& p : outcome.parts) rows[static_cast<size_t>(p.instance)][p.member] = p.call;
  return rows;
}

}  // namespace

TEST_CASE("calls of equal Seq are one collective, whatever the clocks") {
  const std::vector<MemberCalls> members = {
      {ending(100, kSmall, 7), ending(200, kLarge, 8)},
      {ending(90'000'200, kLarge, 8), ending(90'000'300, kSmall, 9)},
  };
  const MatchOutcome outcome = match_members(members, Membership::known, {});
  REQUIRE(outcome.method == std::vector<MatchMethod>{MatchMethod::seq});
  REQUIRE(rows_of(outcome)[0] == std::map<int32_t, int32_t>{{0, 1}, {1, 0}});
  REQUIRE(outcome.left.size() == 2);
}

TEST_CASE("groups that nobody names count alike: Seq joins none of them, Comms Id each") {
  std::vector<MemberCalls> members = {job_of(60, 5), job_of(60, 6), job_of(60, 6), job_of(60, 5)};
  const auto one_group = [](const std::map<int32_t, int32_t>& row) {
    return row == std::map<int32_t, int32_t>{{0, row.begin()->second}, {3, row.begin()->second}} ||
           row == std::map<int32_t, int32_t>{{1, row.begin()->second}, {2, row.begin()->second}};
  };
  for (MemberCalls& m : members) {
    for (size_t i = 0; i < m.size(); ++i) m[i].seq = static_cast<int64_t>(i);
  }
  for (const auto& row : rows_of(match_members(members, Membership::inferred, {}))) REQUIRE(one_group(row));
  for (size_t m = 0; m < members.size(); ++m) {
    for (size_t i = 0; i < 60; ++i)
      members[m][i].comms_id = (m == 1 || m == 2 ? 1'000 : 2'000) + static_cast<int64_t>(i);
  }
  const MatchOutcome outcome = match_members(members, Membership::inferred, {});
  REQUIRE(outcome.method.size() == 120);
  for (const auto& row : rows_of(outcome)) REQUIRE(one_group(row));
  CHECK(outcome.cluster[0] == outcome.cluster[3]);
  CHECK(outcome.cluster[1] == outcome.cluster[2]);
  CHECK(outcome.cluster[0] != outcome.cluster[1]);
}

TEST_CASE("a Seq whose calls do not leave at one instant is not believed") {
  // A per-process counter that advances twice per call on one member: equal numbers meet by chance.
  std::vector<MemberCalls> members = {job_of(60, 5), job_of(60, 5, 300'000)};
  for (size_t i = 0; i < 60; ++i) {
    members[0][i].seq = static_cast<int64_t>(i);
    members[1][i].seq = static_cast<int64_t>(2 * i);
  }
  const MatchOutcome outcome = match_members(members, Membership::known, {});
  REQUIRE(outcome.method.size() == 60);
  for (const MatchMethod by : outcome.method) REQUIRE(by == MatchMethod::fingerprint);
  for (const auto& row : rows_of(outcome)) REQUIRE(row.at(0) == row.at(1));
}

TEST_CASE("without numbers, intervals between ends find the shift over offset, drift and missing calls") {
  std::vector<MemberCalls> members = {job_of(400, 11), job_of(400, 11, 50'000, 20), job_of(400, 11, -48'000, -15)};
  // Member 1 starts 37 calls later, member 2 lost every 50th call.
  members[1].erase(members[1].begin(), members[1].begin() + 37);
  for (size_t i = 350; i > 0; i -= 50) members[2].erase(members[2].begin() + static_cast<int64_t>(i));
  const MatchOutcome outcome = match_members(members, Membership::known, {});
  size_t pairs = 0;
  for (const auto& row : rows_of(outcome)) {
    if (row.count(0) == 0 || row.count(1) == 0) continue;
    ++pairs;
    REQUIRE(row.at(0) == row.at(1) + 37);
  }
  REQUIRE(pairs == 363);
  REQUIRE(outcome.method.size() == 400);  // members 0 and 2 share what member 1 did not record
  REQUIRE(outcome.left.empty());
}

TEST_CASE("a perfectly periodic job is refused rather than guessed") {
  std::vector<MemberCalls> members(2);
  for (int i = 0; i < 50; ++i) {
    members[0].push_back(ending(10'000.0 * i, kSmall));
    members[1].push_back(ending(10'000.0 * i + 1'234'567, kSmall));
  }
  const MatchOutcome outcome = match_members(members, Membership::known, {});
  REQUIRE(outcome.method.empty());
  REQUIRE(outcome.left.size() == 100);
  for (const auto& left : outcome.left) REQUIRE(left.reason == UnmatchedReason::ambiguous);
}

TEST_CASE("members that nothing ties are refused in time that grows with their number alone") {
  const auto seconds_to_match = [](int count) {
    std::vector<MemberCalls> members;  // each of a job of its own, hours apart
    for (int m = 0; m < count; ++m) members.push_back(job_of(2, static_cast<unsigned>(m), 1e10 * m));
    const double begin = test::cpu_seconds();
    const MatchOutcome outcome = match_members(members, Membership::known, {});
    const double seconds = test::cpu_seconds() - begin;
    REQUIRE(outcome.parts.empty());
    REQUIRE(outcome.left.size() == 2 * members.size());
    REQUIRE(outcome.left.back().reason == UnmatchedReason::ambiguous);
    REQUIRE_FALSE(outcome.settled);
    return seconds;
  };
  const double once = std::max(seconds_to_match(500), 0.05);  // a blink may be a blink of something else
  REQUIRE(seconds_to_match(2'000) < 8 * once);                // sixteen times as long where each is laid over each
}

TEST_CASE("a periodic job on synchronised clocks is settled by the wall clock") {
  std::vector<MemberCalls> members(2);
  for (int i = 0; i < 50; ++i) {
    members[0].push_back(ending(100'000.0 * i, kSmall));
    members[1].push_back(ending(100'000.0 * i + 300, kSmall));
  }
  REQUIRE(match_members(members, Membership::known, {}).method.size() == 50);
}

TEST_CASE("step numbers settle a periodic job") {
  std::vector<MemberCalls> members(2);
  for (int i = 0; i < 50; ++i) {
    members[0].push_back(ending(10'000.0 * i, kSmall));
    members[1].push_back(ending(10'000.0 * i + 1'234'567, kSmall));
    members[0].back().step = members[1].back().step = i;
  }
  const MatchOutcome outcome = match_members(members, Membership::known, {});
  REQUIRE(outcome.method.size() == 50);
  REQUIRE(outcome.method.front() == MatchMethod::step);
  for (const auto& row : rows_of(outcome)) REQUIRE(row.at(0) == row.at(1));
}

TEST_CASE("a single shared call needs other communicators to say how far clocks are apart") {
  const std::vector<MemberCalls> members = {{ending(1'000'000, kLarge)}, {ending(5'000'100, kLarge)}};
  REQUIRE(match_members(members, Membership::known, {}).method.empty());
  REQUIRE(match_members(members, Membership::known, {{Prior{0}, Prior{-4'000'000'000}}, {}}).method.size() == 1);
}

TEST_CASE("calls that end together but could not have met are refused") {
  std::vector<MemberCalls> members = {job_of(30, 3), job_of(30, 3)};
  // One call of member 1 starts long after member 0 has left.
  members[1][12].start_ns = members[0][12].end_ns + 400'000;
  members[1][12].end_ns = members[0][12].end_ns + 450'000;
  const MatchOutcome outcome = match_members(members, Membership::known, {});
  REQUIRE(outcome.method.size() == 29);
}

TEST_CASE("members of different groups in one pool are refused, since nothing says where one group ends") {
  const std::vector<MemberCalls> members = {job_of(80, 1), job_of(80, 2), job_of(80, 1, 20'000), job_of(80, 2, -7'000)};
  REQUIRE(match_members(members, Membership::inferred, {}).method.empty());
}

TEST_CASE("a pool whose ends all agree is one group, where nothing else holds groups in line") {
  const std::vector<MemberCalls> members = {job_of(80, 1), job_of(80, 1, 5'000), job_of(80, 1, 20'000)};
  MemberHints alone;
  alone.alone = true;
  CHECK(match_members(members, Membership::inferred, alone).method.size() == 80);
  CHECK(match_members(members, Membership::inferred, {}).method.empty());
}

TEST_CASE("broadcasts are matched by order between the all-reduces around them") {
  // Every third call is a broadcast whose receiver leaves late by a varying time beyond any tolerance.
  std::vector<MemberCalls> members = {job_of(60, 9), job_of(60, 9, 3000)};
  for (size_t i = 0; i < 60; i += 3) {
    members[0][i].ends_together = members[1][i].ends_together = false;
    members[0][i].end_ns -= 390'000;
    members[0][i].start_ns -= 390'000;
    members[1][i].start_ns -= 395'000;  // the receiver was there, and left long after the root
  }
  const MatchOutcome outcome = match_members(members, Membership::known, {});
  REQUIRE(outcome.method.size() == 60);
  for (const auto& row : rows_of(outcome)) REQUIRE(row.at(0) == row.at(1));
}

TEST_CASE("groups that run the same program side by side are not taken for one") {
  // Two pairs; the second pair's ends follow the first's within 80 us: one computation's jitter, not one collective.
  std::vector<MemberCalls> members = {job_of(80, 1), job_of(80, 1), job_of(80, 1, 3'000), job_of(80, 1, 3'000)};
  std::mt19937 random(2);
  for (size_t i = 0; i < 80; ++i) {
    const auto jitter = static_cast<int64_t>(random() % 80'000);
    for (const size_t m : {2U, 3U}) {
      members[m][i].start_ns += jitter;
      members[m][i].end_ns += jitter;
    }
  }
  REQUIRE(match_members(members, Membership::inferred, {}).method.empty());
}

TEST_CASE("calls at nearly equal intervals are never joined to a neighbour's") {
  // Intervals of 50 us with a microsecond more on some: a shift by four calls looks almost as good as none.
  std::mt19937 random(1);
  std::vector<MemberCalls> members(4);
  for (int i = 0; i < 3000; ++i) {
    const double jitter = random() % 4 == 0 ? 1 : 0;
    for (MemberCalls& m : members) m.push_back(ending(50.0 * i + jitter, kSmall));
  }
  members[3].erase(members[3].begin());
  for (const auto& row : rows_of(match_members(members, Membership::known, {}))) {
    for (const auto& [member, call] : row) REQUIRE(call == row.begin()->second - (member == 3 ? 1 : 0));
  }
}

TEST_CASE("the wall clock settles nothing when several shifts fit within its error") {
  std::vector<MemberCalls> members(2);
  for (int i = 0; i < 200; ++i) {
    members[0].push_back(ending(500.0 * i, kSmall));
    members[1].push_back(ending(500.0 * i + 20, kSmall));
  }
  REQUIRE(match_members(members, Membership::known, {}).method.empty());
}

TEST_CASE("a send and a receive that were never under way together are no pair") {
  std::vector<MemberCalls> members = {job_of(40, 6), job_of(40, 6)};
  for (MemberCalls& m : members) {
    for (MatchCall& c : m) c.ends_together = false;
  }
  // Member 0 lost call 20, member 1 lost call 21: order would join 21 with 20.
  members[0].erase(members[0].begin() + 20);
  members[1].erase(members[1].begin() + 21);
  const MatchOutcome outcome = match_members(members, Membership::known, {});
  REQUIRE(outcome.method.size() == 38);
  REQUIRE(outcome.left.size() == 2);
}

namespace {

// gloo: calls of `groups`, four in each of five steps; members arrive up to 100 ms apart and leave within 2 ms of each
// other, too far apart for intervals between ends to tell a shift. Clocks start anywhere.
std::vector<MemberCalls> gloo_job(const std::vector<std::vector<size_t>>& groups, size_t members) {
  std::mt19937 random(4);
  const auto uniform = [&](double most) { return most * static_cast<double>(random() % 1'000'000) / 1e6; };
  std::vector<MemberCalls> calls(members);
  std::vector<double> now(members, 0);
  for (int k = 0; k < 20; ++k) {
    for (const std::vector<size_t>& group : groups) {
      std::map<size_t, double> start;
      double last = 0;
      for (const size_t m : group) last = std::max(last, start[m] = now[m] + uniform(100'000));
      for (const size_t m : group) {
        now[m] = last + 300 + uniform(2'000);
        MatchCall call = ending(now[m] + 1e6 * static_cast<double>(m), kSmall);
        call.start_ns = static_cast<int64_t>(1000 * (start[m] + 1e6 * static_cast<double>(m)));
        call.step = k / 4;
        calls[m].push_back(call);
      }
    }
  }
  return calls;
}

}  // namespace

TEST_CASE("where ends scatter too far for a shift, the place in the step joins what lateness proves to be one group") {
  const std::vector<MemberCalls> members = gloo_job({{0, 1, 2, 3}}, 4);
  const MatchOutcome outcome = match_members(members, Membership::inferred_of_all_ranks, {});
  CHECK(outcome.method.size() >= 15);
  for (const auto& row : rows_of(outcome)) {
    REQUIRE(row.size() == 4);
    for (const auto& [member, call] : row) REQUIRE(call == row.at(0));
  }
  // A rank that was not recorded may be the one that all wait for.
  CHECK(match_members(members, Membership::inferred, {}).method.empty());
}

TEST_CASE("equal counts in every step are no proof: groups side by side are not joined by order") {
  const std::vector<MemberCalls> members = gloo_job({{0, 1}, {2, 3}}, 4);
  CHECK(match_members(members, Membership::inferred_of_all_ranks, {}).method.empty());
}

namespace {

// Members on one clock: calls 2 ms apart that take 1 ms, over and over.
std::vector<MemberCalls> even_members(size_t count, size_t calls) {
  std::mt19937 random(4);
  std::vector<MemberCalls> members(count);
  double t = 10'000;
  for (size_t c = 0; c < calls; ++c) {
    t += 2'000 + static_cast<double>(random() % 3'000);
    for (MemberCalls& member : members) {
      MatchCall call = ending(t, kSmall);
      call.start_ns = call.end_ns - 1'000'000;
      call.kind = CollectiveKind::all_reduce;
      call.step = static_cast<int64_t>(c / 8);
      member.push_back(call);
    }
  }
  return members;
}

void end_early(MatchCall& call, int64_t us) {
  call.start_ns -= 1000 * us / 2;
  call.end_ns -= 1000 * us;
}

}  // namespace

TEST_CASE("a member whose end lies far from the others' is joined by the order of its calls") {
  std::vector<MemberCalls> members = even_members(3, 40);
  end_early(members[2][20], 600);
  end_early(members[1][0], 600);   // in front of the first whole candidate
  end_early(members[0][39], 600);  // behind the last one
  const MatchOutcome outcome = match_members(members, Membership::known, {});
  CHECK(outcome.left.empty());
  REQUIRE(outcome.method.size() == 40);
  for (const auto& row : rows_of(outcome))
    CHECK(row == std::map<int32_t, int32_t>{{0, row.at(0)}, {1, row.at(0)}, {2, row.at(0)}});
}

TEST_CASE("order joins nothing where each of two members lost a kernel between two whole rows") {
  std::vector<MemberCalls> members = even_members(3, 40);
  for (size_t c = 18; c < 24; ++c) end_early(members[2][c], 600);
  members[0].erase(members[0].begin() + 19);
  members[2].erase(members[2].begin() + 22);
  const MatchOutcome outcome = match_members(members, Membership::known, {});
  for (const auto& row : rows_of(outcome)) {
    const auto original = [](int32_t member, int32_t call) {
      return call + ((member == 0 && call >= 19) || (member == 2 && call >= 22) ? 1 : 0);
    };
    for (const auto& [member, call] : row) {
      CHECK(original(member, call) == original(row.begin()->first, row.begin()->second));
    }
  }
}

TEST_CASE("calls launched before the recording are counted back from the first whole row, by their kind") {
  std::vector<MemberCalls> members = even_members(3, 40);
  for (size_t m = 0; m < members.size(); ++m) {
    members[m].erase(members[m].begin(), members[m].begin() + static_cast<int64_t>(m));  // windows begin apart
    for (size_t c = 0; c < 5; ++c) {
      MatchCall& call = members[m][c];
      call.bare = true;
      call.signature = 99 + m;  // says nothing
      call.step = -1;
    }
  }
  members[0][1].kind = CollectiveKind::broadcast;
  const MatchOutcome outcome = match_members(members, Membership::known, {});
  for (const auto& row : rows_of(outcome)) {
    for (const auto& [member, call] : row) CHECK(call + member == row.begin()->second + row.begin()->first);
  }
  // Member 0's first call is in nobody else's window, and its second is no partner of what ends with it.
  REQUIRE(outcome.left.size() == 3);
  CHECK(outcome.left[0].reason == UnmatchedReason::no_metadata);
  CHECK(outcome.left[2].member == 1);
}

TEST_CASE("calls launched before the recording do not count against keys that the others have") {
  std::vector<MemberCalls> members = even_members(2, 40);
  for (MemberCalls& member : members) {
    for (size_t c = 0; c < member.size(); ++c) {
      member[c].bare = c < 25;
      member[c].seq = c < 25 ? -1 : static_cast<int64_t>(c);
    }
  }
  const MatchOutcome outcome = match_members(members, Membership::known, {});
  REQUIRE(outcome.method.size() == 15);
  CHECK(outcome.method[0] == MatchMethod::seq);
  REQUIRE(outcome.left.size() == 50);
  CHECK(outcome.left[0].reason == UnmatchedReason::no_metadata);
}

TEST_CASE("messages are matched by their places in steps, though receivers come when senders are gone") {
  std::vector<MemberCalls> members(2);
  std::mt19937 random(9);
  for (int64_t step = 0; step < 6; ++step) {
    for (int64_t k = 0; k < 4; ++k) {
      MatchCall send = ending(static_cast<double>(20'000 * step + 100 * k), kSmall), receive = send;
      send.kind = CollectiveKind::send;
      receive.kind = CollectiveKind::recv;
      send.ends_together = receive.ends_together = false;
      send.step = receive.step = step;
      const auto late_ns = static_cast<int64_t>(1'000'000 * (1 + k) + random() % 900'000);
      receive.start_ns += late_ns;
      receive.end_ns += late_ns;
      members[0].push_back(send);
      members[1].push_back(receive);
    }
  }
  members[1].erase(members[1].begin(), members[1].begin() + 2);  // its window begins within the first step
  const MatchOutcome outcome = match_members(members, Membership::known, {});
  REQUIRE(outcome.method.size() == 20);  // of that step nothing tells which was lost
  for (const auto& row : rows_of(outcome)) CHECK(row.at(0) == row.at(1) + 2);
}
