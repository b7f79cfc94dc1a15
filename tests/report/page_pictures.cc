// What the page's charts are made of, from calls written down by hand.
#include <catch2/catch.hpp>

#include "src/report/page_data/clock_residuals.h"
#include "src/report/page_data/lateness_map.h"
#include "src/report/page_data/trend_map.h"
#include "src/report/rows/straggler_chain.h"

using namespace skewscope;
using namespace skewscope::report;

namespace {

struct Member {
  int32_t rank;
  int64_t start_ns;
};

// Instances one by one; wait = last start - own start, as all members have to be there.
struct Calls {
  std::vector<JobReport::CallRow> rows;

  void add(int32_t communicator, int64_t step, const std::vector<Member>& members, int64_t end_ns,
           CollectiveKind op = CollectiveKind::all_reduce) {
    const int32_t instance = rows.empty() ? 0 : rows.back().instance + 1;
    int64_t last_ns = members.front().start_ns;
    for (const Member& m : members) last_ns = std::max(last_ns, m.start_ns);
    for (const Member& m : members) {
      JobReport::CallRow row;
      row.instance = instance;
      row.communicator = communicator;
      row.op = op;
      row.rank = m.rank;
      row.start_ns = m.start_ns;
      row.end_ns = end_ns;
      row.wait_ns = last_ns - m.start_ns;
      row.complete = true;
      row.basis = "clocks";
      row.step = step;
      rows.push_back(row);
    }
  }
};

std::vector<JobReport::RankRow> ranks(int32_t count) {
  std::vector<JobReport::RankRow> rows(static_cast<size_t>(count));
  for (int32_t r = 0; r < count; ++r) rows[static_cast<size_t>(r)].rank = r;
  return rows;
}

std::vector<JobReport::Straggler> straggler(int32_t rank) {
  std::vector<JobReport::Straggler> list(1);
  list[0].rank = rank;
  return list;
}

using Row = std::vector<std::optional<int64_t>>;

}  // namespace

TEST_CASE("instances stand in order of arrival, and one without a step belongs to the step before") {
  Calls calls;
  calls.add(0, 8, {{0, 900}, {1, 950}}, 1000);
  calls.add(0, 7, {{0, 100}, {1, 150}}, 200);
  calls.add(0, -1, {{0, 300}, {1, 350}}, 400);
  calls.add(0, -1, {{0, 10}, {1, 20}}, 30);
  calls.rows.back().basis = calls.rows[6].basis = "";  // the last was not split
  const auto instances = timed_instances(calls.rows);
  REQUIRE(instances.size() == 3);
  CHECK(instances[0].arrival_ns == 150);
  CHECK(instances[1].step == 7);
  CHECK(instances[2].step == 8);
  CHECK(instances[2].wait_ns == 50);
}

TEST_CASE("the lateness map has a column per step: mean arrival against the middle member") {
  Calls calls;
  calls.add(0, 5, {{0, 100}, {1, 110}, {2, 150}}, 200);
  calls.add(0, 5, {{0, 300}, {1, 310}, {2, 330}}, 400);
  calls.add(1, 6, {{0, 500}, {2, 507}}, 600);
  const LatenessMap map = lateness_map(ranks(3), timed_instances(calls.rows));
  CHECK(map.by_step);
  REQUIRE(map.columns.size() == 2);
  CHECK(map.columns[1].first == 6);
  CHECK(map.columns[0].start_ns == 150);
  CHECK(map.mean[0] == Row{-10, 0});
  CHECK(map.mean[1] == Row{0, std::nullopt});
  CHECK(map.mean[2] == Row{30, 7});  // (40 + 20) / 2; of two members the first is the middle
}

TEST_CASE("without two steps the lateness map has a column per collective, and no pairs of send and recv") {
  Calls calls;
  calls.add(0, 5, {{0, 100}, {1, 110}}, 200);
  calls.add(0, 5, {{0, 250}, {1, 290}}, 300, CollectiveKind::send);
  calls.add(0, 5, {{0, 405}, {1, 400}}, 500);
  const LatenessMap map = lateness_map(ranks(2), timed_instances(calls.rows));
  CHECK_FALSE(map.by_step);
  CHECK(map.mean[0] == Row{0, 5});
  CHECK(map.mean[1] == Row{10, 0});
}

