// All-to-alls of two or three ranks, counted by hand. Elements are of 4 bytes.
#include "src/attribute/all_to_all.h"

#include <catch2/catch.hpp>
#include <map>
#include <utility>

#include "tests/job_builder.h"

using namespace skewscope;  // NOLINT

namespace {

// By rank: what it sends to each.
using Matrix = std::vector<std::vector<int64_t>>;

struct Exchanges {
  JobBuilder b;
  InstanceTable table;
  Decomposition d;
  CommunicatorId group;

  explicit Exchanges(int32_t ranks) : b(ranks) {
    std::vector<int32_t> all;
    for (int32_t r = 0; r < ranks; ++r) all.push_back(r);
    group = b.communicator("experts", all);
  }

  // `lists`: whether calls tell the size of each part. Then: the wait of each rank, and what is charged to it.
  void add(int64_t step, const Matrix& sent, bool lists, const std::vector<int64_t>& wait_ns = {},
           const std::vector<int64_t>& caused_ns = {}, CollectiveKind kind = CollectiveKind::all_to_all) {
    const auto ranks = static_cast<int32_t>(sent.size());
    CollectiveInstance i;
    i.communicator = group;
    i.session = SessionId(0);
    i.kind = kind;
    i.first_member = static_cast<uint32_t>(table.members.size());
    i.member_count = static_cast<uint32_t>(ranks);
    i.complete = true;
    const double start = 100.0 * static_cast<double>(table.instances.size());
    for (int32_t r = 0; r < ranks; ++r) {
      const auto row = static_cast<size_t>(r);
      CollectiveCall& call = b.call(r, group, start, start + 50, kind);
      call.step = step;
      call.in_elements = call.out_elements = 0;
      for (int32_t other = 0; other < ranks; ++other) {
        const int64_t sends = sent[row][static_cast<size_t>(other)], receives = sent[static_cast<size_t>(other)][row];
        call.in_elements += sends;
        call.out_elements += receives;
        const auto number = static_cast<int32_t>(b.trace(r).calls.size() - 1);
        if (lists) b.trace(r).splits.push_back({number, sends, receives});
      }
      table.members.push_back({TraceIndex(r), static_cast<int32_t>(b.trace(r).calls.size() - 1)});
      d.members.emplace_back();
      d.members.back().wait_ns = wait_ns.empty() ? 0 : wait_ns[row];
      d.caused_ns.push_back(caused_ns.empty() ? 0 : caused_ns[row]);
    }
    table.instances.push_back(i);
    d.instances.emplace_back();
  }

  AllToAllTotals totals() {
    table.communicators = b.job.communicators;
    set_spans(table, b.done());
    const auto all = attribute::all_to_all_totals(b.job, table, d, alone());
    REQUIRE(all.size() == 1);
    return all.front();
  }
};

std::map<std::pair<int32_t, int32_t>, int64_t> bytes_of_pairs(const AllToAllTotals& totals) {
  std::map<std::pair<int32_t, int32_t>, int64_t> bytes;
  for (const AllToAllPair& pair : totals.pairs) bytes[{pair.sender, pair.receiver}] = pair.bytes;
  return bytes;
}

}  // namespace

TEST_CASE("the matrix holds what each rank sent to each, in bytes, over all calls") {
  Exchanges e(2);
  e.add(1, {{1, 3}, {2, 5}}, true);
  e.add(1, {{1, 2}, {3, 5}}, true);
  const AllToAllTotals totals = e.totals();
  const std::map<std::pair<int32_t, int32_t>, int64_t> expected = {
      {{0, 0}, 8}, {{0, 1}, 20}, {{1, 0}, 20}, {{1, 1}, 40}};
  CHECK(bytes_of_pairs(totals) == expected);
  for (const AllToAllPair& pair : totals.pairs) CHECK(pair.calls == 2);
  CHECK(totals.sent_bytes == std::vector<int64_t>{28, 60});
  CHECK(totals.received_bytes == std::vector<int64_t>{28, 60});
}

TEST_CASE("what a missing rank sent is known by its receivers") {
  Exchanges e(2);
  e.add(1, {{1, 3}, {2, 5}}, true);
  // The call of rank 1 is in no trace.
  e.table.members.pop_back();
  e.table.instances[0].member_count = 1;
  e.table.instances[0].complete = false;
  const AllToAllTotals totals = e.totals();
  const std::map<std::pair<int32_t, int32_t>, int64_t> expected = {{{0, 0}, 4}, {{0, 1}, 12}, {{1, 0}, 8}};
  CHECK(bytes_of_pairs(totals) == expected);
  CHECK(totals.calls == 1);
  CHECK(totals.sized == 0);
  CHECK(totals.busiest() == -1);
  CHECK(totals.imbalance() == -1);
}

