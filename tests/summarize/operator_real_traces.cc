// Tables of operators of real traces beside what an independent Python program made of the same files (containment of
// operators, calls and annotations per thread, from the decimal digits).
#include <algorithm>
#include <catch2/catch.hpp>

#include "../real_trace_folder.h"
#include "skewscope/summarize.h"
#include "src/summarize/operators/forward_links.h"
#include "visit_trace.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

OperatorTables operator_tables_of(const std::string& file) {
  OperatorTables tables;
  visit_trace(file, [&](const TraceFile& read) {
    OperatorOptions options;
    if (!read.linked.detail->devices.empty()) {
      options.device = find_device(efficiency::built_in_devices(), read.linked.detail->devices.front().name);
    }
    tables = tabulate_operators(read.linked.trace, *read.linked.detail, read.linked.strings, options);
  });
  return tables;
}

std::string file_of(const std::string& file) {
  const std::string folder = traces("single");
  return folder.empty() ? "" : folder + "/" + file;
}

struct Averages {
  const char *file, *name;
  int64_t calls, host_self_ns, host_total_ns, device_self_ns, device_total_ns;
};

constexpr Averages kAverages[] = {
    {"tracelens/h100_qwen.json.gz", "aten::linear", 168, 755251, 9746082, 0, 8997754},
    {"tracelens/h100_qwen.json.gz", "aten::mm", 96, 2430248, 3690535, 6668679, 6668679},
    {"tracelens/h100_qwen.json.gz", "aten::copy_", 197, 783571, 1514526, 5101933, 5101933},
    {"tracelens/h100_qwen.json.gz", "aten::to", 153, 133655, 1725970, 0, 2335666},
    {"tracelens/b200_rank0of8_vllm_eager.json.gz", "vllm::moe_forward", 36, 15104133, 18847841, 6078426, 6078426},
    {"tracelens/b200_rank0of8_vllm_eager.json.gz", "aten::copy_", 236, 3446882, 6998965, 1186100, 1186100},
    {"tracelens/b200_rank0of8_vllm_eager.json.gz", "vllm::unified_attention_with_output", 36, 6678816, 9125333, 485821,
     648507},
    {"tracelens/mi300_rank0of8_resnet_checkpoint.json.gz", "aten::convolution", 117, 1589188, 8623000, 0, 4947927},
    {"tracelens/mi300_rank0of8_resnet_checkpoint.json.gz", "aten::add_", 189, 513027, 1179895, 813048, 813048},
    {"tracelens/mi300_rank0of8_resnet_checkpoint.json.gz", "autograd::engine::evaluate_function: ConvolutionBackward0",
     60, 396839, 5747867, 0, 5539862},
    {"hta/a100_rank0of2_nccl_args.json.gz", "aten::copy_", 960, 26284975, 35334341, 2262781, 2262781},
    {"hta/a100_rank0of2_nccl_args.json.gz", "c10d::allreduce_", 15, 1492255, 4322516, 0, 46762159},
    {"hta/v100_rank0of1_ns_resolution.pt.trace.json.gz", "aten::convolution", 265, 1016409, 29767220, 0, 89867359},
    {"hta/v100_rank0of1_ns_resolution.pt.trace.json.gz", "aten::add_", 425, 3056716, 21849261, 26840607, 26840607},
};

}  // namespace

TEST_CASE("host and device times of operators of real traces are those of the profiler's own table") {
  for (const Averages& expected : kAverages) {
    const std::string file = file_of(expected.file);
    if (file.empty()) return;
    INFO(expected.file << " " << expected.name);
    Averages found = {expected.file, expected.name, 0, 0, 0, 0, 0};
    for (const OperatorRow& row : operator_tables_of(file).operators) {
      if (row.name != expected.name) continue;  // once, and again where checkpointing does
      found.calls += row.calls;
      found.host_self_ns += row.host_self_ns;
      found.host_total_ns += row.host_total_ns;
      found.device_self_ns += row.device_self_ns;
      found.device_total_ns += row.device_total_ns;
    }
    CHECK(found.calls == expected.calls);
    CHECK(found.host_self_ns == expected.host_self_ns);
    CHECK(found.host_total_ns == expected.host_total_ns);
    CHECK(found.device_self_ns == expected.device_self_ns);
    CHECK(found.device_total_ns == expected.device_total_ns);
  }
}