TEST_CASE("a lateness map stays within its columns and cells: neighbours share a column") {
  Calls calls;
  for (int64_t step = 0; step < 1000; ++step) {
    calls.add(0, step, {{0, step * 100}, {1, step * 100 + step}}, step * 100 + 1000);
  }
  const LatenessMap map = lateness_map(ranks(2), timed_instances(calls.rows));
  REQUIRE(map.columns.size() == 200);
  CHECK(map.columns[0].first == 0);
  CHECK(map.columns[0].last == 4);
  CHECK(map.mean[1][0] == 2);  // of 0, 1, 2, 3, 4
  const LatenessMap wide = lateness_map(ranks(50'000), timed_instances(calls.rows));
  CHECK(wide.columns.size() == 4);
}

TEST_CASE("the chain goes from where lateness shows through the groups back to the straggler") {
  Calls calls;
  calls.add(1, 3, {{0, 100}, {1, 900}}, 1000);               // group 1: 0 waits 800 for 1
  calls.add(2, 3, {{0, 1100}, {2, 400}, {3, 350}}, 1200);    // group 2: 3 waits 750 for 0, who had waited
  calls.add(2, 4, {{0, 2000}, {2, 2001}, {3, 2002}}, 2100);  // another step
  const StragglerChain chain = straggler_chain(straggler(1), timed_instances(calls.rows));
  CHECK(chain.step == 3);
  REQUIRE(chain.hops.size() == 2);
  CHECK(chain.hops[0].late == 0);
  CHECK(chain.hops[0].victim == 3);
  CHECK(chain.hops[0].communicator == 2);
  CHECK(chain.hops[0].wait_ns == 750);
  CHECK(chain.hops[1].late == 1);
  CHECK(chain.hops[1].victim == 0);
  CHECK(chain.hops[1].wait_ns == 800);
  CHECK(chain.hops[1].arrival_ns == 900);
  CHECK(chain.ranks == std::vector<int32_t>{1, 0, 3, 2});
  CHECK(chain.calls.size() == 5);
}

TEST_CASE("a rank that had hardly waited elsewhere is where the chain ends") {
  Calls calls;
  calls.add(1, 3, {{0, 700}, {1, 900}}, 1000);   // 0 waited 200
  calls.add(2, 3, {{0, 1500}, {2, 400}}, 1600);  // 2 waits 1100 for 0: more than twice that
  const StragglerChain chain = straggler_chain(straggler(0), timed_instances(calls.rows));
  REQUIRE(chain.hops.size() == 1);
  CHECK(chain.hops[0].late == 0);
  CHECK(chain.hops[0].victim == 2);
}

TEST_CASE("where nobody waits for anybody there is no chain") {
  Calls calls;
  calls.add(1, 3, {{0, 700}, {1, 700}}, 1000);
  CHECK(straggler_chain(straggler(0), timed_instances(calls.rows)).hops.empty());
  CHECK(straggler_chain({}, {}).hops.empty());
}

TEST_CASE("a chain shows at most 12 ranks and 600 calls, the longest, and says how many it leaves out") {
  Calls calls;
  std::vector<Member> everyone;
  for (int32_t r = 0; r < 40; ++r) everyone.push_back({r, r == 7 ? 900'000 : r});
  calls.add(0, 1, everyone, 1'000'000);
  for (int64_t i = 0; i < 100; ++i) {
    std::vector<Member> members;
    for (int32_t r = 0; r < 40; ++r) members.push_back({r, 1000 + i * 10});
    calls.add(1, 1, members, 1005 + i * 10);
  }
  const StragglerChain chain = straggler_chain(straggler(7), timed_instances(calls.rows));
  CHECK(chain.ranks.size() == kMostChainRanks);
  CHECK(chain.calls.size() == kMostChainCalls);
  CHECK(chain.left_out == 12 * 101 - 600);
  CHECK(chain.ranks.front() == 7);
}

TEST_CASE("residuals are the distances of ends from the middle member's, of operations that end together") {
  Calls calls;
  calls.add(0, 1, {{0, 0}, {1, 0}, {2, 0}}, 1000);
  calls.rows[0].end_ns = 850;                                                  // 150 before
  calls.rows[2].end_ns = 3500;                                                 // 2,500 after
  calls.add(0, 1, {{0, 0}, {1, 0}, {2, 0}}, 9000, CollectiveKind::broadcast);  // may end at any time
  calls.rows[4].end_ns = 500'000;
  const ClockResiduals residuals = clock_residuals(timed_instances(calls.rows));
  REQUIRE(residuals.ranks.size() == 3);
  CHECK(residuals.ranks[0].sum_ns == -150);
  CHECK(residuals.ranks[0].absolute_ns == 150);
  CHECK(residuals.ranks[2].largest_ns == 2500);
  CHECK(residuals.before[1] == 1);  // 100 .. 200
  CHECK(residuals.after[0] == 1);   // the middle member itself
  CHECK(residuals.after[5] == 1);   // 2,000 .. 5,000
}

TEST_CASE("of a pipeline the lateness map holds a rank against its own stage, and leaves out who is alone in it") {
  JobReport::Pipeline pipeline;
  pipeline.stages = 3;
  pipeline.by_stage = {{0, {0, 1}, 0, 0}, {1, {2, 3}, 0, 0}, {2, {4}, 0, 0}};
  Calls calls;
  calls.add(0, 5, {{0, 900}, {1, 930}, {2, 100}, {3, 90}, {4, 500}}, 1000);
  calls.add(1, 6, {{0, 1900}, {1, 1905}}, 2000);
  const LatenessMap map = lateness_map(ranks(5), timed_instances(calls.rows), pipeline);
  CHECK(map.mean[0] == Row{0, 0});
  CHECK(map.mean[1] == Row{30, 5});
  CHECK(map.mean[2] == Row{10, std::nullopt});
  CHECK(map.mean[3] == Row{0, std::nullopt});
  CHECK(map.mean[4] == Row{std::nullopt, std::nullopt});
}

TEST_CASE("the trend has a column for each window, a row for each rank, and no cell where a rank had no call") {
  const auto row = [](int64_t start_ns, int32_t rank, int64_t caused_ns) {
    TrendRow made;
    made.start_ns = start_ns;
    made.duration_ns = 10;
    made.rank = rank;
    made.wait_caused_ns = caused_ns;
    return made;
  };
  const TrendMap map = trend_map({row(-10, 2, 5), row(0, 0, 6), row(0, 2, 7)});
  REQUIRE(map.ranks == std::vector<int32_t>{0, 2});
  REQUIRE(map.columns.size() == 2);
  CHECK(map.columns[0].start_ns == -10);
  CHECK_FALSE(map.cells[0][0].has_value());
  CHECK(map.cells[0][1]->wait_caused_ns == 6);
  CHECK(map.cells[1][0]->wait_caused_ns == 5);
  CHECK(map.cells[1][1]->wait_caused_ns == 7);
  CHECK(trend_map({}).columns.empty());
}
