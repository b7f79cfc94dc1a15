// What ranks sent each other in all-to-alls: against the split sizes as simulated traces write them, added up here from
// the JSON itself, against what the simulator was told, and against a recorded job added up by hand.
#include <cmath>
#include <map>
#include <utility>

#include "job_truth.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

using Json = nlohmann::json;
using Matrix = std::map<std::pair<int32_t, int32_t>, int64_t>;  // bytes by sender and receiver

constexpr int64_t kBytesOfBFloat16 = 2;

SimulateOptions with_experts() {
  SimulateOptions o;
  o.nodes = 1;
  o.gpus_per_node = 4;
  o.tp = 1;
  o.steps = 3;
  o.layers = 2;
  o.experts = 2;
  o.seed = 21;
  return o;
}

SimulateOptions with_a_busy_expert() {
  SimulateOptions o = with_experts();
  o.busy_experts = {{2, 2.5}};
  return o;
}

JobReport report_on_simulated(SimulateOptions options, const Folder& folder) {
  options.directory = folder.path.string();
  REQUIRE(simulate_job(options).ok());
  return correlated(options.directory).report;
}

// As the kernels of the traces tell it: by the senders' lists, and by the receivers'.
std::pair<Matrix, Matrix> matrices_in_json(const Folder& folder, int32_t ranks) {
  std::pair<Matrix, Matrix> sums;
  for (int32_t rank = 0; rank < ranks; ++rank) {
    std::ifstream file(folder.path / ("rank" + std::to_string(rank) + "_trace.json"));
    REQUIRE(file.good());
    const Json trace = Json::parse(file);
    for (const Json& event : trace["traceEvents"]) {
      if (event.value("cat", "") != "kernel" || !event["args"].contains("In split size")) continue;
      const Json in = Json::parse(event["args"]["In split size"].get<std::string>());
      const Json out = Json::parse(event["args"]["Out split size"].get<std::string>());
      for (int32_t other = 0; other < static_cast<int32_t>(in.size()); ++other) {
        sums.first[{rank, other}] += in[static_cast<size_t>(other)].get<int64_t>() * kBytesOfBFloat16;
        sums.second[{other, rank}] += out[static_cast<size_t>(other)].get<int64_t>() * kBytesOfBFloat16;
      }
    }
  }
  return sums;
}

Matrix matrix_of(const JobReport::AllToAll& group) {
  Matrix matrix;
  for (const auto& pair : group.pairs) matrix[{pair.sender, pair.receiver}] = pair.bytes;
  return matrix;
}

// Rows and columns of the matrix sum to what the ranks sent and received.
void check_sums(const JobReport::AllToAll& group) {
  std::map<int32_t, std::pair<int64_t, int64_t>> sums;
  for (const auto& pair : group.pairs) {
    sums[pair.sender].first += pair.bytes;
    sums[pair.receiver].second += pair.bytes;
  }
  CHECK(sums.size() == group.ranks.size());
  for (const auto& rank : group.ranks) {
    CHECK(sums[rank.rank].first == rank.sent_bytes);
    CHECK(sums[rank.rank].second == rank.received_bytes);
  }
}

}  // namespace

TEST_CASE("the matrix of a simulated job's experts is what its traces' split sizes add up to") {
  const Folder folder("all_to_all_matrix");
  const JobReport report = report_on_simulated(with_a_busy_expert(), folder);
  REQUIRE(report.all_to_all.size() == 1);
  const JobReport::AllToAll& group = report.all_to_all.front();
  const auto [by_senders, by_receivers] = matrices_in_json(folder, 4);
  CHECK(by_senders == by_receivers);
  CHECK(matrix_of(group) == by_senders);
  check_sums(group);
  CHECK(group.calls == 3 * 2 * 4);  // steps, layers, there and back in both directions
  CHECK(group.calls_with_sizes == group.calls);
  CHECK(group.dispatches == group.calls / 2);
}

TEST_CASE("a rank whose experts were given 2.5 times their part receives that, and the others wait for it") {
  const Folder folder("all_to_all_busy");
  const JobReport report = report_on_simulated(with_a_busy_expert(), folder);
  const JobReport::AllToAll& group = report.all_to_all.front();
  CHECK(group.busiest_rank == 2);
  CHECK(group.imbalance == Approx(2.5).epsilon(1e-4));
  CHECK(group.imbalance_per_call == Approx(2.5).epsilon(1e-4));
  CHECK(group.busiest_share == Approx(2.5 / 4).epsilon(1e-4));
  CHECK(group.waited_ns > 0);
  CHECK(static_cast<double>(group.waited_for_busiest_ns) > 0.95 * static_cast<double>(group.waited_ns));
  REQUIRE_FALSE(report.losses.empty());
  CHECK(report.losses.front().why.find("it receives 2.50 times as many tokens as the mean of its group") !=
        std::string::npos);
  const auto told = std::find_if(report.diagnostics.begin(), report.diagnostics.end(),
                                 [](const Finding& f) { return f.code.text() == "uneven-all-to-all"; });
  CHECK(told != report.diagnostics.end());
}