TEST_CASE("backward nodes of a real trace belong to the operators that the profiler's own arrows start at") {
  const std::string file = file_of("tracelens/mi300_rank0of8_resnet_checkpoint.json.gz");
  if (file.empty()) return;
  visit_trace(file, [&](const TraceFile& read) {
    const HostEvents& host = read.linked.detail->host;
    const std::vector<int32_t> forward = summarize::forward_rows(host);
    int64_t nodes = 0, places = 0;  // 213 arrows; the sum of (place of the start) times (place of the end)
    for (size_t row = 0; row < host.size(); ++row) {
      const bool around = read.linked.strings.view(host.name[row]).substr(0, 16) == "autograd::engine";
      if (forward[row] < 0 || around) continue;
      ++nodes;
      places += int64_t{host.place[row]} * host.place[static_cast<size_t>(forward[row])];
    }
    CHECK(nodes == 213);
    CHECK(places == 4336965429);
  });
}

TEST_CASE("the longest operator of a real trace is bound by compute and reaches three fifths of its device's peak") {
  const std::string file = file_of("tracelens/h100_qwen.json.gz");
  if (file.empty()) return;
  const OperatorTables tables = operator_tables_of(file);
  REQUIRE_FALSE(tables.work.empty());
  const WorkRow& mm = tables.work.front();
  CHECK(mm.name == "aten::mm");
  CHECK(mm.flops == int64_t{2} * 8944 * 2816 * 1024);
  CHECK(mm.bytes == int64_t{2} * (8944 * 1024 + 1024 * 2816 + 8944 * 2816));
  CHECK(mm.bound == "compute");
  CHECK(mm.roofline_ns == Approx(51'581.55 / 0.9894).epsilon(1e-3));  // GFLOP over 989.4 TFLOP/s, dense bf16
  CHECK(mm.roofline_ns / mm.gpu.mean_ns() == Approx(0.617).epsilon(1e-2));
}

TEST_CASE("GPU rows of graph replays of a real trace hang on their launches") {
  const std::string file = file_of("hta/a100_rank0of16_no_args.json.gz");
  if (file.empty()) return;
  int64_t rows = 0, launches_of_several = 0;
  for (const GraphLaunchRow& row : operator_tables_of(file).graphs) {
    rows += row.gpu_rows * row.launches;
    if (row.gpu_rows > 1) launches_of_several += row.launches;
  }
  CHECK(rows == 345);
  CHECK(launches_of_several == 45);
}

TEST_CASE("the real trace of a compiled function has one region, one look-up and one kernel by the compiler") {
  const std::string file = file_of("hta/triton_example.json.gz");
  if (file.empty()) return;
  const OperatorTables tables = operator_tables_of(file);
  REQUIRE(tables.regions.size() == 1);
  CHECK(tables.regions[0].name == "Torch-Compiled Region: 0/0");
  CHECK(tables.regions[0].frame == 0);
  CHECK(tables.regions[0].compile == 0);
  CHECK(tables.regions[0].host_ns == 1'352'964);
  CHECK(tables.regions[0].gpu_ns == 1'760);
  CHECK_FALSE(tables.regions[0].recompiled);
  REQUIRE(tables.compile_events.size() == 1);
  CHECK(tables.compile_events[0].event == CompileEvent::cache_lookup);
  CHECK(tables.compile_events[0].host_ns == 35'591);
  REQUIRE(tables.triton.size() == 1);
  CHECK(tables.triton[0].name == "triton_poi_fused_add_cos_sin_0");
  CHECK(tables.triton[0].by_compiler);
  CHECK(tables.triton[0].file ==
        "/tmp/torchinductor_bcoutinho/qa/cqaokwf2bph4egogzevc22vluasiyuui4i54zpemp6knbsggfbuu.py");
}

TEST_CASE("the tables of every real trace hold together, and count every GPU row once") {
  for (const char* set : {"single/hta", "single/tracelens", "dlrm_8rank", "sampled_2of128"}) {
    const std::string folder = traces(set);
    if (folder.empty()) return;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".gz") continue;
      INFO(entry.path());
      visit_trace(entry.path().string(), [](const TraceFile& read) {
        const RankTrace& trace = read.linked.trace;
        const OperatorTables tables = tabulate_operators(trace, *read.linked.detail, read.linked.strings);
        CHECK(check_invariants(tables) == "");
        int64_t rows = 0, sum_ns = 0, expected_ns = 0;
        for (const KernelRow& row : tables.kernels) {
          rows += row.count;
          sum_ns += row.sum_ns;
        }
        for (const int64_t ns : trace.gpu.duration_ns) expected_ns += ns;
        CHECK(rows == static_cast<int64_t>(trace.gpu.size()));
        CHECK(sum_ns == expected_ns);
      });
    }
  }
}
