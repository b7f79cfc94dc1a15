// Jobs whose ranks share no call: two jobs, simulated one by one and put side by side as one, on clocks that lie apart.
// What each half is when it is reported on alone is the truth of what is said of it beside the other.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "../temporary_folder.h"
#include "skewscope/correlate.h"
#include "skewscope/report.h"
#include "skewscope/scale.h"
#include "skewscope/simulate.h"

using namespace skewscope;
using test::Folder;

namespace {

namespace fs = std::filesystem;

constexpr int32_t kHalf = 4;  // ranks of each half
constexpr int64_t kApart_ns = 25'000'000;

SimulateOptions half_of(const fs::path& directory, uint64_t seed, int32_t layers) {
  SimulateOptions job;
  job.directory = directory.string();
  job.seed = seed;
  job.nodes = 1;
  job.gpus_per_node = job.tp = kHalf;
  job.layers = layers;
  job.steps = 4;
  job.cpu_rows_per_kernel = 1;
  return job;
}

std::string shifted_ranks(const std::string& text, int32_t by) {  // "[0, 1, 2, 3]"
  nlohmann::json ranks = nlohmann::json::parse(text);
  for (nlohmann::json& rank : ranks) rank = rank.get<int32_t>() + by;
  std::string out = "[";
  for (const nlohmann::json& rank : ranks) out += (out.size() > 1 ? ", " : "") + std::to_string(rank.get<int32_t>());
  return out + "]";
}

// The traces of a job as those of ranks `first` and on of a job of two halves, by a clock that is `ahead_ns` ahead.
void add_half(const fs::path& from, const fs::path& to, int32_t first, int64_t ahead_ns) {
  fs::create_directories(to);
  for (int32_t rank = 0; rank < kHalf; ++rank) {
    std::ifstream file(from / fmt::format("rank{}_trace.json", rank));
    nlohmann::json trace = nlohmann::json::parse(file);
    nlohmann::json& distributed = trace["distributedInfo"];
    distributed["rank"] = rank + first;
    distributed["world_size"] = 2 * kHalf;
    for (nlohmann::json& group : distributed["pg_config"]) {
      for (nlohmann::json& member : group["ranks"]) member = member.get<int32_t>() + first;
    }
    for (nlohmann::json& event : trace["traceEvents"]) {
      const auto args = event.find("args");
      if (args == event.end()) continue;
      for (const char* name : {"Process Group Ranks"}) {
        if (args->contains(name)) (*args)[name] = shifted_ranks((*args)[name].get<std::string>(), first);
      }
      for (const char* name : {"Rank", "Global rank start", "Src Rank", "Dst Rank"}) {
        if (args->contains(name)) (*args)[name] = (*args)[name].get<int32_t>() + first;
      }
    }
    trace["baseTimeNanoseconds"] = trace["baseTimeNanoseconds"].get<int64_t>() + ahead_ns;
    trace["host_name"] = fmt::format("node{}", first / kHalf);
    std::ofstream(to / fmt::format("rank{}_trace.json", rank + first)) << trace.dump();
  }
}

JobReport report_of(const fs::path& directory) {
  StageTimer timer;
  auto report = correlate({directory.string()}, {}, timer);
  REQUIRE(report.ok());
  return std::move(report).value();
}

// Two jobs alone, and as one.
struct TwoHalves {
  Folder folder;
  JobReport alone[2], both;

