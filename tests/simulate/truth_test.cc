// The laws of the simulated job itself, read from truth.json.
#include <algorithm>
#include <map>
#include <set>

#include "simulated_job.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

SimulateOptions everything() {
  SimulateOptions options = small_job();
  options.nodes = 4;
  options.pp = 2;
  options.layers = 4;
  options.slow_ranks = {{3, 1.3}};
  options.host_gaps = {{1, 2'000'000}};
  options.clock_offset_ms = 50;
  options.clock_drift_ppm = 20;
  return options;
}

std::map<int, int64_t> wait_by_rank(const Json& truth) {
  std::map<int, int64_t> wait;
  for (const TrueCollective& one : true_collectives(truth)) {
    for (size_t i = 0; i < one.ranks.size(); ++i) wait[one.ranks[i]] += one.wait[i];
  }
  return wait;
}

int rank_of_least(const std::map<int, int64_t>& by_rank) {
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::min_element(by_rank.begin(), by_rank.end(), less)->first;
}

}  // namespace

TEST_CASE("no member leaves a collective before the last one has arrived") {
  const SimulatedJob job(everything());
  const auto collectives = true_collectives(job.truth());
  REQUIRE(collectives.size() > 50);
  for (const TrueCollective& one : collectives) {
    CHECK(*std::min_element(one.end.begin(), one.end.end()) > *std::max_element(one.start.begin(), one.start.end()));
  }
}

TEST_CASE("wait and transfer are not negative and add up to the duration") {
  const SimulatedJob job(everything());
  for (const TrueCollective& one : true_collectives(job.truth())) {
    for (size_t i = 0; i < one.ranks.size(); ++i) {
      CHECK(one.wait[i] >= 0);
      CHECK(one.transfer[i] > 0);
      CHECK(one.wait[i] + one.transfer[i] == one.end[i] - one.start[i]);
    }
  }
}

TEST_CASE("some member of every symmetric collective waits for nobody") {
  const SimulatedJob job(everything());
  for (const TrueCollective& one : true_collectives(job.truth())) {
    CHECK(*std::min_element(one.wait.begin(), one.wait.end()) == 0);
  }
}

TEST_CASE("a receiver waits for its sender, and a sender for its receiver") {
  const SimulatedJob job(everything());
  int pairs = 0;
  for (const TrueCollective& one : true_collectives(job.truth())) {
    if (one.op != "send") continue;
    ++pairs;
    REQUIRE(one.ranks.size() == 2);
    CHECK(one.wait[0] == std::max<int64_t>(0, one.start[1] - one.start[0]));
    CHECK(one.wait[1] == std::max<int64_t>(0, one.start[0] - one.start[1]));
  }
  CHECK(pairs == 2 * 2 * 4);  // two steps, both directions, four ranks of each stage
}

