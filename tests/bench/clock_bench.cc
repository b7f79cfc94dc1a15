// How right are the clocks, and what do they cost? Prints Markdown: the scenarios of tests/align/clock_job.h with their
// errors against the truth (mean of five seeds), then seconds to align jobs of four sizes and the exponent of growth.
//   bench_clock            both tables
//   bench_clock scenarios  the first alone
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "../align/clock_job.h"
#include "skewscope/align.h"
#include "skewscope/attribute.h"

using namespace skewscope;

namespace {

constexpr uint64_t kSeeds = 5;

void print_scenario(const ClockScenario& scenario) {
  ClockScore sum;
  std::map<std::string, int> methods;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    ClockJobOptions options = scenario.options;
    options.seed = seed;
    const ClockJob truth = make_clock_job(options);
    const ClockModel clocks = align_clocks(truth.job, truth.instances, AlignMode::automatic);
    const Decomposition split = attribute_time(truth.job, truth.instances, clocks);
    const ClockScore s = score_clocks(truth, truth.instances, clocks, split);
    ++methods[to_string(clocks.clocks.back().method)];
    sum.clock_rms_us += s.clock_rms_us;
    sum.clock_p99_us += s.clock_p99_us;
    sum.wait_mae_us += s.wait_mae_us;
    sum.wait_p99_us += s.wait_p99_us;
    sum.late_right += s.late_right;
    sum.rank_coverage += s.rank_coverage;
    sum.wait_coverage += s.wait_coverage;
    sum.mean_bar_us += s.mean_bar_us;
  }
  std::string method;
  for (const auto& [name, count] : methods) {
    if (!method.empty()) method += ", ";
    method += name;
    if (count < static_cast<int>(kSeeds)) method += " (" + std::to_string(count) + ")";
  }
  const double n = static_cast<double>(kSeeds);
  std::printf("| %s: %s | %s | %.2f | %.2f | %.2f | %.1f | %.2f | %.1f | %.1f | %.1f |\n", scenario.name, scenario.what,
              method.c_str(), sum.clock_rms_us / n, sum.clock_p99_us / n, sum.wait_mae_us / n, sum.wait_p99_us / n,
              100 * sum.late_right / n, sum.mean_bar_us / n, 100 * sum.rank_coverage / n, 100 * sum.wait_coverage / n);
  std::fflush(stdout);
}

void print_scenarios() {
  std::printf(
      "Against simulated truth (tests/align/clock_job.h): 16 nodes x 8 GPUs, TP 8 x DP 16; mean of %d seeds; us, "
      "shares "
      "in %%.\nclock: error of corrected ends inside communicators; late rank right: the one named came within 5 us of "
      "the last;\nbar: mean half width per rank, and how often it holds its clock and each wait's bar its wait.\n\n",
      static_cast<int>(kSeeds));
  std::printf(
      "| scenario | model | clock rms | clock p99 | wait MAE | wait p99 | late rank right | bar | bar covers clock | "
      "bar "
      "covers wait |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
  for (const ClockScenario& scenario : clock_scenarios()) print_scenario(scenario);
}

double seconds_to_align(const ClockJob& truth) {
  const auto begin = std::chrono::steady_clock::now();
  const ClockModel clocks = align_clocks(truth.job, truth.instances, AlignMode::automatic);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return clocks.clocks.empty() ? 0 : seconds;
}

void print_cost() {
  std::printf("\n| ranks | instances per rank | calls | seconds to align |\n|--:|--:|--:|--:|\n");
  double n = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (const int nodes : {16, 32, 64, 128}) {
    ClockJobOptions options;
    options.nodes = nodes;
    options.steps = 50;
    const ClockJob truth = make_clock_job(options);
    std::vector<double> rounds;
    for (int round = 0; round < 3; ++round) rounds.push_back(seconds_to_align(truth));
    std::sort(rounds.begin(), rounds.end());
    size_t calls = 0;
    for (const RankTrace& trace : truth.job.traces) calls += trace.calls.size();
    std::printf("| %zu | %zu | %zu | %.2f |\n", truth.job.traces.size(), calls / truth.job.traces.size(), calls,
                rounds[1]);
    std::fflush(stdout);
    const double x = std::log(static_cast<double>(calls)), y = std::log(rounds[1]);
    n += 1;
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  std::printf("\nSeconds grow as calls to the power %.2f (least squares over the four sizes, median of 3 rounds).\n",
              (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x));
}

}  // namespace

int main(int argc, char** argv) {
  print_scenarios();
  if (argc < 2 || std::string(argv[1]) != "scenarios") print_cost();
  return 0;
}
