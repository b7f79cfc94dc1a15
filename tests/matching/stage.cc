#include <catch2/catch.hpp>
#include <random>

#include "../job_builder.h"
#include "skewscope/align.h"
#include "skewscope/matching.h"

using namespace skewscope;

namespace {

// `n` all-reduces of all ranks at irregular times; rank r's clock is r milliseconds ahead.
void add_calls(JobBuilder& b, CommunicatorId c, const std::vector<int32_t>& ranks, int n, unsigned seed = 1) {
  std::mt19937 random(seed);
  double t = 1000;
  for (int i = 0; i < n; ++i) {
    t += static_cast<double>(400 + random() % 3000);
    for (const int32_t r : ranks) b.call(r, c, 1000.0 * r + t - 50, 1000.0 * r + t);
  }
}

int64_t complete(const InstanceTable& table) {
  return std::count_if(table.instances.begin(), table.instances.end(), [](const auto& i) { return i.complete; });
}

}  // namespace

TEST_CASE("all calls of a job are in one instance or unmatched") {
  JobBuilder b(3);
  add_calls(b, b.communicator("world", {0, 1, 2}), {0, 1, 2}, 20);
  b.trace(2).calls.pop_back();
  const JobTrace& job = b.done();
  const InstanceTable table = match_collectives(job);
  REQUIRE(check_invariants(table, job) == "");
  REQUIRE(table.instances.size() == 20);
  REQUIRE(complete(table) == 19);
  REQUIRE(table.unmatched.empty());
}

TEST_CASE("a rank whose trace is missing leaves instances incomplete, with nothing invented") {
  JobBuilder b(3);
  add_calls(b, b.communicator("world", {0, 1, 2}), {0, 1}, 20);
  const InstanceTable table = match_collectives(b.done());
  REQUIRE(table.instances.size() == 20);
  REQUIRE(complete(table) == 0);
  for (const CollectiveInstance& i : table.instances) REQUIRE(i.expected == 3);
}

TEST_CASE("groups of one name and other members do not mix") {
  JobBuilder b(4);
  add_calls(b, b.communicator("1", {0, 1}), {0, 1}, 15, 5);
  add_calls(b, b.communicator("1", {2, 3}), {2, 3}, 15, 6);
  const InstanceTable table = match_collectives(b.done());
  REQUIRE(table.instances.size() == 30);
  REQUIRE(complete(table) == 30);
}

TEST_CASE("a group of one is listed, not analysed") {
  JobBuilder b(1);
  b.call(0, b.communicator("solo", {0}), 0, 10);
  const InstanceTable table = match_collectives(b.done());
  REQUIRE(table.instances.empty());
  REQUIRE(table.unmatched.at(0).reason == UnmatchedReason::group_of_one);
}

TEST_CASE("send and recv pair by sender and receiver, beside the collectives of their group") {
  JobBuilder b(2);
  const CommunicatorId c = b.communicator("pp", {0, 1});
  add_calls(b, c, {0, 1}, 12);
  std::mt19937 random(4);
  double t = 500;
  for (int i = 0; i < 12; ++i) {
    t += static_cast<double>(700 + random() % 2000);
    b.call(0, c, t, t + 20, CollectiveKind::send).peer = Rank(1);
    b.call(1, c, 1000 + t - 80, 1000 + t + 22, CollectiveKind::recv).peer = Rank(0);
  }
  const InstanceTable table = match_collectives(b.done());
  REQUIRE(table.unmatched.empty());
  const auto pairs = std::count_if(table.instances.begin(), table.instances.end(),
                                   [](const auto& i) { return i.kind == CollectiveKind::send; });
  REQUIRE(pairs == 12);
}

TEST_CASE("both ways at once pairs by peer: neither with other pairs nor with what goes one way") {
  JobBuilder b(3);
  const CommunicatorId c = b.communicator("pp", {0, 1, 2});
  std::mt19937 random(4);
  double t = 500;
  const auto both = [&](int32_t own, int32_t peer, double start, double end, int64_t in, int64_t out) {
    CollectiveCall& call = b.call(own, c, start, end, CollectiveKind::send_recv);
    call.peer = Rank(peer);
    call.in_elements = in;
    call.out_elements = out;
  };
  for (int i = 0; i < 12; ++i) {
    t += static_cast<double>(1700 + random() % 2000);
    both(1, 0, 1000 + t - 80, 1000 + t + 20, 100, 300);  // rank 1's clock is a millisecond ahead
    both(0, 1, t, t + 20, 300, 100);
    b.call(0, c, t + 200, t + 220, CollectiveKind::send).peer = Rank(1);
    b.call(1, c, 1000 + t + 150, 1000 + t + 222, CollectiveKind::recv).peer = Rank(0);
    both(1, 2, 1000 + t + 500, 1000 + t + 540, 100, 100);
    both(2, 1, t + 470, t + 540, 100, 100);
  }
  const JobTrace& job = b.done();
  const InstanceTable table = match_collectives(job);
  REQUIRE(check_invariants(table, job) == "");
  REQUIRE(table.unmatched.empty());
  REQUIRE(table.instances.size() == 36);
  REQUIRE(complete(table) == 36);
  for (const CollectiveInstance& i : table.instances) {
    if (i.kind != CollectiveKind::send_recv) continue;
    const Rank first = job[table.members[i.first_member].trace].rank;
    REQUIRE(i.bytes == (first == Rank(0) ? 1200 : 400));
    REQUIRE_FALSE(i.sizes_differ);
  }
}