  TwoHalves(const std::string& name, const SimulateOptions& first, const SimulateOptions& second) : folder(name) {
    SimulateOptions halves[] = {first, second};
    for (int32_t h = 0; h < 2; ++h) {
      halves[h].directory = (folder.path / fmt::format("half{}", h)).string();
      REQUIRE(simulate_job(halves[h]).ok());
      alone[h] = report_of(halves[h].directory);
      add_half(halves[h].directory, joined(), h * kHalf, h * kApart_ns);
    }
    both = report_of(joined());
  }
  fs::path joined() const { return folder.path / "both"; }
};

TwoHalves halves_with_faults(uint64_t seed) {
  SimulateOptions slow = half_of("", seed, 8), late = half_of("", seed + 100, 4);
  slow.slow_ranks = {{1, 1.3}};
  late.host_gaps = {{2, 3'000'000}};
  return TwoHalves("faults", slow, late);
}

const JobReport::Island& island_with(const JobReport& report, int32_t rank) {
  const auto island = std::find_if(report.islands.begin(), report.islands.end(), [&](const auto& one) {
    return std::find(one.ranks.begin(), one.ranks.end(), rank) != one.ranks.end();
  });
  REQUIRE(island != report.islands.end());
  return *island;
}

const JobReport::Straggler& straggler(const JobReport& report, int32_t rank) {
  const auto row = std::find_if(report.stragglers.begin(), report.stragglers.end(),
                                [&](const auto& one) { return one.rank == rank; });
  REQUIRE(row != report.stragglers.end());
  return *row;
}

int64_t mean_length(const std::vector<JobReport::StepRow>& steps) {
  int64_t sum = 0;
  for (const JobReport::StepRow& step : steps) sum += step.duration_ns;
  return steps.empty() ? 0 : sum / std::ssize(steps);
}

bool has_finding(const Findings& findings, FindingCode code) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.code == code; });
}

}  // namespace

TEST_CASE(
    "of two halves that share no call each is told as it is told alone: step, wait, cause, what its repair gains") {
  for (const uint64_t seed : {1, 2, 3}) {
    INFO("seed " << seed);
    const TwoHalves job = halves_with_faults(seed);
    REQUIRE(job.both.islands.size() == 2);
    REQUIRE(job.both.components.size() == 2);
    for (int32_t h = 0; h < 2; ++h) {
      INFO("half " << h);
      const int32_t first = h * kHalf;
      const JobReport& alone = job.alone[h];
      const JobReport::Island& island = island_with(job.both, first);
      CHECK(mean_length(island.steps) == mean_length(alone.steps));
      CHECK(island.window_ns == alone.job.window_ns);
      CHECK(island.what_if.recorded_ns == alone.what_if.recorded_ns);
      CHECK(island.what_if.balanced_ns == alone.what_if.balanced_ns);
      CHECK(island.what_if.no_transfer_ns == alone.what_if.no_transfer_ns);
      CHECK(island.efficiency.parallel == Approx(alone.efficiency.parallel));
      CHECK(island.efficiency.transfer == Approx(alone.efficiency.transfer));
      for (int32_t rank = 0; rank < kHalf; ++rank) {
        INFO("rank " << rank);
        const JobReport::RankRow& beside = job.both.ranks[static_cast<size_t>(first) + static_cast<size_t>(rank)];
        CHECK(beside.wait_ns == alone.ranks[static_cast<size_t>(rank)].wait_ns);
        CHECK(beside.transfer_ns == alone.ranks[static_cast<size_t>(rank)].transfer_ns);
      }
      for (const JobReport::Straggler& row : alone.stragglers) {
        INFO("straggler " << row.rank);
        const JobReport::Straggler& beside = straggler(job.both, first + row.rank);
        CHECK(beside.cause == row.cause);
        CHECK(beside.standing == row.standing);
        CHECK(beside.pattern == row.pattern);
        CHECK(beside.saved_ns == row.saved_ns);
        CHECK(beside.wait_originated_ns == row.wait_originated_ns);
        CHECK(beside.component == island.component);
      }
    }
    CHECK(straggler(job.both, 1).standing == Standing::cause);
    CHECK(straggler(job.both, 1).cause == LateCause::slower_kernels);
    CHECK(straggler(job.both, kHalf + 2).standing == Standing::cause);
    CHECK(straggler(job.both, kHalf + 2).cause == LateCause::host);
  }
}

