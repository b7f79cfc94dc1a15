#include <catch2/catch.hpp>

#include "small_runs.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

CompareReport compared(const NamedReport& base, const NamedReport& now) {
  auto report = compare_runs(base, now);
  REQUIRE(report.ok());
  return std::move(report).value();
}

const CompareReport::Change& rank_part(const CompareReport& report, int32_t rank, TimePart part) {
  for (const CompareReport::RankPart& row : report.ranks) {
    if (row.rank == rank && row.part == part) return row.change;
  }
  throw std::logic_error("no such part");
}

// Makes `rank` compute `more_ns` longer in every step.
void slow(NamedReport& named, int32_t rank, int64_t more_ns) {
  for (JobReport::RankStep& row : named.report.rank_steps) {
    if (row.rank == rank) row.compute_ns += more_ns + row.step % 2;
  }
}

const std::vector<int64_t> kCalm = {1000, 1010, 990, 1000, 1005, 995};

}  // namespace

TEST_CASE("Welch's t of step lengths tells a slower run from chance") {
  // Means 1000 and 1060, variances 50: t = 60 / sqrt(100 / 6) = 14.7 with 10 degrees of freedom.
  const CompareReport slower =
      compared(run("a", 2, kCalm, 500), run("b", 2, {1060, 1070, 1050, 1060, 1065, 1055}, 500));
  CHECK(slower.regression() == Approx(0.06));
  CHECK(slower.step.p_value == Approx(4.2e-8).epsilon(0.05));
  CHECK(slower.step.significant);
  const CompareReport same = compared(run("a", 2, kCalm, 500), run("b", 2, {1002, 1012, 992, 1002, 1007, 997}, 500));
  CHECK_FALSE(same.step.significant);
  CHECK(same.step.p_value > 0.5);
}

TEST_CASE("with one step nothing is determined, however large the difference") {
  const CompareReport report = compared(run("a", 2, {1000}, 500), run("b", 2, {2000}, 500));
  CHECK(report.regression() == 1);
  CHECK(report.step.p_value == -1);
  CHECK_FALSE(report.step.significant);
  for (const auto& row : report.ranks) CHECK_FALSE(row.change.significant);
  REQUIRE(report.diagnostics.size() == 2);
  CHECK(report.diagnostics[0].code.text() == "one-step");
}

TEST_CASE("the rank that computes longer is found among its peers, and parts sum to the step") {
  NamedReport base = run("a", 4, kCalm, 500), now = run("b", 4, kCalm, 500);
  slow(base, 2, 0);
  slow(now, 2, 100);
  const CompareReport report = compared(base, now);
  CHECK(rank_part(report, 2, TimePart::compute).change_ns() == Approx(100));
  CHECK(rank_part(report, 2, TimePart::compute).significant);
  CHECK_FALSE(rank_part(report, 1, TimePart::compute).significant);
  double sum = 0;
  for (const CompareReport::Part& part : report.parts) sum += part.change.change_ns();
  CHECK(sum == Approx(25));  // of four ranks, one computes 100 more; the steps are as long
}

TEST_CASE("a collective is the same in both runs by its communicator's role and members, not by its number") {
  NamedReport base = run("a", 2, kCalm, 500), now = run("b", 2, kCalm, 500);
  base.report.communicators[0].id = 4;
  for (int64_t step = 0; step < 6; ++step) {
    JobReport::CollectiveStep row;
    row.communicator = 4;
    row.op = CollectiveKind::all_reduce;
    row.step = step;
    row.transfer_ns = 200 + step;
    base.report.collective_steps.push_back(row);
    row.communicator = 0;
    row.transfer_ns += 100;
    now.report.collective_steps.push_back(row);
  }
  const CompareReport report = compared(base, now);
  for (const auto* rows : {&report.collectives, &report.communicators}) {
    for (const CompareReport::CollectivePart& row : *rows) {
      CHECK(row.communicator == 0);
      CHECK(row.change.change_ns() == Approx(row.part == TimePart::transfer ? 50 : 0));  // per member
      CHECK(row.change.significant == (row.part == TimePart::transfer));
    }
    CHECK(rows->size() == 4);
  }
}

