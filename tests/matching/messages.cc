// Sends and receives, alone and in batches: which messages meet, and what they join.
#include <catch2/catch.hpp>
#include <random>

#include "../job_builder.h"
#include "skewscope/matching.h"

using namespace skewscope;

namespace {

struct Rounds {
  std::mt19937 random{6};
  double now_us = 1000;

  // `of_round(step, start)`: one round's calls.
  template <class OfRound>
  void play(const OfRound& of_round, int steps = 3, int rounds = 8) {
    for (int step = 0; step < steps; ++step) {
      for (int i = 0; i < rounds; ++i, now_us += static_cast<double>(500 + random() % 900)) of_round(step, now_us);
    }
  }
};

InstanceTable match(JobBuilder& b) {
  const JobTrace& job = b.done();
  InstanceTable table = match_collectives(job);
  REQUIRE(check_invariants(table, job) == "");
  return table;
}

// "0>1" for each message of an instance, by ranks.
std::string messages_of_instance(const InstanceTable& table, const JobTrace& job, const CollectiveInstance& i) {
  std::string text;
  for (uint32_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
    for (const BatchLink& link : links_of(table, row)) {
      if (link.receives) continue;
      const auto rank = [&](uint32_t member) { return std::to_string(job[table.members[member].trace].rank.value); };
      text += (text.empty() ? "" : " ") + rank(link.row) + ">" + rank(link.partner);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("a pipeline that forwards while it receives makes chains of one call per rank") {
  JobBuilder b(4);
  const CommunicatorId c = b.communicator("pp", {0, 1, 2, 3});
  Rounds().play([&](int step, double t) {
    CollectiveCall& first = b.call(0, c, t, t + 10, CollectiveKind::send);
    first.peer = Rank(1);
    first.step = step;
    b.batch(1, c, step, t + 3, t + 20, {2}, {0});
    b.batch(2, c, step, t + 5, t + 28, {3}, {1});
    CollectiveCall& last = b.call(3, c, t - 40, t + 35, CollectiveKind::recv);
    last.peer = Rank(2);
    last.step = step;
  });
  const InstanceTable table = match(b);
  CHECK(table.unmatched.empty());
  REQUIRE(table.instances.size() == 24);
  for (const CollectiveInstance& i : table.instances) {
    CHECK(i.kind == CollectiveKind::coalesced);
    CHECK((i.complete && i.member_count == 4 && i.bytes == 4096));
    CHECK(messages_of_instance(table, b.job, i) == "0>1 1>2 2>3");
  }
}

TEST_CASE("a round in a ring is one instance, in which each rank has two partners") {
  JobBuilder b(3);
  const CommunicatorId c = b.communicator("ring", {0, 1, 2});
  Rounds rounds;
  rounds.play([&](int step, double t) {
    for (const int32_t r : {0, 1, 2}) {
      b.batch(r, c, step, 1e5 * r + t + static_cast<double>(rounds.random() % 50), 1e5 * r + t + 80, {(r + 1) % 3},
              {(r + 2) % 3});
    }
  });
  const InstanceTable table = match(b);
  REQUIRE(table.instances.size() == 24);
  for (const CollectiveInstance& i : table.instances) {
    CHECK(i.complete);
    CHECK(messages_of_instance(table, b.job, i) == "0>1 1>2 2>0");
  }
}

TEST_CASE("what joins two calls of one rank is no collective of anybody's") {
  JobBuilder b(2);
  const CommunicatorId c = b.communicator("pp", {0, 1});
  Rounds().play([&](int step, double t) {
    CollectiveCall& both = b.call(0, c, t, t + 90, CollectiveKind::send_recv);
    both.peer = Rank(1);
    both.step = step;
    CollectiveCall& there = b.call(1, c, t + 10, t + 30, CollectiveKind::recv);
    there.peer = Rank(0);
    there.step = step;
    CollectiveCall& back = b.call(1, c, t + 60, t + 88, CollectiveKind::send);
    back.peer = Rank(0);
    back.step = step;
  });
  const InstanceTable table = match(b);
  CHECK(table.instances.empty());
  CHECK(table.unmatched.size() == 72);
  for (const UnmatchedCall& call : table.unmatched) CHECK(call.reason == UnmatchedReason::chained);
}

TEST_CASE("a row of ranks is matched whichever end of it has the higher number") {
  for (const std::vector<int32_t>& row : {std::vector<int32_t>{0, 1, 2}, {1, 0, 2}, {0, 2, 1}}) {
    JobBuilder b(3);
    const CommunicatorId c = b.communicator("row", {0, 1, 2});
    Rounds rounds;
    rounds.play([&](int step, double t) {
      const auto end = [&](int32_t rank) {
        CollectiveCall& call =
            b.call(rank, c, t + static_cast<double>(rounds.random() % 50), t + 80, CollectiveKind::send_recv);
        call.peer = Rank(row[1]);
        call.step = step;
      };
      end(row[0]);
      b.batch(row[1], c, step, t + static_cast<double>(rounds.random() % 50), t + 80, {row[0], row[2]},
              {row[0], row[2]});
      end(row[2]);
    });
    const InstanceTable table = match(b);
    CHECK(table.unmatched.empty());
    CHECK(table.instances.size() == 24);
    for (const CollectiveInstance& i : table.instances) CHECK((i.complete && i.member_count == 3));
  }
}

TEST_CASE("batches are told by their steps, however far the clocks lie apart") {
  JobBuilder b(3);
  const CommunicatorId c = b.communicator("ring", {0, 1, 2});
  Rounds().play([&](int step, double t) {
    for (const int32_t r : {0, 1, 2}) b.batch(r, c, step, 3e7 * r + t, 3e7 * r + t + 80, {(r + 1) % 3}, {(r + 2) % 3});
  });
  CHECK(match(b).instances.size() == 24);
}

TEST_CASE("one lost batch of many leaves the others matched") {
  JobBuilder b(3);
  const CommunicatorId c = b.communicator("ring", {0, 1, 2});
  int round = 0;
  Rounds().play(
      [&](int step, double t) {
        ++round;
        for (const int32_t r : {0, 1, 2}) {
          if (r == 1 && round == 100) continue;
          b.batch(r, c, step, t + 10 * r, t + 80, {(r + 1) % 3}, {(r + 2) % 3});
        }
      },
      40, 5);
  const InstanceTable table = match(b);
  CHECK(table.instances.size() >= 195);
  CHECK(table.unmatched.size() <= 15);
}

TEST_CASE("a batch whose other partner has no trace is incomplete, not of the one that is there alone") {
  JobBuilder b(3);
  const CommunicatorId c = b.communicator("pp", {0, 1, 2});
  Rounds().play([&](int step, double t) {
    CollectiveCall& first = b.call(0, c, t, t + 10, CollectiveKind::send);
    first.peer = Rank(1);
    first.step = step;
    b.batch(1, c, step, t + 3, t + 20, {2}, {0});
  });
  b.job.traces.pop_back();
  const InstanceTable table = match(b);
  CHECK(table.unmatched.empty());
  REQUIRE(table.instances.size() == 24);
  for (const CollectiveInstance& i : table.instances) {
    CHECK(i.kind == CollectiveKind::coalesced);
    CHECK((!i.complete && i.member_count == 2 && i.expected == 3));
  }
}

TEST_CASE("calls that messages chain to each other without end are said to be so") {
  JobBuilder b(3);
  const CommunicatorId c = b.communicator("ring", {0, 1, 2});
  const auto alone = [&](int32_t rank, double start, CollectiveKind kind, int32_t peer) {
    CollectiveCall& call = b.call(rank, c, start, start + 10, kind);
    call.peer = Rank(peer);
    call.step = 0;
  };
  // Rank 0 receives in each round what rank 2 sent in the round before.
  Rounds rounds;
  alone(2, 500, CollectiveKind::send, 0);
  rounds.play(
      [&](int step, double t) {
        for (const int32_t r : {0, 1, 2})
          b.batch(r, c, step, t + 20 * r, t + 20 * r + 40, {(r + 1) % 3}, {(r + 2) % 3});
      },
      1, 24);
  alone(0, rounds.now_us, CollectiveKind::recv, 2);
  const InstanceTable table = match(b);
  CHECK(table.instances.empty());
  CHECK(table.unmatched.size() == 74);
  for (const UnmatchedCall& call : table.unmatched) CHECK(call.reason == UnmatchedReason::chained);
}

TEST_CASE("where calls are lost here and there, equal numbers of messages prove no order") {
  JobBuilder b(3);
  const CommunicatorId c = b.communicator("ring", {0, 1, 2});
  Rounds rounds;
  rounds.play(
      [&](int step, double t) {
        for (const int32_t r : {0, 1, 2}) {
          if (rounds.random() % 20 == 0) continue;  // lost
          b.batch(r, c, step, t + static_cast<double>(rounds.random() % 50), t + 80, {(r + 1) % 3}, {(r + 2) % 3});
        }
      },
      12, 20);
  const InstanceTable table = match(b);
  CHECK(table.instances.empty());
  for (const UnmatchedCall& call : table.unmatched) CHECK(call.reason == UnmatchedReason::ambiguous);
}