TEST_CASE("what a half is told does not change with the kind of job beside it") {
  struct Kind {
    const char* name;
    void (*make)(SimulateOptions&);
  };
  const Kind kinds[] = {{"data parallel", [](SimulateOptions& job) { job.tp = 1; }},
                        {"sharded",
                         [](SimulateOptions& job) {
                           job.tp = 1;
                           job.fsdp = true;
                         }},
                        {"experts",
                         [](SimulateOptions& job) {
                           job.tp = 1;
                           job.experts = 2;
                         }},
                        {"pipeline", [](SimulateOptions& job) {
                           job.tp = 1;
                           job.pp = 2;
                           job.micro_batches = 4;
                         }}};
  for (size_t k = 0; k < std::size(kinds); ++k) {
    const Kind &first = kinds[k], &second = kinds[(k + 1) % std::size(kinds)];
    INFO(first.name << " beside " << second.name);
    SimulateOptions slow = half_of("", 20 + k, 4), late = half_of("", 30 + k, 8);
    first.make(slow);
    second.make(late);
    slow.slow_ranks = {{3, 1.5}};
    late.slow_hosts = {{1, 20}};
    late.clock_offset_ms = 30;
    const TwoHalves job("kinds", slow, late);
    for (int32_t h = 0; h < 2; ++h) {
      const JobReport& alone = job.alone[h];
      const JobReport::Island& island = island_with(job.both, h * kHalf);
      CHECK(mean_length(island.steps) == mean_length(alone.steps));
      CHECK(island.what_if.balanced_ns == alone.what_if.balanced_ns);
      CHECK(island.what_if.no_transfer_ns == alone.what_if.no_transfer_ns);
      CHECK(island.what_if.even_experts_ns == alone.what_if.even_experts_ns);
      REQUIRE(island.losses.size() == alone.losses.size());
      for (size_t l = 0; l < alone.losses.size(); ++l) {
        CHECK(island.losses[l].kind == alone.losses[l].kind);
        CHECK(island.losses[l].gain_share == Approx(alone.losses[l].gain_share));
      }
      for (const JobReport::Straggler& row : alone.stragglers) {
        const JobReport::Straggler& beside = straggler(job.both, h * kHalf + row.rank);
        CHECK(beside.cause == row.cause);
        CHECK(beside.standing == row.standing);
        CHECK(beside.saved_ns == row.saved_ns);
      }
    }
  }
}

TEST_CASE("window, steps, what-if and efficiency of a job of two components are those of the longest") {
  const TwoHalves job = halves_with_faults(4);
  CHECK(job.alone[0].job.window_ns > job.alone[1].job.window_ns);
  CHECK(job.both.job.window_ns == job.alone[0].job.window_ns);
  REQUIRE(job.both.steps.size() == job.alone[0].steps.size());
  for (size_t s = 0; s < job.both.steps.size(); ++s) {
    CHECK(job.both.steps[s].duration_ns == job.alone[0].steps[s].duration_ns);
    CHECK(job.both.steps[s].ranks == kHalf);
    CHECK(job.both.steps[s].collectives == job.alone[0].steps[s].collectives);
    CHECK(job.both.steps[s].blocking_wait_ns == job.alone[0].steps[s].blocking_wait_ns);
  }
  CHECK(job.both.what_if.replayed_ns == job.alone[0].what_if.replayed_ns);
  CHECK(job.both.efficiency.parallel == Approx(job.alone[0].efficiency.parallel));
  CHECK(has_finding(job.both.diagnostics, "components"));
}