TEST_CASE("kernels are compared where both runs have their tables, without significance") {
  NamedReport base = run("a", 2, kCalm, 500), now = run("b", 2, kCalm, 500);
  JobReport::RankStatistic gemm;
  gemm.table = "kernels";
  gemm.key = "gemm";
  gemm.metric = "total_ns";
  gemm.median = 600;
  base.report.rank_statistics = {gemm};
  CHECK(compared(base, now).kernels.empty());
  gemm.median = 1200;
  now.report.rank_statistics = {gemm};
  const CompareReport report = compared(base, now);
  REQUIRE(report.kernels.size() == 1);
  CHECK(report.kernels[0].change.change_ns() == 100);  // over six steps
  CHECK(report.kernels[0].change.p_value == -1);
  CHECK(report.operators.empty());
}

TEST_CASE("runs of different sizes are for scale") {
  const auto report = compare_runs(run("a", 2, kCalm, 500), run("b", 4, kCalm, 500));
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().kind == ErrorKind::usage);
}

namespace {

Error refused(const NamedReport& base, const NamedReport& now) {
  auto report = compare_runs(base, now);
  REQUIRE_FALSE(report.ok());
  return report.error();
}

const Finding* finding_of(const CompareReport& report, FindingCode code) {
  for (const Finding& finding : report.diagnostics) {
    if (finding.code == code) return &finding;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("runs whose steps are not the same thing are refused in plain words") {
  const NamedReport gpu = run("gpu", 2, kCalm, 500);
  NamedReport host = gpu, older = gpu, none = run("none", 2, {}, 0);
  host.name = "host";
  host.report.job.step_basis = StepBasis::host;
  older.name = "older";
  older.report.job.step_basis = StepBasis::none;
  none.report.job.window_ns = 6000;
  CHECK(refused(gpu, host).kind == ErrorKind::usage);
  CHECK(refused(gpu, host).message.find("host has no GPU") != std::string::npos);
  CHECK(refused(older, gpu).message.find("older is a report of an older skewscope") != std::string::npos);
  CHECK(refused(gpu, none).message.find("none has no steps") != std::string::npos);
  CHECK(finding_of(compared(older, older), "host-steps") != nullptr);
  CHECK(finding_of(compared(gpu, gpu), "host-steps") == nullptr);
}

TEST_CASE("runs that launch other collectives in a step are compared with a warning, other numbers of steps without") {
  const NamedReport base = run("base", 2, kCalm, 500);
  NamedReport other = base, fused = base, later = run("later", 2, {1000, 1010, 990, 1000}, 500);
  other.name = "other";
  for (JobReport::StepRow& step : other.report.steps) step.collectives = 2 * 14;
  for (JobReport::StepRow& step : fused.report.steps) step.gpu_rows = 2 * 60;
  for (JobReport::StepRow& step : later.report.steps) step.step += 1000;
  for (JobReport::RankStep& step : later.report.rank_steps) step.step += 1000;
  const CompareReport report = compared(base, other);
  CHECK_FALSE(report.comparable);
  REQUIRE(finding_of(report, "steps-not-comparable") != nullptr);
  CHECK(finding_of(report, "steps-not-comparable")->message.find("10 collectives a step in base, 14 in other") !=
        std::string::npos);
  CHECK(compared(base, fused).comparable);
  REQUIRE(finding_of(compared(base, fused), "other-kernels") != nullptr);
  CHECK(finding_of(compared(base, fused), "other-kernels")->severity == Severity::info);
  CHECK(compared(base, later).diagnostics.empty());
}

TEST_CASE("runs whose collectives are other operations are compared with a warning, though there are as many") {
  NamedReport base = run("base", 2, kCalm, 500), now = run("now", 2, kCalm, 500);
  const auto add = [](NamedReport& named, CollectiveKind op, int64_t count) {
    JobReport::CollectiveRow row;
    row.op = op;
    row.count = count;
    named.report.collectives.push_back(row);
  };
  add(base, CollectiveKind::all_gather, 60);
  add(now, CollectiveKind::all_gather, 55);
  add(now, CollectiveKind::all_reduce, 5);
  CHECK(compared(base, now).comparable);  // 8 % of them
  add(now, CollectiveKind::all_reduce, 60);
  const CompareReport report = compared(base, now);
  CHECK_FALSE(report.comparable);
  REQUIRE(finding_of(report, "steps-not-comparable") != nullptr);
  CHECK(finding_of(report, "steps-not-comparable")->message.find("100 % all_gather in base, 54 % all_reduce in now") !=
        std::string::npos);
}

TEST_CASE("of two different jobs nothing is significant, however far apart they are") {
  const NamedReport base = run("base", 2, kCalm, 500);
  NamedReport other = run("other", 2, {5000, 5010, 4990, 5000}, 500);
  CHECK(compared(base, other).step.significant);
  for (JobReport::StepRow& step : other.report.steps) step.collectives = 2 * 14;
  const CompareReport report = compared(base, other);
  CHECK_FALSE(report.comparable);
  CHECK_FALSE(report.step.significant);
  CHECK(report.step.p_value < 0.01);
  for (const CompareReport::RankPart& part : report.ranks) CHECK_FALSE(part.change.significant);
  for (const CompareReport::Part& part : report.parts) CHECK_FALSE(part.change.significant);
}

TEST_CASE("a step that does more now and then, such as a checkpoint, is no other program") {
  const NamedReport base = run("base", 2, kCalm, 500);
  NamedReport saving = base;
  saving.report.steps[3].collectives = 1000;
  CHECK(compared(base, saving).comparable);
}

namespace {

// Each host takes `own_ns` by itself and waits `wait_ns` for its GPU, in every step; with a little spread.
NamedReport with_hosts(NamedReport named, int64_t own_ns, int64_t wait_ns) {
  for (JobReport::RankStep& row : named.report.rank_steps) {
    row.host_wait_ns = wait_ns;
    row.host_launch_ns = own_ns / 4;
    row.host_duration_ns = own_ns + wait_ns + row.step % 2;
  }
  return named;
}

const CompareReport::Change& host_part(const CompareReport& report, TimePart part) {
  for (const CompareReport::Part& row : report.host) {
    if (row.part == part) return row.change;
  }
  throw std::logic_error("no such part");
}

}  // namespace

TEST_CASE("a host that takes longer by itself is found though its steps are as long, for it waits less") {
  const NamedReport base = with_hosts(run("eager", 2, kCalm, 500), 300, 600);
  NamedReport now = with_hosts(run("compiled", 2, kCalm, 500), 400, 500);
  for (JobReport::RankRow& rank : now.report.ranks) rank.idle_host_wait_ns = 6 * 50;
  const CompareReport report = compared(base, now);
  CHECK(host_part(report, TimePart::host_work).change_ns() == Approx(100));
  CHECK(host_part(report, TimePart::host_work).significant);
  CHECK(host_part(report, TimePart::host_wait).change_ns() == Approx(-100));
  CHECK(host_part(report, TimePart::host_launch).change_ns() == Approx(25));
  CHECK_FALSE(host_part(report, TimePart::host_step).significant);
  CHECK(host_part(report, TimePart::host_bound_idle).change_ns() == Approx(50));  // a step and rank
  CHECK(host_part(report, TimePart::host_bound_idle).p_value == -1);
  for (const CompareReport::RankPart& row : report.host_ranks) {
    if (row.part == TimePart::host_work) CHECK(row.change.change_ns() == Approx(100));
  }
  CHECK(report.host_ranks.size() == 2 * 5);
}

TEST_CASE("of reports that do not say what hosts did, their steps alone are compared") {
  const NamedReport older = run("older", 2, kCalm, 500);
  const CompareReport report = compared(older, with_hosts(run("newer", 2, kCalm, 500), 400, 500));
  CHECK(report.host.size() == 2);
  CHECK(host_part(report, TimePart::host_step).new_ns == Approx(900.5));
}