TEST_CASE("evening out the experts saves what the same job with even experts is shorter") {
  for (const double busy : {1.5, 2.5}) {
    const Folder uneven("all_to_all_uneven"), even("all_to_all_evened");
    SimulateOptions options = with_experts();
    options.steps = 6;
    options.layer_compute_ns = 3'000'000;
    report_on_simulated(options, even);
    options.busy_experts = {{2, busy}};
    const JobReport::WhatIf what_if = report_on_simulated(options, uneven).what_if;
    const double before = JobTruth(uneven.path.string()).elapsed_ns, after = JobTruth(even.path.string()).elapsed_ns;
    REQUIRE(what_if.even_experts_ns > 0);
    const double saved = static_cast<double>(what_if.replayed_ns - what_if.even_experts_ns);
    CAPTURE(busy, before, after, saved);
    CHECK(std::fabs(saved - (before - after)) < 0.02 * before);
  }
}

TEST_CASE("even experts explain no wait and are not mentioned") {
  const Folder folder("all_to_all_even");
  const JobReport report = report_on_simulated(with_experts(), folder);
  REQUIRE(report.all_to_all.size() == 1);
  const JobReport::AllToAll& group = report.all_to_all.front();
  CHECK(group.imbalance == Approx(1));
  CHECK(group.waited_ns == 0);
  CHECK(report.what_if.even_experts_ns == -1);
  check_sums(group);
  for (const Finding& finding : report.diagnostics) CHECK(finding.code.text() != "uneven-all-to-all");
}

TEST_CASE("digests tell the same of all-to-alls as the traces they stand for") {
  const Folder traces("all_to_all_traces"), digests("all_to_all_digests");
  SimulateOptions options = with_a_busy_expert();
  const JobReport by_traces = report_on_simulated(options, traces);
  options.digests = true;
  const JobReport by_digests = report_on_simulated(options, digests);
  REQUIRE(by_digests.all_to_all.size() == 1);
  CHECK(matrix_of(by_digests.all_to_all.front()) == matrix_of(by_traces.all_to_all.front()));
  CHECK(by_digests.all_to_all.front().waited_ns == by_traces.all_to_all.front().waited_ns);
}

TEST_CASE("of groups whose lists tracers cut there is no matrix, but what each rank receives is known") {
  const Folder folder("all_to_all_cut");
  SimulateOptions options = with_a_busy_expert();
  options.nodes = 4;
  options.gpus_per_node = 8;
  options.steps = 1;
  options.layers = 1;
  const JobReport report = report_on_simulated(options, folder);
  REQUIRE(report.all_to_all.size() == 1);
  const JobReport::AllToAll& group = report.all_to_all.front();
  CHECK(group.pairs.empty());
  CHECK(group.ranks.size() == 32);
  CHECK(group.calls_with_sizes == group.calls);
  CHECK(group.busiest_rank == 2);
  CHECK(group.imbalance == Approx(2.5).epsilon(1e-3));
}

TEST_CASE("the matrix of a recorded job is what its lists add up to by hand") {
  const JobReport report = correlated(SKEWSCOPE_SOURCE_DIR "/tests/data/real/experts").report;
  REQUIRE(report.all_to_all.size() == 1);
  const JobReport::AllToAll& group = report.all_to_all.front();
  // Six times there and six times back; 512 floats per row. Rank 0 sends [8452, 4585, 9879, 9852] rows there.
  constexpr int64_t kOnce = int64_t{6} * 512 * 4;
  const std::vector<std::vector<int64_t>> there = {
      {8452, 4585, 9879, 9852}, {1546, 2231, 1453, 2962}, {1354, 2516, 2525, 1797}, {1903, 1586, 2519, 2184}};
  Matrix by_hand;
  for (int32_t s = 0; s < 4; ++s) {
    for (int32_t r = 0; r < 4; ++r) {
      const auto sender = static_cast<size_t>(s), receiver = static_cast<size_t>(r);
      by_hand[{s, r}] = kOnce * (there[sender][receiver] + there[receiver][sender]);
    }
  }
  CHECK(matrix_of(group) == by_hand);
  check_sums(group);
  CHECK(group.calls == 12);
  CHECK(group.dispatches == 6);
  CHECK(group.busiest_rank == 3);
  CHECK(group.imbalance == Approx((9852.0 + 2962 + 1797 + 2184) * 4 / (32768 + 3 * 8192)));
}
