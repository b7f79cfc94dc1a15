#include <catch2/catch.hpp>
#include <cmath>

#include "small_runs.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

ScaleReport scaled(const std::vector<NamedReport>& runs, std::optional<Scaling> scaling = std::nullopt) {
  auto report = scale_runs(runs, scaling);
  REQUIRE(report.ok());
  return std::move(report).value();
}

const ScaleReport::Loss& loss_of(const ScaleReport& report, ScaleFactor factor) {
  for (const ScaleReport::Loss& loss : report.losses) {
    if (loss.factor == factor) return loss;
  }
  throw std::logic_error(std::string("no loss ") + to_string(factor));
}

ErrorKind kind_of(const std::vector<NamedReport>& runs) {
  const auto report = scale_runs(runs);
  REQUIRE_FALSE(report.ok());
  return report.error().kind;
}

// Strong scaling of 800 ns of computing per step; the second half as well balanced.
std::vector<NamedReport> two_sizes() {
  std::vector<NamedReport> runs = {run("two", 2, {1000, 1000}, 400), run("four", 4, {620, 660}, 200)};
  set_efficiency(runs[0], 0.8, 0.8, 0.625);
  set_efficiency(runs[1], 0.5, 0.8, 0.78125);
  return runs;
}

}  // namespace

TEST_CASE("step, speed-up and throughput are against the smallest run, whatever the order given") {
  auto runs = two_sizes();
  std::swap(runs[0], runs[1]);
  const ScaleReport report = scaled(runs);
  REQUIRE(report.runs.size() == 2);
  CHECK(report.runs[0].name == "two");
  CHECK(report.runs[1].step_ns == 640);
  CHECK(report.runs[1].step_error_ns == Approx(20));  // s = 28.28, over sqrt(2)
  CHECK(report.runs[1].speedup == Approx(1000. / 640));
  CHECK(report.runs[1].speedup_error == Approx(1000. / 640 * 20 / 640));
  CHECK(report.runs[1].throughput_per_gpu == Approx(1000. / 640 / 2));
  CHECK(report.runs[1].steps_per_s_per_gpu == Approx(1e9 / 640 / 4));
}

TEST_CASE("half the work per rank on twice the ranks is strong, equal work is weak, and the user knows better") {
  CHECK(scaled(two_sizes()).scaling == Scaling::strong);
  CHECK(scaled({run("a", 2, {1000}, 400), run("b", 4, {1000}, 400)}).scaling == Scaling::weak);
  const ScaleReport given = scaled(two_sizes(), Scaling::weak);
  CHECK(given.scaling == Scaling::weak);
  CHECK(given.scaling_given);
  CHECK(given.runs[1].speedup == Approx(2 * 1000. / 640));
  CHECK(given.runs[1].computation_scaling == Approx(2));
}

TEST_CASE(
    "points of the factors sum to the change of the global efficiency, those of the GPU tree to communication's") {
  const ScaleReport report = scaled(two_sizes());
  // 0.4 to 0.3125: computation scaling stays 1, balance 0.8 to 0.5, transfer 0.625 to 0.78125.
  CHECK(report.runs[0].global == Approx(0.4));
  CHECK(report.runs[1].global == Approx(0.3125));
  const double mean = (0.4 - 0.3125) / std::log(0.4 / 0.3125);
  CHECK(loss_of(report, ScaleFactor::load_balance).points == Approx(100 * mean * std::log(0.8 / 0.5)));
  CHECK(loss_of(report, ScaleFactor::transfer).points == Approx(-100 * mean * std::log(0.78125 / 0.625)));
  CHECK(loss_of(report, ScaleFactor::serialization).points == Approx(0).margin(1e-12));
  double pop = 0, gpu = 0;
  for (const ScaleReport::Loss& loss : report.losses) (loss.tree == FactorTree::pop ? pop : gpu) += loss.points;
  CHECK(std::fabs(pop - 8.75) < 1e-9);
  CHECK(gpu ==
        Approx(loss_of(report, ScaleFactor::serialization).points + loss_of(report, ScaleFactor::transfer).points));
}