TEST_CASE("an all-to-all that returns what another brought is no dispatch, and evens out nothing") {
  Exchanges e(2);
  for (int64_t step = 1; step <= 2; ++step) {
    for (const char* direction : {"forward", "backward"}) {
      CAPTURE(direction);
      e.add(step, {{1, 3}, {1, 3}}, true);  // 2 and 6 elements arrive
      e.add(step, {{1, 1}, {3, 3}}, true);  // and go back: 4 each
    }
  }
  const AllToAllTotals totals = e.totals();
  CHECK(totals.calls == 8);
  CHECK(totals.sized == 8);
  CHECK(totals.dispatches == 4);
  CHECK(totals.dispatched_bytes == std::vector<int64_t>{32, 96});
  CHECK(totals.busiest() == 1);
  CHECK(totals.imbalance() == Approx(1.5));
  CHECK(totals.imbalance_per_call() == Approx(1.5));
}

TEST_CASE("what is returned may be of another type or width") {
  Exchanges e(2);
  e.add(1, {{1, 3}, {1, 3}}, true);
  e.add(1, {{2, 2}, {6, 6}}, true);
  CHECK(e.totals().dispatches == 1);
}

TEST_CASE("a recording that begins with a return is mistaken up to the end of that step") {
  Exchanges e(2);
  e.add(1, {{1, 1}, {3, 3}}, true);
  for (int64_t step = 2; step <= 3; ++step) {
    e.add(step, {{1, 3}, {1, 3}}, true);
    e.add(step, {{1, 1}, {3, 3}}, true);
  }
  const AllToAllTotals totals = e.totals();
  CHECK(totals.dispatches == 3);
  CHECK(totals.dispatched_bytes == std::vector<int64_t>{16 + 16, 16 + 48});
}

TEST_CASE("several dispatches may be open before the first returns") {
  Exchanges e(2);
  e.add(1, {{1, 3}, {1, 3}}, true);
  e.add(1, {{2, 2}, {3, 1}}, true);
  e.add(1, {{1, 1}, {3, 3}}, true);
  e.add(1, {{2, 3}, {2, 1}}, true);
  CHECK(e.totals().dispatches == 2);
}

TEST_CASE("ranks that are busiest in turn are even over all calls, and uneven in each") {
  Exchanges e(2);
  e.add(1, {{1, 3}, {1, 3}}, true);
  e.add(2, {{3, 1}, {3, 1}}, true);
  const AllToAllTotals totals = e.totals();
  CHECK(totals.imbalance() == Approx(1));
  CHECK(totals.imbalance_per_call() == Approx(1.5));
}

TEST_CASE("without lists there is no matrix, but what ranks receive in all is told by the elements of the call") {
  Exchanges e(3);
  e.add(1, {{1, 1, 4}, {1, 1, 4}, {1, 1, 4}}, false);
  const AllToAllTotals totals = e.totals();
  CHECK(totals.pairs.empty());
  CHECK(totals.received_bytes == std::vector<int64_t>{12, 12, 48});
  CHECK(totals.busiest() == 2);
  CHECK(totals.imbalance() == Approx(2));
}

TEST_CASE("the wait in the group's next collective is explained by who received most, as far as it is charged to it") {
  Exchanges e(2);
  e.add(1, {{1, 3}, {1, 3}}, true, {900, 0}, {0, 900});  // waiting ahead of the tokens is not their doing
  e.add(1, {{1, 1}, {3, 3}}, true, {70, 10}, {10, 70});
  e.add(2, {{1, 3}, {1, 3}}, true);
  e.add(2, {}, false);  // nobody is there
  e.add(3, {{2, 2}, {2, 2}}, true, {500, 0}, {0, 500});
  e.add(3, {{2, 2}, {2, 2}}, true, {300, 0}, {0, 300});  // all had received the same
  const AllToAllTotals totals = e.totals();
  REQUIRE(totals.uneven.size() == 2);
  CHECK((totals.uneven[0].instance == 0 && totals.uneven[0].next == 1));
  CHECK(totals.waited_ns == 80);
  CHECK(totals.waited_for_busiest_ns == 70);
}

TEST_CASE("the next collective of the group may be another operation; of one that is not split nothing is told") {
  Exchanges e(2);
  e.add(1, {{1, 3}, {1, 3}}, true);
  e.add(1, {{1, 1}, {1, 1}}, false, {40, 0}, {0, 40}, CollectiveKind::all_reduce);
  e.add(1, {{1, 3}, {1, 3}}, true);
  e.add(1, {{1, 1}, {1, 1}}, false, {50, 0}, {0, 50}, CollectiveKind::all_reduce);
  e.d.instances.back().reason = SplitReason::causality;
  const AllToAllTotals totals = e.totals();
  CHECK(totals.waited_ns == 40);
  CHECK(totals.waited_for_busiest_ns == 40);
}

TEST_CASE("sizes that no GPU holds are not known") {
  Exchanges e(2);
  e.add(1, {{1, int64_t{1} << 60}, {1, 1}}, true);
  const AllToAllTotals totals = e.totals();
  CHECK(totals.sized == 0);
  CHECK(bytes_of_pairs(totals).count({0, 1}) == 0);
}
