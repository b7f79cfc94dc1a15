#include <catch2/catch.hpp>
#include <random>

#include "../job_builder.h"
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

TEST_CASE("calls without any metadata that fall into several groups stay unmatched") {
  JobBuilder b(4);
  add_calls(b, CommunicatorId(), {0, 2}, 25, 8);
  add_calls(b, CommunicatorId(), {1, 3}, 25, 9);
  const InstanceTable table = match_collectives(b.done());
  REQUIRE(table.instances.empty());
  REQUIRE(table.unmatched.size() == 100);
  REQUIRE(table.unmatched[0].reason == UnmatchedReason::ambiguous);
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