TEST_CASE("the component with the largest loss leads the verdict, which says that there are two, not compared") {
  const TwoHalves job = halves_with_faults(5);
  // 3 ms of a step of 4 layers are more than 30 % of the time in 8: the shorter half leads.
  REQUIRE(!job.both.losses.empty());
  CHECK(job.both.losses.front().ranks == std::vector<int32_t>{kHalf + 2});
  CHECK(job.both.losses.front().gain_share == Approx(job.alone[1].losses.front().gain_share));
  const std::string summary = terminal_summary(job.both, "", false);
  INFO(summary);
  CHECK(summary.starts_with("Verdict    2 components (4 + 4 ranks), not compared. Ranks 4-7: "));
  CHECK(summary.find("Rank 6 causes") != std::string::npos);
  const size_t first = summary.find("ranks 4-7: A step"), second = summary.find("ranks 0-3: A step");
  CHECK(first != std::string::npos);
  CHECK(second != std::string::npos);
  CHECK(first < second);
  const nlohmann::json document = nlohmann::json::parse(to_json(job.both, {}));
  CHECK(document["verdict"]["gain_share"] == Approx(document["losses"][0]["gain_share"].get<double>()));
  for (const nlohmann::json& component : document["components"]) {
    REQUIRE(component["told"].is_object());
    const size_t h = component["ranks"][0] == 0 ? 0 : 1;
    CHECK(component["told"]["step_ns"] == mean_length(job.alone[h].steps));
    CHECK(component["told"]["what_if"]["balanced_ns"] == job.alone[h].what_if.balanced_ns);
    const std::string sentence = component["told"]["verdict"]["sentence"];
    std::string alone = nlohmann::json::parse(to_json(job.alone[h], {}))["verdict"]["sentence"];
    if (h == 1) alone.replace(alone.find("rank 2"), 6, fmt::format("rank {}", kHalf + 2));  // as both number it
    CHECK(sentence == alone);
  }
}

TEST_CASE("a rank that communicates with nobody is a component, and none of the job's figures are its own") {
  const Folder folder("lone");
  const SimulateOptions job = half_of(folder.path / "half0", 6, 4);
  REQUIRE(simulate_job(job).ok());
  SimulateOptions other = half_of(folder.path / "half1", 7, 16);  // and records far longer
  REQUIRE(simulate_job(other).ok());
  add_half(folder.path / "half0", folder.path / "both", 0, 0);
  add_half(folder.path / "half1", folder.path / "both", kHalf, kApart_ns);
  for (int32_t rank = kHalf + 1; rank < 2 * kHalf; ++rank) {
    fs::remove(folder.path / "both" / fmt::format("rank{}_trace.json", rank));
  }
  const JobReport report = report_of(folder.path / "both"), alone = report_of(folder.path / "half0");
  REQUIRE(report.islands.size() == 1);
  CHECK(report.islands[0].ranks == std::vector<int32_t>{0, 1, 2, 3});
  CHECK(report.what_if.balanced_ns == alone.what_if.balanced_ns);
  CHECK(mean_length(report.steps) == mean_length(alone.steps));
  CHECK(terminal_summary(report, "", false).find("2 components (4 + 1 ranks), not compared. Ranks 0-3:") !=
        std::string::npos);
}

TEST_CASE("two pipelines that share no call are each recognised, though they have different stages") {
  SimulateOptions two = half_of("", 8, 8), four = half_of("", 9, 8);
  two.tp = 2;
  two.pp = 2;
  two.micro_batches = 4;
  four.tp = 1;
  four.pp = 4;
  four.micro_batches = 8;
  const TwoHalves job("pipelines", two, four);
  for (int32_t h = 0; h < 2; ++h) {
    const JobReport::Pipeline &beside = island_with(job.both, h * kHalf).pipeline, &alone = job.alone[h].pipeline;
    REQUIRE(alone.stages > 0);
    CHECK(beside.stages == alone.stages);
    CHECK(beside.micro_batches == alone.micro_batches);
    CHECK(beside.bubble_share == Approx(alone.bubble_share));
  }
}

TEST_CASE("a condition holds where it does for any component, of its own length") {
  const TwoHalves job = halves_with_faults(10);
  const double cost =
      static_cast<double>(straggler(job.alone[1], 2).saved_ns) / static_cast<double>(job.alone[1].what_if.replayed_ns);
  const auto above = check_rule(job.both, fmt::format("straggler_cost>{:.4f}", cost - 0.001));
  const auto below = check_rule(job.both, fmt::format("straggler_cost>{:.4f}", cost + 0.001));
  REQUIRE(above.ok());
  REQUIRE(below.ok());
  CHECK(above.value().verdict == RuleOutcome::Verdict::failed);
  CHECK(below.value().verdict == RuleOutcome::Verdict::passed);
}