TEST_CASE("what one end sends in a batch must be what the other receives") {
  JobBuilder b(2);
  const CommunicatorId c = b.communicator("pp", {0, 1});
  std::mt19937 random(4);
  double t = 500;
  for (int i = 0; i < 24; ++i) {
    t += static_cast<double>(1700 + random() % 2000);
    const int64_t there = i % 2 == 0 ? 1000 : 3000, back = 4000 - there;
    for (const int32_t own : {0, 1}) {
      if (own == 1 && i == 0) continue;  // lost
      CollectiveCall& call = b.call(own, c, 1000 * own + t - 40, 1000 * own + t + 20, CollectiveKind::send_recv);
      call.peer = Rank(1 - own);
      call.in_elements = own == 0 ? there : back;
      call.out_elements = own == 0 ? back : there;
    }
  }
  const JobTrace& job = b.done();
  const InstanceTable table = match_collectives(job);
  REQUIRE(complete(table) == 23);
  for (const CollectiveInstance& i : table.instances) {
    if (!i.complete) continue;
    const auto call = [&](uint32_t k) -> const CollectiveCall& {
      const CallRef& ref = table.members[i.first_member + k];
      return job[ref.trace].calls[static_cast<size_t>(ref.call)];
    };
    REQUIRE(call(0).in_elements == call(1).out_elements);
    REQUIRE(call(0).out_elements == call(1).in_elements);
  }
}

TEST_CASE("a lone call of a communicator is matched with the offset that others showed") {
  JobBuilder b(2);
  const CommunicatorId busy = b.communicator("dp", {0, 1}), rare = b.communicator("world", {0, 1});
  add_calls(b, busy, {0, 1}, 30);
  b.call(0, rare, 9000, 9100);
  b.call(1, rare, 10'050, 10'100);
  const InstanceTable table = match_collectives(b.done());
  REQUIRE(table.instances.size() == 31);
}

TEST_CASE("calls without any metadata form a communicator when the ends of all ranks agree") {
  JobBuilder b(3);
  add_calls(b, CommunicatorId(), {0, 1, 2}, 25, 8);
  for (RankTrace& t : b.job.traces) {
    for (CollectiveCall& c : t.calls) c.stream = 84;
  }
  const InstanceTable table = match_collectives(b.done());
  REQUIRE(table.communicators.size() == 1);
  REQUIRE(table.communicators.communicators[0].name == "stream 84");
  REQUIRE(complete(table) == 25);
}

TEST_CASE("calls without any metadata that fall into several groups are told apart by their ends") {
  JobBuilder b(4);
  add_calls(b, CommunicatorId(), {0, 2}, 25, 8);
  add_calls(b, CommunicatorId(), {1, 3}, 25, 9);
  const InstanceTable table = match_collectives(b.done());
  REQUIRE(table.communicators.size() == 2);
  CHECK(table.communicators.communicators[0].members == std::vector<Rank>{Rank(0), Rank(2)});
  CHECK(table.communicators.communicators[1].members == std::vector<Rank>{Rank(1), Rank(3)});
  CHECK(complete(table) == 50);
}

TEST_CASE("an inferred communicator is incomplete while ranks of the job are missing") {
  JobBuilder b(2);
  b.job.world_size = 128;
  add_calls(b, CommunicatorId(), {0, 1}, 25);
  const InstanceTable table = match_collectives(b.done());
  REQUIRE(table.instances.size() == 25);
  REQUIRE(complete(table) == 0);
  REQUIRE(table.communicators.communicators[0].size == 128);
}

TEST_CASE("ranks without metadata are no whole group where another names them in its own") {
  JobBuilder b(4);
  add_calls(b, b.communicator("world", {0, 1, 2, 3}), {0}, 25);
  add_calls(b, CommunicatorId(), {1, 2, 3}, 25);
  const InstanceTable table = match_collectives(b.done());
  REQUIRE(table.instances.size() == 25);
  CHECK(complete(table) == 0);
  for (const CollectiveInstance& i : table.instances) CHECK(i.expected == 4);
}