TEST_CASE("the rank that computes most is named for lost balance") {
  auto runs = two_sizes();
  runs[1].report.ranks[3].compute_ns += 300;
  const ScaleReport report = scaled(runs);
  const auto& causes = loss_of(report, ScaleFactor::load_balance).causes;
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].ranks == std::vector<int32_t>{3});
  CHECK(causes[0].points == Approx(loss_of(report, ScaleFactor::load_balance).points));
}

TEST_CASE("the communicator whose transfer grew is named for lost transfer, alone among those of its role") {
  auto runs = two_sizes();
  set_efficiency(runs[0], 0.8, 0.8, 0.9);
  set_efficiency(runs[1], 0.8, 0.8, 0.7);
  const auto add = [](JobReport& report, int32_t id, int32_t size, int64_t transfer_ns) {
    JobReport::CommunicatorRow c;
    c.id = id;
    c.desc = "dp";
    c.size = size;
    report.communicators.push_back(c);
    JobReport::CollectiveRow row;
    row.communicator = id;
    row.op = CollectiveKind::all_reduce;
    row.exposed_transfer_ns = transfer_ns;
    report.collectives.push_back(row);
  };
  add(runs[0].report, 1, 2, 200);
  add(runs[1].report, 1, 2, 200);
  add(runs[1].report, 2, 2, 210);
  add(runs[1].report, 3, 2, 800);
  const ScaleReport report = scaled(runs);
  const auto& causes = loss_of(report, ScaleFactor::transfer).causes;
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].communicator == "dp");
  CHECK(causes[0].op == "all_reduce");
  CHECK(causes[0].communicators == std::vector<int32_t>{3});
  CHECK(causes[0].before_ns == 50);  // of two members and two steps
  CHECK(causes[0].after_ns == 200);
}

TEST_CASE("hosts are named for idling until they launch and for the share of waits that began with them") {
  auto runs = two_sizes();
  set_efficiency(runs[0], 0.8, 0.9, 0.9);
  set_efficiency(runs[1], 0.8, 0.6, 0.9);
  JobReport& after = runs[1].report;  // steps of 640 ns
  for (JobReport::RankRow& rank : after.ranks) {
    rank.idle_host_wait_ns = 2 * 64;
    rank.idle_ns = 2 * (64 + 32);
    rank.exposed_wait_ns = 2 * 132;
  }
  const auto add_wait = [&](CollectiveKind op, int64_t exposed_wait_ns) {
    JobReport::CollectiveRow row;
    row.op = op;
    row.exposed_wait_ns = exposed_wait_ns;
    after.collectives.push_back(row);
  };
  add_wait(CollectiveKind::all_reduce, 2 * 4 * 128);
  add_wait(CollectiveKind::broadcast, 2 * 4 * 4);
  after.causes = {{1, LateCause::host, 0, 75}, {2, LateCause::slower_kernels, 0, 25}};
  const ScaleReport::Loss loss = loss_of(scaled(runs), ScaleFactor::serialization);
  REQUIRE(loss.causes.size() == 4);
  CHECK(loss.causes[0].kind == LossCause::host);
  CHECK(loss.causes[0].after_ns == Approx(64 + 0.75 * 132));
  CHECK(loss.causes[0].ranks == std::vector<int32_t>{0, 1, 2, 3});
  CHECK(loss.causes[1].after_ns == Approx(32));  // of idling otherwise, and of what is left of the waits
  CHECK(loss.causes[2].after_ns == Approx(32));
  CHECK(loss.causes[3].kind == LossCause::other);
  CHECK(loss.causes[3].after_ns == Approx(1));
  CHECK(loss.causes[0].points == Approx(loss.points * 163 / (163 + 32 + 32 + 1)));
  double points = 0;
  for (const ScaleReport::Cause& cause : loss.causes) points += cause.points;
  CHECK(points == Approx(loss.points));
  // The wait that began with one host is as long as all the others' idling.
  after.causes = {{1, LateCause::host, 0, 7500}, {2, LateCause::slower_kernels, 0, 2500}};
  CHECK(loss_of(scaled(runs), ScaleFactor::serialization).causes[0].ranks == std::vector<int32_t>{1});
}