TEST_CASE("compare and scale take the step of the longest component, and warn where the components differ") {
  const TwoHalves job = halves_with_faults(11);
  JobReport whole = job.alone[0];  // of the same size, all ranks compared
  whole.job.world_size = 2 * kHalf;
  const NamedReport two{"two", job.both}, one{"one", whole};
  const auto same = compare_runs(two, two);
  REQUIRE(same.ok());
  CHECK(has_finding(same.value().diagnostics, "components"));
  CHECK_FALSE(has_finding(same.value().diagnostics, "components-differ"));
  CHECK(same.value().base.step_ns == Approx(mean_length(job.alone[0].steps)).margin(1));
  double parts_ns = 0, alone_ns = 0;
  for (const auto& part : same.value().parts) parts_ns += part.change.base_ns;
  const auto alone = compare_runs(one, one);
  REQUIRE(alone.ok());
  for (const auto& part : alone.value().parts) alone_ns += part.change.base_ns;
  CHECK(parts_ns == Approx(alone_ns));
  const auto other = compare_runs(two, one);
  REQUIRE(other.ok());
  CHECK(has_finding(other.value().diagnostics, "components-differ"));
  CHECK(other.value().step.change_ns() == Approx(0).margin(1));
  const auto scaled = scale_runs({{"half", job.alone[0]}, two});
  REQUIRE(scaled.ok());
  CHECK(has_finding(scaled.value().diagnostics, "components"));
  CHECK(scaled.value().runs[1].step_ns == Approx(scaled.value().runs[0].step_ns));
  CHECK(scaled.value().runs[1].compute_ns == Approx(scaled.value().runs[0].compute_ns));
}

TEST_CASE("tables tell each component by itself, also when they are read back to compare by") {
  const TwoHalves job = halves_with_faults(12);
  WriteOptions options;
  options.directory = (job.folder.path / "report").string();
  REQUIRE(write_report(job.both, {"", "", ""}, options).ok());
  std::ifstream file(fs::path(options.directory) / "tables" / "component_steps.csv");
  std::string line;
  std::getline(file, line);
  CHECK(line.starts_with("component,session,step,start_ns,duration_ns"));
  size_t rows = 0;
  while (std::getline(file, line)) ++rows;
  CHECK(rows == job.alone[0].steps.size() + job.alone[1].steps.size());
  const auto read = load_report(options.directory);
  REQUIRE(read.ok());
  const JobReport::Component* const longest = longest_component(read.value());
  REQUIRE(longest != nullptr);
  CHECK(longest->ranks == std::vector<int32_t>{0, 1, 2, 3});
}

TEST_CASE("a rule says the same of a report of two halves, of one, and of the documents that these were written to") {
  const TwoHalves job = halves_with_faults(1);
  for (const JobReport* report : {&job.both, &job.alone[0]}) {
    const auto written = parse_report(to_json(*report, {}), "document");
    REQUIRE(written.ok());
    CHECK(written.value().islands.size() == report->islands.size());
    for (const char* rule :
         {"wait_share>5%", "exposed_wait_share>5%", "idle_share>1%", "late_share>10%", "straggler_cost>1%",
          "parallel_efficiency<50%", "load_balance<99%", "unmatched>0", "incomplete_share>0", "missing_ranks>0",
          "warnings>0", "matching.calls>1", "clocks[1].offset_ns>0", "components[1].told.total_ns>1"}) {
      INFO(rule);
      const auto of_report = check_rule(*report, rule), of_document = check_rule(written.value(), rule);
      REQUIRE(of_report.ok() == of_document.ok());
      if (!of_report.ok()) continue;
      CHECK(of_document.value().verdict == of_report.value().verdict);
      CHECK(of_document.value().words == of_report.value().words);
    }
  }
  CHECK_FALSE(parse_report("{", "document").ok());
  CHECK_FALSE(parse_report("{\"schema\": \"skewscope.report/1\"}", "document").ok());
}
