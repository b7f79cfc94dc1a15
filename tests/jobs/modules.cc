// Communication by module of the model: against the simulator, whose program says which layer's parameters each call
// carries, and against recorded jobs as counted from their JSON by count_modules.py.
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "collectives/kernel_table.h"
#include "job_truth.h"
#include "skewscope/correlate.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

struct ModuleSum {
  int64_t calls = 0, time_ns = 0, hidden_ns = 0;
};
using ModuleSums = std::map<std::pair<std::string, std::string>, ModuleSum>;  // by operation and module

ModuleSums sums_of(const JobReport& report) {
  ModuleSums sums;
  for (const JobReport::OverlapRow& row : report.overlap_modules) {
    ModuleSum& sum = sums[{to_string(row.op), row.module}];
    sum.calls += row.calls;
    sum.time_ns += row.time_ns;
    sum.hidden_ns += row.hidden_ns;
  }
  return sums;
}

ModuleSums recorded_sums(const std::string& set) {
  return sums_of(correlated(std::string(SKEWSCOPE_SOURCE_DIR) + "/tests/data/real/" + set).report);
}

// Which layer's parameters the calls of a step carry, in their order: each layer's are gathered while the one in front
// of it computes, in the backward pass its gradients are reduced behind it.
std::vector<std::string> layers_in_order(int32_t layers) {
  std::vector<std::string> order;
  const auto add = [&](int32_t layer) { order.push_back("layers." + std::to_string(layer)); };
  for (int32_t layer = 0; layer < layers; ++layer) add(layer);
  add(layers - 1);
  for (int32_t layer = layers - 1; layer >= 0; --layer) {
    if (layer > 0) add(layer - 1);  // gathered
    add(layer);                     // reduced
  }
  return order;
}

// Calls and their time, by what truth.json says of every collective.
ModuleSums true_sums(const std::string& directory, int32_t layers) {
  std::ifstream file(directory + "/truth.json");
  const auto truth = nlohmann::json::parse(file);
  const std::vector<std::string> order = layers_in_order(layers);
  std::map<std::pair<int64_t, int64_t>, size_t> next;  // by step and communicator
  ModuleSums sums;
  for (const auto& row : truth["collectives"]) {
    const std::string op = row[1];
    if (op != "all_gather" && op != "reduce_scatter") continue;
    const std::string& layer = order.at(next[{row[4], row[0]}]++);
    ModuleSum& sum = sums[{op, layer}];
    for (size_t k = 0; k < row[6].size(); ++k) {
      ++sum.calls;
      sum.time_ns += row[8][k].get<int64_t>() - row[7][k].get<int64_t>();
    }
  }
  return sums;
}

SimulateOptions sharded(const std::string& directory) {
  SimulateOptions options;
  options.nodes = 2;
  options.gpus_per_node = 2;
  options.tp = 1;
  options.fsdp = true;
  options.steps = 3;
  options.layers = 6;
  options.layer_compute_ns = 300'000;
  options.clock_offset_ms = 20;
  options.directory = directory;
  return options;
}

}  // namespace

TEST_CASE("communication of a sharded job is told layer by layer, as its program has it") {
  for (const bool digests : {false, true}) {
    const Folder folder("module_sums");
    SimulateOptions options = sharded(folder.path.string());
    options.digests = digests;
    REQUIRE(simulate_job(options).ok());
    const JobReport report = correlated(options.directory).report;
    ModuleSums found = sums_of(report);
    CHECK(found.count({"all_reduce", ""}) == 1);  // the norm of the gradients is of no layer
    const ModuleSums truth = true_sums(options.directory, options.layers);
    CHECK(truth.size() == 2 * static_cast<size_t>(options.layers));
    for (const auto& [of, sum] : truth) {
      CAPTURE(of.first, of.second);
      CHECK(found[of].calls == sum.calls);
      CHECK(std::llabs(found[of].time_ns - sum.time_ns) <= sum.calls);  // a nanosecond each, by their clocks
    }
    // The first layer's parameters are waited for; of the others' most is behind the layer in front.
    CHECK(found[{"all_gather", "layers.3"}].hidden_ns > found[{"all_gather", "layers.3"}].time_ns / 3);
  }
}