TEST_CASE("waits of several operations are together no longer than any rank waited") {
  auto runs = two_sizes();
  set_efficiency(runs[0], 0.8, 0.9, 0.9);
  set_efficiency(runs[1], 0.8, 0.6, 0.9);
  JobReport& after = runs[1].report;  // steps of 640 ns, two
  after.ranks[0].exposed_wait_ns = 2 * 200;
  for (const CollectiveKind op :
       {CollectiveKind::all_reduce, CollectiveKind::broadcast}) {  // each group's slowest members are other ranks
    JobReport::CollectiveRow row;
    row.op = op;
    row.exposed_wait_ns = 2 * 4 * 150;
    after.collectives.push_back(row);
  }
  const ScaleReport::Loss loss = loss_of(scaled(runs), ScaleFactor::serialization);
  REQUIRE(loss.causes.size() == 2);
  CHECK(loss.causes[0].after_ns == Approx(100));
  CHECK(loss.causes[1].after_ns == Approx(100));
}

TEST_CASE("a law is fitted to four sizes and says how sure it is") {
  // step = 100 + 8000 / P, and 2, -2, -2, 2 off.
  const std::vector<NamedReport> runs = {run("a", 8, {1102}, 100), run("b", 16, {598}, 50), run("c", 32, {348}, 25),
                                         run("d", 64, {227}, 12)};
  const ScaleReport report = scaled(runs, Scaling::strong);
  const auto& p = report.projection;
  CHECK(p.refusal == "");
  CHECK(p.a_ns == Approx(100).margin(5));
  CHECK(p.b_ns == Approx(8000).epsilon(0.01));
  REQUIRE(p.points.size() == 2);
  CHECK(p.points[0].world_size == 128);
  CHECK(p.points[0].low_ns < 162.5);
  CHECK(p.points[0].high_ns > 162.5);
  const ScaleReport three = scaled({runs[0], runs[1], runs[2]});
  CHECK(three.projection.points.empty());
  CHECK(three.projection.refusal == "3 sizes are too few for a fit: four are needed");
}

TEST_CASE("no law is fitted where more ranks make steps of equal work no shorter") {
  const ScaleReport report =
      scaled({run("a", 8, {100}, 80), run("b", 16, {120}, 40), run("c", 32, {140}, 20), run("d", 64, {160}, 10)});
  CHECK(report.projection.points.empty());
  CHECK(report.projection.refusal == "steps do not get shorter with more ranks");
}

TEST_CASE("runs without steps, efficiency or replay are compared as far as they go, and it is said") {
  NamedReport small = run("a", 2, {}, 0), large = run("b", 4, {}, 0);
  small.report.job.window_ns = 1000;
  large.report.job.window_ns = 500;
  const ScaleReport report = scaled({small, large}, Scaling::strong);
  CHECK(report.runs[1].speedup == 2);
  CHECK(report.runs[1].step_error_ns == -1);
  CHECK(report.losses.empty());
  REQUIRE(report.diagnostics.size() == 4);
  CHECK(report.diagnostics[0].code.text() == "no-efficiency");
  CHECK(report.diagnostics[2].code.text() == "no-steps");
}

TEST_CASE("where the job was not replayed, communication is one factor") {
  auto runs = two_sizes();
  for (NamedReport& one : runs) one.report.efficiency.serialization = one.report.efficiency.transfer = -1;
  const ScaleReport report = scaled(runs);
  CHECK(loss_of(report, ScaleFactor::communication).tree == FactorTree::pop);
  double pop = 0;
  for (const ScaleReport::Loss& loss : report.losses) pop += loss.tree == FactorTree::pop ? loss.points : 0;
  CHECK(std::fabs(pop - 8.75) < 1e-9);
}

TEST_CASE("one run, two of one size, or a run of nothing are errors") {
  CHECK(kind_of({run("a", 2, {1000}, 400)}) == ErrorKind::usage);
  CHECK(kind_of({run("a", 2, {1000}, 400), run("b", 2, {1000}, 400)}) == ErrorKind::usage);
  CHECK(kind_of({run("a", 2, {1000}, 400), NamedReport()}) == ErrorKind::no_input);
}
