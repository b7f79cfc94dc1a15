#include <catch2/catch.hpp>

#include "hand_built.h"
#include "src/report/rows/statistics.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

const JobReport::Straggler& straggler(const JobReport& report, int32_t rank) {
  for (const auto& s : report.stragglers) {
    if (s.rank == rank) return s;
  }
  FAIL("rank " << rank << " is no straggler");
  return report.stragglers.front();
}

const Finding* finding_of(const JobReport& report, FindingCode code) {
  for (const Finding& f : report.diagnostics) {
    if (f.code == code) return &f;
  }
  return nullptr;
}

}  // namespace

TEST_CASE(
    "the median of an even number of values lies between the two in the middle; p99 is a value, by nearest rank") {
  std::vector<double> values;
  for (int i = 200; i >= 1; --i) values.push_back(i);
  const Statistics s = report::statistics_of(values);
  CHECK(s.sum == 20100);
  CHECK(s.mean == 100.5);
  CHECK(s.median == 100.5);
  CHECK(s.p99 == 198);
  CHECK(s.min == 1);
  CHECK(s.max == 200);
  std::vector<double> one = {7}, none;
  CHECK(report::statistics_of(one).p99 == 7);
  CHECK(report::statistics_of(none).count == 0);
}

TEST_CASE("a collective row counts wait per member, skew per instance, bandwidth from the instance's transfer") {
  HandBuilt built = job_of(4);
  add_all_reduce(built, {0, 1000, 2000, 5000}, 15000, 40000);  // waits 5000 4000 3000 0, transfer 10000
  add_all_reduce(built, {20000, 20000, 20000, 22000}, 27000, 40000);
  const JobReport r = built.report();
  REQUIRE(r.collectives.size() == 1);
  const auto& row = r.collectives[0];
  CHECK(row.op == CollectiveKind::all_reduce);
  CHECK(row.dtype == std::string(to_string(DType::float32)));
  CHECK(row.bytes == 40000);
  CHECK(row.count == 2);
  CHECK(row.wait_ns.count == 8);
  CHECK(row.wait_ns.sum == 12000 + 6000);
  CHECK(row.wait_ns.max == 5000);
  CHECK(row.transfer_ns.sum == 4 * 10000 + 4 * 5000);
  CHECK(row.start_skew_ns.count == 2);
  CHECK(row.start_skew_ns.sum == 7000);
  CHECK(row.algo_bandwidth_gb_per_s.max == Approx(8));                 // 40000 B in 5000 ns
  CHECK(row.algo_bandwidth_gb_per_s.min == Approx(4));                 // 40000 B in 10000 ns
  CHECK(row.bus_bandwidth_gb_per_s.min == Approx(4 * 2.0 * 3.0 / 4));  // 2 (n-1)/n of all_reduce
}

TEST_CASE("an incomplete instance gives a lower bound of wait, but no bandwidth and no late rank") {
  HandBuilt built = job_of(4);
  add_all_reduce(built, {0, 1000, -1, 5000}, 15000, 40000);
  const JobReport r = built.report();
  CHECK(r.collectives[0].wait_ns.sum == 9000);
  CHECK(r.collectives[0].algo_bandwidth_gb_per_s.count == 0);
  CHECK(r.matching.incomplete_instances == 1);
  CHECK(r.stragglers.empty());
  REQUIRE(r.calls.size() == 3);
  CHECK_FALSE(r.calls[0].complete);
  CHECK(r.calls[0].note == "incomplete: lower bound");
  REQUIRE(finding_of(r, "incomplete-instances") != nullptr);
  CHECK(finding_of(r, "incomplete-instances")->count == 1);
}

TEST_CASE("an instance of unaligned clocks is counted, and nothing is invented for it") {
  HandBuilt built = job_of(2);
  unsplit(built, add_all_reduce(built, {0, 1000}, 15000, 40000), SplitReason::unconnected);
  const JobReport r = built.report();
  CHECK(r.collectives[0].count == 1);
  CHECK(r.collectives[0].wait_ns.count == 0);
  CHECK(r.collectives[0].start_skew_ns.count == 0);
  CHECK(r.ranks[0].unattributed_ns == 15000);
  CHECK(r.calls[0].note == to_string(SplitReason::unconnected));
  CHECK(finding_of(r, "unaligned-instances") != nullptr);
}