TEST_CASE("ranks of one host that recorded different steps are left unmatched") {
  JobBuilder b(2);
  const CommunicatorId c = b.communicator("world", {0, 1});
  add_calls(b, c, {0}, 12);
  add_calls(b, c, {1}, 12);
  for (CollectiveCall& call : b.trace(1).calls) call.start = call.start + 1'500'000'000;
  CHECK(match_collectives(b.done()).instances.size() == 12);
  b.trace(0).host = b.trace(1).host = "node";
  CHECK(match_collectives(b.done()).instances.empty());
}

TEST_CASE("a kernel without operation and group stays unmatched") {
  JobBuilder b(2);
  add_calls(b, b.communicator("world", {0, 1}), {0, 1}, 10);
  b.call(0, CommunicatorId(), 10, 20, CollectiveKind::unknown);
  const InstanceTable table = match_collectives(b.done());
  REQUIRE(table.unmatched.size() == 1);
  REQUIRE(table.unmatched[0].reason == UnmatchedReason::no_metadata);
}

TEST_CASE("sessions are matched each on its own") {
  JobBuilder b(2);
  const CommunicatorId c = b.communicator("world", {0, 1});
  add_calls(b, c, {0, 1}, 10);
  for (const int32_t r : {0, 1}) {
    RankTrace second = b.trace(r);
    second.session = SessionId(1);
    for (CollectiveCall& call : second.calls) call.start = call.start + 60'000'000'000;
    b.job.traces.push_back(second);
  }
  b.job.sessions = 2;
  const InstanceTable table = match_collectives(b.done());
  REQUIRE(table.instances.size() == 20);
  REQUIRE(complete(table) == 20);
  REQUIRE(table.instances[10].session == SessionId(1));
  REQUIRE(table.instances[10].ordinal == 0);
}

namespace {

// Two ranks whose clocks are 30 ms apart and drift by 6 ppm over 500 s: 250 calls at irregular times throughout, and at
// the end 60 calls of another group, one per period, which alone could be laid over one another at any multiple of it.
JobBuilder drifting_job(double period_us) {
  JobBuilder b(2);
  const CommunicatorId often = b.communicator("often", {0, 1}), late = b.communicator("late", {0, 1});
  const auto clock = [](int32_t r, double t) { return 1e9 + (r == 1 ? 30e3 + t * 1.000006 : t); };
  std::mt19937 random(3);
  double t = 0;
  for (int i = 0; i < 250; ++i) {
    t += 1'500'000 + static_cast<double>(random() % 1'000'000);
    for (const int32_t r : {0, 1}) b.call(r, often, clock(r, t - 50), clock(r, t));
  }
  for (int i = 0; i < 60; ++i) {
    t += period_us;
    for (const int32_t r : {0, 1}) b.call(r, late, clock(r, t - 50), clock(r, t));
  }
  return b;
}

// True partners are equal rows of either trace: nothing is missing.
size_t wrong_pairs(const InstanceTable& table) {
  return static_cast<size_t>(std::count_if(table.instances.begin(), table.instances.end(), [&](const auto& i) {
    return i.member_count == 2 && table.members[i.first_member].call != table.members[i.first_member + 1].call;
  }));
}

}  // namespace

TEST_CASE("what drift hid from the first match, or made it slip by, fitted clocks tell the second") {
  // Clocks known to 2 ms tell periods of 5 ms apart, and no shorter ones.
  CHECK(complete(match_collectives(drifting_job(5000).done())) == 310);
  for (const double period_us : {2500.0, 1000.0}) {
    INFO("period " << period_us);
    JobBuilder b = drifting_job(period_us);
    const JobTrace& job = b.done();
    MatchedAlone kept;
    const InstanceTable first = match_collectives(job, alone(), &kept);
    REQUIRE(first.clocks_may_tell);
    CHECK((wrong_pairs(first) > 0 || first.unmatched.size() == 120));
    const InstanceTable again = match_again(job, align_clocks(job, first, AlignMode::automatic), kept);
    REQUIRE(check_invariants(again, job) == "");
    CHECK(wrong_pairs(again) == 0);
    CHECK(complete(again) == 310);
  }
}

TEST_CASE("a job whose groups match alone is not matched again") {
  JobBuilder b(3);
  add_calls(b, b.communicator("world", {0, 1, 2}), {0, 1, 2}, 20);
  CHECK_FALSE(match_collectives(b.done()).clocks_may_tell);
}
