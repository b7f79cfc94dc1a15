// Row counts and first GPU start of real traces, made by an independent program.
#include <catch2/catch.hpp>

#include "tests/ingest/reader_support.h"

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

struct Expected {
  const char* file;
  int64_t events, compute, communication, copies, fills, first_start;  // in the file's own time base
  int64_t base;
};

// b200: its 73 multimem_all_reduce_kernel are communication here, compute in the table, which goes by "nccl" alone.
constexpr Expected kExpected[] = {
    {"single/hta/a100_rank0of2_nccl_args.json.gz", 40573, 2679, 21, 960, 114, 4458676422880181, 1711964646000000000},
    {"single/hta/v100_rank0of1_ns_resolution.pt.trace.json.gz", 68692, 4350, 0, 1600, 145, 1712195495505582988, 0},
    {"single/hta/a100_rank0of16_no_args.json.gz", 108936, 6000, 80, 1390, 277, 1683564901549715000, 0},
    {"single/hta/mi250_minitoy.json.gz", 220, 14, 0, 2, 0, 4203669603454206, 1735632360000000000},
    {"single/hta/triton_example.json.gz", 71, 1, 0, 0, 0, 2413669097444592, 1727743122000000000},
    {"single/hta/gpu_user_annotation.json.gz", 1344, 130, 0, 10, 0, 1672876799190974000, 0},
    {"sampled_2of128/sampled_rank-0.json.gz", 4855, 1144, 10, 40, 10, 1682725898082228000, 0},
    {"sampled_2of128/sampled_rank-1.json.gz", 4720, 1094, 10, 40, 10, 1682725898082381000, 0},
    {"single/tracelens/b200_rank0of8_vllm_eager.json.gz", 24656, 694, 74, 161, 0, 1365627865398728,
     1767189312000000000},
    {"single/tracelens/h100_qwen.json.gz", 18221, 1465, 0, 1, 241, 1428625731622250, 1751410836000000000},
    {"single/tracelens/mi300_qwen.json.gz", 18090, 1516, 0, 1, 0, 2241346127176383, 1751410836000000000},
    {"single/tracelens/mi300_rank0of8_resnet_checkpoint.json.gz", 56451, 2978, 17, 550, 108, 3743411222894405,
     1767189312000000000},
    {"dlrm_8rank/worker0_step_12.1694128201545.pt.trace.json.gz", 3290, 237, 8, 16, 0, 1694128201428006000, 0},
    {"dlrm_8rank/worker1_step_12.1694128201556.pt.trace.json.gz", 3424, 302, 8, 16, 0, 1694128201422243000, 0},
    {"dlrm_8rank/worker2_step_12.1694128201554.pt.trace.json.gz", 3268, 238, 8, 16, 0, 1694128201429646000, 0},
    {"dlrm_8rank/worker3_step_12.1694128201557.pt.trace.json.gz", 3474, 307, 8, 16, 6, 1694128201422243000, 0},
    {"dlrm_8rank/worker4_step_12.1694128201547.pt.trace.json.gz", 3310, 243, 8, 16, 6, 1694128201425339000, 0},
    {"dlrm_8rank/worker5_step_12.1694128201549.pt.trace.json.gz", 3250, 237, 8, 16, 0, 1694128201425499000, 0},
    {"dlrm_8rank/worker6_step_12.1694128201553.pt.trace.json.gz", 3272, 238, 8, 16, 0, 1694128201429650000, 0},
    {"dlrm_8rank/worker7_step_12.1694128201553.pt.trace.json.gz", 3250, 238, 8, 16, 0, 1694128201430147000, 0},
};

}  // namespace

TEST_CASE("real traces have the rows that an independent program counts") {
  const std::string folder = traces_folder();
  if (folder.empty()) {
    WARN("skipped: no traces (SKEWSCOPE_TRACES)");
    return;
  }
  for (const Expected& expected : kExpected) {
    CAPTURE(expected.file);
    MemoryBudget budget(0);
    const FileContent content = std::move(TraceReaders().read(folder + "/" + expected.file, budget).value().front());
    int64_t rows[4] = {};
    int64_t first = std::numeric_limits<int64_t>::max();
    for (const GpuWork work : content.gpu.events.work) rows[static_cast<size_t>(work)]++;
    for (const LocalNs start : content.gpu.events.start) first = std::min(first, start.ns);
    CHECK(content.kind == ContentKind::rank_trace);
    CHECK(content.events == expected.events);
    CHECK(rows[static_cast<size_t>(GpuWork::compute)] == expected.compute);
    CHECK(rows[static_cast<size_t>(GpuWork::communication)] == expected.communication);
    CHECK(rows[static_cast<size_t>(GpuWork::memcpy)] == expected.copies);
    CHECK(rows[static_cast<size_t>(GpuWork::memset)] == expected.fills);
    CHECK(first == expected.first_start + expected.base);
    CHECK(content.findings.empty());
  }
}

TEST_CASE("real traces read the same in small chunks") {
  const std::string folder = traces_folder();
  if (folder.empty()) {
    WARN("skipped: no traces (SKEWSCOPE_TRACES)");
    return;
  }
  for (const char* file : {"single/hta/a100_rank0of2_nccl_args.json.gz", "single/tracelens/mi300_qwen.json.gz",
                           "sampled_2of128/sampled_rank-0.json.gz", "single/tracelens/b200_rank0of8_vllm_eager.json.gz",
                           "dlrm_8rank/worker0_step_12.1694128201545.pt.trace.json.gz"}) {
    CAPTURE(file);
    const std::string path = folder + "/" + file;
    ReadSettings small;
    small.chunk_bytes = 5000;
    CHECK(as_text(read_file(path, small)) == as_text(read_file(path)));
  }
}

TEST_CASE("an on-host gloo trace lists its group of 300 in full") {
  const std::string folder = traces_folder();
  if (folder.empty()) {
    WARN("skipped: no traces (SKEWSCOPE_TRACES)");
    return;
  }
  const FileContent content = read_file(folder + "/single/hta/gloo_rank34of300_cpu_only.pt.trace.json.gz");
  CHECK(content.distributed.rank == 34);
  CHECK(content.distributed.world_size == 300);
  REQUIRE_FALSE(content.distributed.groups.empty());
  CHECK(content.distributed.groups[0].ranks.size() == 300);
  CHECK(content.gpu.empty());
  CHECK(content.comm_ops.size() == 10);
}