TEST_CASE("a rank's sessions add up to one row") {
  HandBuilt built = job_of(2);
  add_all_reduce(built, {0, 1000}, 5000, 4000);
  built.job.sessions = 2;
  built.job.traces.push_back(built.job.traces[0]);
  built.job.traces[2].session = SessionId(1);
  built.job.traces[2].calls.clear();
  built.clocks.clocks.push_back(built.clocks.clocks[0]);
  built.summaries.push_back(built.summaries[0]);
  built.decomposition.traces.push_back(built.decomposition.traces[0]);
  const JobReport r = built.report();
  REQUIRE(r.ranks.size() == 2);
  CHECK(r.ranks[0].total_ns == 2'000'000);
  CHECK(r.ranks[0].wait_ns == 2000);
  CHECK(r.clocks.size() == 3);
}

TEST_CASE("times of calls count from the window's start on the common clock") {
  HandBuilt built = job_of(2);
  built.clocks.clocks[1].offset_ns = 300;  // its clock is 300 ns ahead
  add_all_reduce(built, {100, 1300}, 5000, 4000);
  const JobReport r = built.report();
  CHECK(r.calls[0].start_ns == 100);
  CHECK(r.calls[1].start_ns == 1000);
  CHECK(r.calls[1].end_ns == 4700);
}

TEST_CASE("ranks without a trace are missing, and a communicator spans the hosts of the ranks present") {
  HandBuilt built = job_of(4);
  built.job.world_size = 6;
  const JobReport r = built.report();
  CHECK(r.job.ranks_missing == std::vector<int32_t>{4, 5});
  CHECK(r.communicators[0].nodes == 2);
  for (RankTrace& trace : built.job.traces) trace.host.clear();
  CHECK(built.report().communicators[0].nodes == -1);
  CHECK(built.report().clocks[3].domain == "rank 3");
}

TEST_CASE("where nothing tells why, stragglers come by the wait they were charged") {
  HandBuilt built = job_of(4);
  add_all_reduce(built, {0, 0, 0, 9000}, 10000, 4000);
  add_all_reduce(built, {20000, 21000, 20000, 20000}, 22000, 4000);
  const JobReport r = built.report();
  REQUIRE(r.stragglers.size() == 2);
  CHECK(r.stragglers[0].rank == 3);
  CHECK(r.stragglers[0].wait_caused_ns == 27000);
  CHECK(r.stragglers[0].late_share == 0.5);
  CHECK(r.stragglers[1].rank == 1);
}