TEST_CASE("rows by module sum to the rows by size, exposed and hidden") {
  const Folder folder("module_rows");
  const SimulateOptions options = sharded(folder.path.string());
  REQUIRE(simulate_job(options).ok());
  const JobReport report = correlated(options.directory).report;
  int64_t calls = 0, hidden = 0, exposed = 0;
  for (const auto& row : report.overlap_modules)
    calls += row.calls, hidden += row.hidden_ns, exposed += row.exposed_ns();
  for (const auto& row : report.overlap) calls -= row.calls, hidden -= row.hidden_ns, exposed -= row.exposed_ns();
  CHECK(calls == 0);
  CHECK(hidden == 0);
  CHECK(exposed == 0);
}

TEST_CASE("recorded: FSDP's ranges name the unit of each call, and what of it is hidden is as counted from the JSON") {
  ModuleSums found = recorded_sums("fsdp2");
  const std::map<std::pair<std::string, std::string>, ModuleSum> counted = {
      {{"all_gather", "0"}, {24, 845'401'802, 1'442'776}}, {{"all_gather", "1"}, {24, 14'022'833, 1'301'615}},
      {{"all_gather", "2"}, {24, 12'880'410, 1'389'045}},  {{"all_gather", "3"}, {24, 12'683'315, 577}},
      {{"reduce_scatter", "0"}, {12, 5'608'042, 0}},       {{"reduce_scatter", "1"}, {12, 6'542'108, 910'034}},
      {{"reduce_scatter", "2"}, {12, 5'913'393, 265'544}}, {{"reduce_scatter", "3"}, {12, 6'601'630, 251'396}}};
  for (const auto& [of, sum] : counted) {
    CAPTURE(of.first, of.second);
    CHECK(found[of].calls == sum.calls);
    CHECK(std::llabs(found[of].time_ns - sum.time_ns) <= sum.calls);
    CHECK(std::llabs(found[of].hidden_ns - sum.hidden_ns) <= 10 * sum.calls);
  }
}

TEST_CASE("recorded: buckets of DistributedDataParallel hold gradients of several modules, and are of none") {
  CHECK(recorded_sums("stacks").empty());
  CHECK(recorded_sums("ddp").empty());
}

TEST_CASE(
    "recorded: what the backward pass launched is of the module of its forward operator, as numbered in the JSON") {
  // The recording has no collective there: its matrix products are taken for some.
  const auto table =
      KernelTable::parse(R"({"kernels": [{"functions": ["sm80_xmma_gemm*"], "kind": "all_gather"}]})", "own");
  CorrelateOptions options;
  options.ingest.kernels = std::make_shared<const KernelTable>(table.value());
  StageTimer timer;
  const auto report = correlate({std::string(SKEWSCOPE_SOURCE_DIR) + "/tests/data/real/stacks"}, options, timer);
  REQUIRE(report.ok());
  const ModuleSums found = sums_of(report.value());
  const std::map<std::string, ModuleSum> counted = {{"Linear_0", {8, 65'537, 0}}, {"Linear_1", {12, 83'073, 0}},
                                                    {"Linear_2", {8, 61'185, 0}}, {"Linear_3", {12, 84'544, 0}},
                                                    {"Linear_4", {8, 62'048, 0}}, {"Linear_5", {12, 72'388, 0}},
                                                    {"Linear_6", {8, 60'225, 0}}, {"Linear_7", {12, 61'057, 0}}};
  for (const auto& [module, sum] : counted) {
    CAPTURE(module);
    CHECK(found.at({"all_gather", module}).calls == sum.calls);
    CHECK(std::llabs(found.at({"all_gather", module}).time_ns - sum.time_ns) <= sum.calls);
  }
  CHECK(found.count({"all_gather", ""}) == 0);
  CHECK(found.at({"all_reduce", ""}).calls == 16);  // buckets
}
