// Lists stand in the order of what they show: no row has more than the one above it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "hand_built.h"
#include "skewscope/examine.h"
#include "src/report/words/rank_sections.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

// What stands in a column of the rows behind a heading, up to an empty line. `at`: the number of the word in the row.
std::vector<std::string> column_behind(const std::string& text, const std::string& heading, size_t at) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line) && !line.starts_with(heading)) {
  }
  std::vector<std::string> words;
  while (std::getline(lines, line) && line.starts_with("  ")) {
    std::istringstream row(line);
    std::string word;
    for (size_t i = 0; i <= at; ++i) row >> word;
    words.push_back(word);
  }
  return words;
}

JobReport::Straggler late(int32_t rank, int64_t began_ns, Standing standing) {
  JobReport::Straggler s;
  s.rank = rank;
  s.late_count = s.late_candidates = 1;
  s.wait_originated_ns = s.wait_caused_ns = began_ns;
  s.cause = LateCause::host;
  s.standing = standing;
  return s;
}

JobReport job_with_stragglers() {
  JobReport report = job_of(6).report();
  report.ranks[0].wait_ns = report.ranks[0].transfer_ns = 1'000'000;
  report.ranks[0].collectives = 5;
  report.stragglers = {late(0, 400'000, Standing::suspect), late(1, 250'000, Standing::suspect),
                       late(2, 200'000, Standing::suspect), late(3, 100'000, Standing::cause),
                       late(4, 50'000, Standing::cause)};
  return report;
}

}  // namespace

TEST_CASE("the summary shows who most wait began with from most to least, and no cause is left out for it") {
  const std::string summary = terminal_summary(job_with_stragglers(), "", false);
  INFO(summary);
  CHECK(column_behind(summary, "Straggler", 1) == std::vector<std::string>{"0", "3", "4"});
  CHECK(column_behind(summary, "Straggler", 3) == std::vector<std::string>{"40", "10", "5"});
}

TEST_CASE("late ranks stand by the wait that began with them, whether their replay stands out or not") {
  HandBuilt built = job_of(4);
  add_all_reduce(built, {0, 0, 0, 9'000}, 15'000, 40'000);
  add_all_reduce(built, {20'000, 20'000, 21'000, 20'000}, 27'000, 40'000);
  add_all_reduce(built, {30'000, 34'000, 30'000, 30'000}, 37'000, 40'000);
  built.blame = built.direct_blame();
  built.blame.traces[2].what_if = {true, 1'000, 0.9, true};  // the cause, with least wait
  const JobReport report = built.report();
  std::vector<int32_t> ranks;
  for (const JobReport::Straggler& s : report.stragglers) ranks.push_back(s.rank);
  CHECK(ranks == std::vector<int32_t>{3, 1, 2});
  CHECK(std::is_sorted(report.stragglers.begin(), report.stragglers.end(),
                       [](const auto& a, const auto& b) { return a.wait_originated_ns > b.wait_originated_ns; }));
}

TEST_CASE("the summary shows the collectives with most wait first") {
  HandBuilt built = job_of(2);
  add_all_reduce(built, {0, 1'000}, 5'000, 1'000);
  add_all_reduce(built, {10'000, 14'000}, 15'000, 2'000);
  add_all_reduce(built, {20'000, 22'000}, 25'000, 3'000);
  const std::string summary = terminal_summary(built.report(), "", false);
  INFO(summary);
  CHECK(column_behind(summary, "Collectives with most waiting", 3) ==
        std::vector<std::string>{"2.00", "3.00", "1.00"});  // kB
}

TEST_CASE("losses stand by their weight, which is shown") {
  JobReport report = job_of(4).report();
  report.losses.resize(3);
  report.losses[0].gain_share = 0.3;
  report.losses[1].gain_share = 0.5;
  report.losses[1].bound = GainBound::at_most;
  report.losses[2].gain_share = 0.2;
  const auto json = nlohmann::json::parse(to_json(report, kStamp));
  std::vector<double> weights;
  for (const auto& loss : json["losses"]) weights.push_back(loss["weight"]);
  CHECK(weights == std::vector<double>{0.3, 0.25, 0.2});
}

TEST_CASE("what is said beside the largest loss stands by what it gains") {
  JobReport report = job_with_stragglers();
  report.losses.resize(3);
  report.losses[0].gain_share = 0.5;
  report.losses[0].why = "Reason.";
  report.losses[1] = report.losses[2] = report.losses[0];
  report.losses[1].gain_share = 0.2;
  report.losses[1].name = "first";
  report.losses[2].gain_share = 0.3;
  report.losses[2].bound = GainBound::at_most;
  report.losses[2].name = "second";
  const std::string summary = terminal_summary(report, "", false);
  INFO(summary);
  CHECK(summary.find("Also: second (at most 30 %), first (20 %)") != std::string::npos);
}

TEST_CASE("compare shows what got slower most first, and nothing that may be chance") {
  CompareReport compared;
  compared.base.step_ns = compared.now.step_ns = 10'000'000;
  compared.step.base_ns = compared.step.new_ns = 10'000'000;
  for (const auto& [rank, more, significant] :
       {std::tuple{0, 1e5, true}, std::tuple{1, 9e5, false}, std::tuple{2, 3e5, true}, std::tuple{3, 5e5, false}}) {
    CompareReport::RankPart part{rank, TimePart::compute, {1e6, 1e6 + more, 0.01, significant}};
    compared.ranks.push_back(part);
  }
  const std::string text = terminal_summary(compared, "", false);
  INFO(text);
  CHECK(column_behind(text, "Ranks", 1) == std::vector<std::string>{"2", "0"});
}

TEST_CASE("scale shows the causes of a loss with most points first") {
  ScaleReport report;
  report.runs.resize(2);
  report.runs[0].world_size = 8;
  report.runs[1].world_size = 16;
  for (ScaleReport::Run& run : report.runs) run.step_ns = 1e6;
  ScaleReport::Loss loss;
  loss.to = 1;
  loss.tree = FactorTree::pop;
  loss.factor = ScaleFactor::load_balance;
  for (const double points : {2.0, 7.0, 4.0}) {
    ScaleReport::Cause cause;
    cause.kind = LossCause::rank;
    cause.ranks = {static_cast<int32_t>(points)};
    cause.points = points;
    loss.causes.push_back(cause);
  }
  report.losses = {loss};
  const std::string text = terminal_summary(report, "", false);
  INFO(text);
  const size_t first = text.find("rank 7"), second = text.find("rank 4"), third = text.find("rank 2");
  CHECK(first < second);
  CHECK(second < third);
  CHECK(third != std::string::npos);
}

TEST_CASE("operators, work and modules of one GPU stand by the GPU time that is shown first") {
  RankReport one;
  OperatorTables& tables = one.operators;
  for (const auto& [name, gpu_ns, backward_ns] :
       {std::tuple{"small", 1'000, 500}, std::tuple{"large", 2'000, 9'000}, std::tuple{"forward", 8'000, 0}}) {
    ModuleRow module;
    module.name = name;
    module.calls = 1;
    module.gpu_ns = gpu_ns;
    module.backward_gpu_ns = backward_ns;
    tables.modules.push_back(module);
    OperatorRow op;
    op.name = name;
    op.calls = 1;
    op.direct_ns = gpu_ns;
    tables.operators.push_back(op);
  }
  const std::string text =
      report::operators_section(one, RankTextOptions()) + report::modules_section(one, RankTextOptions());
  INFO(text);
  CHECK(column_behind(text, "Module", 0) == std::vector<std::string>{"large", "forward", "small"});
  CHECK(column_behind(text, "Module", 2) == std::vector<std::string>{"11.0", "8.00", "1.50"});
  CHECK(column_behind(text, "Operator", 0) == std::vector<std::string>{"forward", "large", "small"});
}