TEST_CASE("members leave a collective within twenty microseconds of each other") {
  const SimulatedJob job(everything());
  for (const TrueCollective& one : true_collectives(job.truth())) {
    const auto [first, last] = std::minmax_element(one.end.begin(), one.end.end());
    CHECK(*last - *first <= 20'000);
  }
}

TEST_CASE("tensor groups are neighbours, data groups stride over them, pipeline groups over both") {
  SimulateOptions options = small_job();
  options.nodes = 2;
  options.gpus_per_node = 4;
  options.pp = 2;
  const SimulatedJob job(options);
  std::map<std::string, std::set<std::vector<int>>> groups;
  std::set<std::string> names;
  const Json truth = job.truth();
  for (const Json& row : truth["communicators"]) {
    groups[row["desc"]].insert(row["ranks"].get<std::vector<int>>());
    names.insert(row["name"]);
  }
  using Sets = std::set<std::vector<int>>;
  CHECK(groups["default_pg"] == Sets{{0, 1, 2, 3, 4, 5, 6, 7}});
  CHECK(groups["TENSOR_MODEL_PARALLEL_GROUP"] == Sets{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(groups["DATA_PARALLEL_GROUP"] == Sets{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  CHECK(groups["PIPELINE_MODEL_PARALLEL_GROUP"] == Sets{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(names.size() == 13);
}

TEST_CASE("a slow rank waits least") {
  SimulateOptions options = small_job();
  options.slow_ranks = {{2, 1.2}};
  const SimulatedJob job(options);
  CHECK(rank_of_least(wait_by_rank(job.truth())) == 2);
}

TEST_CASE("a host gap makes the others wait for that rank by about the gap") {
  SimulateOptions options = small_job();
  options.host_gaps = {{1, 5'000'000}};
  const SimulatedJob job(options);
  const auto wait = wait_by_rank(job.truth());
  CHECK(rank_of_least(wait) == 1);
  for (const int rank : {0, 2, 3}) CHECK(wait.at(rank) - wait.at(1) == Approx(2 * 5'000'000).margin(1'000'000));
}

TEST_CASE("clock offsets and drifts stay in their bounds and are common to a node") {
  SimulateOptions options = everything();
  const SimulatedJob job(options);
  const Json truth = job.truth();
  std::map<std::string, std::vector<double>> offset, drift;
  for (const Json& rank : truth["ranks"]) {
    CHECK(std::abs(rank["offset_ns"].get<double>()) < 50e6 + 10'000);
    CHECK(std::abs(rank["drift_ppb"].get<double>()) <= 20'000);
    offset[rank["host"]].push_back(rank["offset_ns"]);
    drift[rank["host"]].push_back(rank["drift_ppb"]);
  }
  REQUIRE(offset.size() == 4);
  for (const auto& [host, values] : offset) CHECK(std::abs(values[0] - values[1]) < 12'000);
  for (const auto& [host, values] : drift) CHECK(values[0] == values[1]);
  CHECK(offset["node0"][0] != Approx(offset["node1"][0]).margin(100'000));
}

TEST_CASE("efficiencies multiply, and an ideal network loses nothing to transfer") {
  const SimulatedJob job(everything());
  const Json e = job.truth()["efficiency"];
  const auto value = [&](const char* name) { return e[name].get<double>(); };
  CHECK(value("parallel") == Approx(value("load_balance") * value("serialization") * value("transfer")).epsilon(1e-12));
  CHECK(value("parallel") ==
        Approx(value("load_balance") * value("gpu_communication") * value("orchestration")).epsilon(1e-12));
  for (const auto& item : e.items()) {
    CHECK(item.value() > 0);
    CHECK(item.value() <= 1);
  }
}

TEST_CASE("a launch-bound job takes as long as its hosts do, and gains less by an ideal network") {
  SimulateOptions options = small_job();
  options.layer_compute_ns = 20'000;
  const SimulatedJob usual(options);
  options.launch_factor = 10;
  const SimulatedJob slow(options);
  const auto elapsed = [](const Json& truth) {
    return truth["ranks"][0]["compute_ns"].get<double>() / truth["efficiency"]["communication"].get<double>();
  };
  const Json before = usual.truth(), after = slow.truth();
  CHECK(elapsed(after) > 3 * elapsed(before));
  CHECK(after["options"]["launch_factor"] == 10);
  CHECK(before["efficiency"]["transfer"].get<double>() < 0.9);
  CHECK(after["efficiency"]["transfer"].get<double>() > 0.95);
}

TEST_CASE("a slow link lengthens transfer between nodes in the groups of its rank, and nowhere else") {
  SimulateOptions options = small_job();
  const SimulatedJob fast(options);
  options.slow_links = {{2, 4}};
  const SimulatedJob slow(options);
  const auto before = true_collectives(fast.truth()), after = true_collectives(slow.truth());
  REQUIRE(before.size() == after.size());
  int slower = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    const auto& ranks = before[i].ranks;
    const bool over_link = std::find(ranks.begin(), ranks.end(), 2) != ranks.end() && ranks != std::vector<int>{2, 3};
    const int64_t most_before = *std::max_element(before[i].transfer.begin(), before[i].transfer.end());
    const int64_t most_after = *std::max_element(after[i].transfer.begin(), after[i].transfer.end());
    if (over_link && before[i].bytes > 1'000'000) {
      CHECK(most_after > 3 * most_before);
      ++slower;
    } else {
      CHECK(most_after == Approx(most_before).margin(100));
    }
  }
  CHECK(slower > 0);
}

TEST_CASE("a rank with more kernels or other shapes computes longer by these, the others as without") {
  SimulateOptions options = small_job(), more = options, shapes = options;
  more.more_kernels = {{1, 3}};
  shapes.other_shapes = {{1, 2.0}};
  const SimulatedJob plain(options), with_more(more), with_shapes(shapes);
  const auto computed = [](const SimulatedJob& job, size_t rank) {
    return static_cast<double>(job.truth()["ranks"][rank]["compute_ns"].get<int64_t>());
  };
  const auto rows = [](const SimulatedJob& job, size_t rank) {
    return job.truth()["ranks"][rank]["gpu_rows"].get<int>();
  };
  const double layers = 2.0 * options.steps * options.layers * static_cast<double>(options.layer_compute_ns);
  CHECK(computed(with_more, 1) - computed(plain, 1) == Approx(0.15 * layers).epsilon(0.02));
  CHECK(rows(with_more, 1) - rows(plain, 1) == 3 * 2 * options.steps * options.layers);
  CHECK(computed(with_shapes, 1) - computed(plain, 1) == Approx(layers).epsilon(0.02));
  CHECK(rows(with_shapes, 1) == rows(plain, 1));
  CHECK(with_shapes.text("rank1_trace.json").find("\"Input Dims\": [[4096, 4096]") != std::string::npos);
  for (const size_t rank : {0, 2, 3}) {
    CHECK(computed(with_more, rank) == computed(plain, rank));
    CHECK(computed(with_shapes, rank) == computed(plain, rank));
  }
}

TEST_CASE("experts compute what they received, and the tokens of a group are neither lost nor doubled") {
  SimulateOptions options = small_job();
  options.tp = 1;
  options.experts = 2;
  SimulateOptions busy = options;
  busy.busy_experts = {{3, 2.5}};
  const SimulatedJob even(options), uneven(busy);
  const auto received = [](const SimulatedJob& job, int rank) {
    int64_t elements = 0;
    const Json trace = job.trace(rank);
    for (const Json& event : trace["traceEvents"]) {
      if (event.value("cat", "") != "kernel" || !event["args"].contains("Out split size")) continue;
      if (event["args"]["Collective name"] != "all_to_allv") continue;
      const Json split = Json::parse(event["args"]["Out split size"].get<std::string>());
      int64_t sum = 0;
      for (const Json& one : split) sum += one.get<int64_t>();
      CHECK(sum == event["args"]["Out msg nelems"].get<int64_t>());
      if (elements == 0) elements = sum;  // of the first, which brings tokens
    }
    return elements;
  };
  int64_t all_even = 0, all_uneven = 0;
  for (int rank = 0; rank < 4; ++rank) {
    all_even += received(even, rank);
    all_uneven += received(uneven, rank);
  }
  CHECK(static_cast<double>(all_uneven) == Approx(static_cast<double>(all_even)).epsilon(1e-5));
  CHECK(static_cast<double>(received(uneven, 3)) == Approx(2.5 * static_cast<double>(received(even, 3))).epsilon(1e-5));
  const auto computed = [](const SimulatedJob& job, size_t rank) {
    return job.truth()["ranks"][rank]["compute_ns"].get<int64_t>();
  };
  CHECK(computed(uneven, 3) > computed(even, 3));
  CHECK(computed(uneven, 0) < computed(even, 0));
}

TEST_CASE("sharded parameters are gathered twice and gradients reduced once per layer") {
  SimulateOptions options = small_job();
  options.tp = 1;
  options.fsdp = true;
  const SimulatedJob job(options);
  std::map<std::string, int> calls;
  for (const TrueCollective& one : true_collectives(job.truth())) ++calls[one.op];
  CHECK(calls["all_gather"] == 2 * options.steps * options.layers);
  CHECK(calls["reduce_scatter"] == options.steps * options.layers);
}