TEST_CASE("causes come first among stragglers, then who most wait began with, and carry what it was") {
  HandBuilt built = job_of(4);
  add_all_reduce(built, {0, 0, 0, 9000}, 10000, 4000);
  add_all_reduce(built, {20000, 21000, 20000, 20000}, 22000, 4000);
  built.blame = built.direct_blame();  // 27000 ns charged to rank 3, 3000 ns to rank 1
  const auto set = [&](size_t rank, LateCause cause, int64_t ns) {
    built.blame.traces[rank].origin_by_cause[static_cast<size_t>(cause)] = ns;
  };
  built.blame.traces[3].origin_by_cause = {};
  set(3, LateCause::program, 11'000);
  built.blame.traces[3].origin_ns = 11'000;
  built.blame.traces[1].origin_by_cause = {};
  set(1, LateCause::host, 17'000);
  set(1, LateCause::copies, 2'000);
  built.blame.traces[1].origin_ns = 19'000;
  built.blame.traces[1].what_if = {true, 400'000, 0.8, true};
  built.blame.replay = {1'000'000, 1'000'000, 500'000, 900'000};
  const JobReport r = built.report();
  REQUIRE(r.stragglers.size() == 2);
  CHECK(r.stragglers[0].rank == 1);
  CHECK(r.stragglers[0].wait_originated_ns == 19'000);
  CHECK(r.stragglers[0].wait_caused_ns == 3'000);
  CHECK(r.stragglers[0].cause == LateCause::host);
  CHECK(r.stragglers[0].cause_share == Approx(17.0 / 19));
  CHECK(r.stragglers[0].standing == Standing::cause);
  CHECK(r.stragglers[0].saved_ns == 400'000);
  CHECK(r.stragglers[1].cause == LateCause::program);
  CHECK_FALSE(r.stragglers[1].standing.has_value());
  CHECK(r.causes.size() == 3);
  CHECK(r.efficiency.transfer == Approx(0.9));
  CHECK(r.efficiency.serialization * r.efficiency.transfer == Approx(r.efficiency.communication));
  CHECK(check_rule(r, "straggler_cost>=40%").value().verdict == RuleOutcome::Verdict::failed);
  CHECK(check_rule(r, "straggler_cost>40%").value().verdict == RuleOutcome::Verdict::passed);
  const std::string text = terminal_summary(r, "", false);
  CHECK(text.find("rank 1    node-a") < text.find("rank 3    node-b"));
  CHECK(text.find("If no rank were slow: 50 % less time. With an infinitely fast") != std::string::npos);
}

TEST_CASE("a rank that is last in most steps is recurring, in few rotating, in one one-off") {
  HandBuilt built = job_of(3);
  for (int64_t step = 0; step < 10; ++step) {
    const int64_t at = step * 100'000;
    // rank 2 is last in seven steps, rank 1 in steps 1 and 8, rank 0 twice within step 5
    std::vector<int64_t> starts = {at, at, at};
    starts[step == 5 ? 0 : step == 1 || step == 8 ? 1 : 2] += 1000;
    add_all_reduce(built, starts, at + 2000, 4000, step);
    for (int64_t& start : starts) start += 50'000;
    add_all_reduce(built, starts, at + 52'000, 4000, step);
  }
  const JobReport r = built.report();
  CHECK(straggler(r, 2).pattern == LatePattern::recurring);
  CHECK(straggler(r, 1).pattern == LatePattern::rotating);
  CHECK(straggler(r, 0).pattern == LatePattern::one_off);
}

TEST_CASE("a single long stall is one-off, though jitter makes its rank the last in every step") {
  HandBuilt built = job_of(2);
  for (int64_t step = 0; step < 10; ++step) {
    const int64_t at = step * 100'000, late = step == 4 ? 40'000 : 100;
    add_all_reduce(built, {at, at + late}, at + 41'000, 4000, step);
  }
  CHECK(straggler(built.report(), 1).late_count == 10);
  CHECK(straggler(built.report(), 1).pattern == LatePattern::one_off);
}

TEST_CASE("without steps, the eighths of a rank's instances show the pattern") {
  HandBuilt built = job_of(2);
  for (int64_t i = 0; i < 16; ++i) {
    const bool second = i % 2 == 1 || i > 8;
    add_all_reduce(built, {i * 60'000 + (second ? 0 : 500), i * 60'000 + (second ? 500 : 0)}, i * 60'000 + 1000, 4000);
  }
  CHECK(straggler(built.report(), 1).pattern == LatePattern::recurring);
}

TEST_CASE("efficiencies multiply to parallel efficiency") {
  HandBuilt built = job_of(2);
  built.summaries[1].compute_ns = 300'000;
  built.summaries[1].exposed_communication_ns = 600'000;
  const JobReport::Efficiency e = built.report().efficiency;
  CHECK(e.parallel == Approx(0.45));
  CHECK(e.load_balance == Approx(0.75));
  CHECK(e.communication == Approx(0.6));
  CHECK(e.gpu_communication == Approx(0.6 / 0.9));
  CHECK(e.parallel == Approx(e.load_balance * e.gpu_communication * e.orchestration));
  CHECK(e.serialization == -1);
}

TEST_CASE("without GPU rows no efficiency is stated") {
  HandBuilt built = job_of(2);
  for (RankSummary& summary : built.summaries) summary = {};
  CHECK(built.report().efficiency.parallel == -1);
}

TEST_CASE("unmatched calls are counted by reason, with the consequence in words") {
  HandBuilt built = job_of(2);
  add_all_reduce(built, {0, 1000}, 5000, 4000);
  add_unmatched(built, 1, UnmatchedReason::no_metadata);
  add_unmatched(built, 0, UnmatchedReason::group_of_one);
  const JobReport r = built.report();
  CHECK(r.matching.calls == 4);
  CHECK(r.matching.matched == 2);
  CHECK(r.matching.unmatched == 2);
  REQUIRE(r.unmatched.size() == 2);
  CHECK(r.unmatched[0].duration_ns == 10'000);
  const Finding* finding = finding_of(r, "unmatched-no-metadata");
  REQUIRE(finding != nullptr);
  CHECK(finding->severity == Severity::warning);
  CHECK(finding->message.find("could not be split") != std::string::npos);
  REQUIRE(finding_of(r, "unmatched-group-of-one") != nullptr);
  CHECK(finding_of(r, "unmatched-group-of-one")->severity == Severity::info);
}

TEST_CASE("a call whose partners have no trace is an incomplete collective, and those who miss are named") {
  HandBuilt built = job_of(2);
  add_all_reduce(built, {0, 1000}, 5000, 4000);
  Communicator pair;  // of rank 1 and one that nobody recorded
  pair.name = "1";
  pair.size = 2;
  pair.members = {Rank(1), Rank(5)};
  pair.source = MembersSource::process_group_config;
  built.job.communicators.communicators.push_back(pair);
  built.instances.communicators.communicators.push_back(pair);
  add_unmatched(built, 1, UnmatchedReason::alone);
  built.job.traces[1].calls.back().communicator = CommunicatorId(1);
  add_unmatched(built, 0, UnmatchedReason::alone);  // its partner has a trace, which lacks the call
  const JobReport r = built.report();
  CHECK(r.matching.calls == 4);
  CHECK(r.matching.unmatched == 2);
  CHECK(r.matching.incomplete_instances == 1);
  const Finding* finding = finding_of(r, "incomplete-instances");
  REQUIRE(finding != nullptr);
  CHECK(finding->count == 1);
  CHECK(finding->message.find("1 of them show one rank alone, since ranks 5 have no trace") != std::string::npos);
}

TEST_CASE("calls whose group no trace names are said to be so, with what would tell it") {
  HandBuilt built = job_of(2);
  for (size_t k = 0; k < 5; ++k) {
    add_unmatched(built, static_cast<int32_t>(k % 2), UnmatchedReason::ambiguous);
    built.job.traces[k % 2].calls.back().communicator = CommunicatorId();
  }
  built.job.world_size_source = WorldSizeSource::distributed_info;
  JobReport r = built.report();
  REQUIRE(finding_of(r, "unmatched-ambiguous") != nullptr);
  CHECK(finding_of(r, "unmatched-ambiguous")->message.find("no trace names the group of 5") != std::string::npos);
  CHECK(terminal_summary(r, "", false).find("These traces name groups") != std::string::npos);
  r.communicators.clear();
  CHECK(terminal_summary(r, "", false).find("Record with PyTorch 2.4 or newer") != std::string::npos);
  r.job.vendor = JobVendor::cpu;
  CHECK(terminal_summary(r, "", false).find("Record more steps") != std::string::npos);
  for (JobReport::UnmatchedRow& call : r.unmatched) call.reason = UnmatchedReason::no_metadata;
  CHECK(terminal_summary(r, "", false).find("neither group nor partner") != std::string::npos);
  for (JobReport::UnmatchedRow& call : r.unmatched) call.reason = UnmatchedReason::ambiguous;
  r.job.ranks_missing = {2};
  CHECK(terminal_summary(r, "", false).find("Add the traces of all ranks") != std::string::npos);
  built.job.world_size_source = WorldSizeSource::file_count;
  const JobReport guessed = built.report();
  CHECK(finding_of(guessed, "unmatched-ambiguous")->message.find("rank<R>-of-<N>") != std::string::npos);
}
