// Details of real traces beside sums that Python's json and decimal made of the same files.
#include "detail_support.h"

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

struct ExpectedDetails {
  const char* file;
  int64_t ops, calls, python, annotations, overhead, gpu_annotations;  // by category
  int64_t duration_ns, places;  // sums over host rows; a place is the index in traceEvents
  int64_t dims;                 // rows with "Input Dims"
  int64_t sequence, forward;    // sums of "Sequence number", -1 where absent, and "Fwd thread id"
  int64_t threads;              // distinct (pid, tid)
  int64_t grids;                // kernels that tell their grid, or whose call does
};

constexpr ExpectedDetails kExpectedDetails[] = {
    {"dlrm_8rank/worker0_step_12.1694128201545.pt.trace.json.gz", 1633, 525, 0, 40, 0, 0, 72084000, 2669571, 1587,
     171093, 76, 2, 245},
    {"dlrm_8rank/worker1_step_12.1694128201556.pt.trace.json.gz", 1633, 527, 0, 40, 0, 0, 116033000, 2742889, 1587,
     171091, 76, 2, 310},
    {"dlrm_8rank/worker2_step_12.1694128201554.pt.trace.json.gz", 1633, 513, 0, 40, 0, 0, 59441000, 2636187, 1587,
     171105, 76, 2, 246},
    {"dlrm_8rank/worker3_step_12.1694128201557.pt.trace.json.gz", 1633, 541, 0, 40, 0, 0, 107083000, 2791187, 1587,
     171077, 76, 2, 315},
    {"dlrm_8rank/worker4_step_12.1694128201547.pt.trace.json.gz", 1633, 523, 0, 40, 0, 0, 98722000, 2667025, 1587,
     171095, 76, 2, 251},
    {"dlrm_8rank/worker5_step_12.1694128201549.pt.trace.json.gz", 1633, 505, 0, 40, 0, 0, 96947000, 2609179, 1587,
     171113, 76, 2, 245},
    {"dlrm_8rank/worker6_step_12.1694128201553.pt.trace.json.gz", 1633, 515, 0, 40, 0, 0, 59483000, 2642139, 1587,
     171103, 76, 2, 246},
    {"dlrm_8rank/worker7_step_12.1694128201553.pt.trace.json.gz", 1633, 504, 0, 40, 0, 0, 55499000, 2610380, 1587,
     171114, 76, 2, 246},
    {"sampled_2of128/sampled_rank-0.json.gz", 2329, 1204, 0, 73, 0, 0, 3941839000, 7225225, 2021, 1282022025, 560, 2,
     1154},
    {"sampled_2of128/sampled_rank-1.json.gz", 2302, 1154, 0, 65, 0, 0, 3987038000, 6863395, 1991, 1265672340, 562, 2,
     1104},
    {"single/hta/a100_rank0of16_no_args.json.gz", 25185, 33924, 0, 360, 0, 0, 6214068000, 2591757300, 24100, 156247696,
     690, 6, 6080},
    {"single/hta/a100_rank0of2_nccl_args.json.gz", 14346, 8740, 0, 42, 0, 30, 3152201436, 356409567, 0, 2653937, 1086,
     3, 2700},
    {"single/hta/distributed_info_not_found.json.gz", 2424, 0, 0, 43, 0, 0, 250549000, 3041811, 2416, 509713315, 0, 1,
     0},
    {"single/hta/gloo_rank34of300_cpu_only.pt.trace.json.gz", 4, 0, 0, 11, 0, 0, 2345569044, 105, 14, -15, 0, 3, 0},
    {"single/hta/gpu_user_annotation.json.gz", 643, 180, 0, 10, 0, 10, 21802000, 388278, 0, -833, 0, 2, 130},
    {"single/hta/mi250_minitoy.json.gz", 70, 21, 0, 3, 0, 2, 41325495, 5077, 64, 23, 8, 2, 14},
    {"single/hta/rank_non_gpu.json.gz", 2424, 0, 0, 43, 0, 0, 250549000, 3041811, 2416, 509713315, 0, 1, 0},
    {"single/hta/rank_not_found.json.gz", 2424, 0, 0, 43, 0, 0, 250549000, 3041811, 2416, 509713315, 0, 1, 0},
    {"single/hta/triton_example.json.gz", 3, 2, 0, 1, 0, 0, 13337864786, 20, 1, -6, 0, 2, 1},
    {"single/hta/v100_rank0of1_ns_resolution.pt.trace.json.gz", 23910, 15329, 0, 70, 0, 15, 2225833820, 1034505119, 0,
     71314636, 1810, 3, 4350},
    {"single/tracelens/b200_rank0of8_vllm_eager.json.gz", 4809, 1372, 15230, 3, 9, 3, 2022279410, 230112698, 4806,
     -21423, 0, 2, 768},
    {"single/tracelens/h100_qwen.json.gz", 4186, 1922, 4262, 1, 0, 1, 1319820010, 75037228, 4186, -10371, 0, 2, 1465},
    {"single/tracelens/mi300_qwen.json.gz", 4619, 1707, 4266, 1, 0, 1, 1236558224, 75115915, 4619, -10593, 0, 2, 1053},
    {"single/tracelens/mi300_rank0of8_resnet_checkpoint.json.gz", 8004, 3100, 34405, 24, 0, 21, 1409218690, 1062760212,
     7617, 1524118, 426, 2, 2238},
};

}  // namespace

TEST_CASE("real traces have the host rows that Python counts") {
  const std::string folder = traces_folder();
  if (folder.empty()) {
    WARN("skipped: no traces (SKEWSCOPE_TRACES)");
    return;
  }
  for (const ExpectedDetails& expected : kExpectedDetails) {
    CAPTURE(expected.file);
    const LinkedTrace linked = link_calls(read_file(folder + "/" + expected.file, with_details()));
    REQUIRE(linked.detail);
    const RankDetail& detail = *linked.detail;
    CHECK(check_invariants(detail, linked.trace) == "");
    int64_t kinds[5] = {}, duration_ns = 0, places = 0, dims = 0, sequence = 0, forward = 0, grids = 0;
    for (size_t i = 0; i < detail.host.size(); ++i) {
      kinds[static_cast<size_t>(detail.host.kind[i])]++;
      duration_ns += detail.host.duration_ns[i];
      places += detail.host.place[i];
      sequence += detail.host.sequence[i];
      forward += detail.host.forward_thread[i];
      const int32_t set = detail.host.arguments[i];
      dims += set >= 0 && detail.arguments[static_cast<size_t>(set)].dims.known();
    }
    for (const int32_t shape : detail.gpu.shape) {
      grids += shape >= 0 && detail.shapes[static_cast<size_t>(shape)].grid[0] >= 0;
    }
    CHECK(kinds[static_cast<size_t>(HostKind::op)] == expected.ops);
    CHECK(kinds[static_cast<size_t>(HostKind::call)] == expected.calls);
    CHECK(kinds[static_cast<size_t>(HostKind::python)] == expected.python);
    CHECK(kinds[static_cast<size_t>(HostKind::annotation)] == expected.annotations);
    CHECK(kinds[static_cast<size_t>(HostKind::overhead)] == expected.overhead);
    CHECK(static_cast<int64_t>(detail.gpu_annotations.size()) == expected.gpu_annotations);
    CHECK(duration_ns == expected.duration_ns);
    CHECK(places == expected.places);
    CHECK(dims == expected.dims);
    CHECK(sequence == expected.sequence);
    CHECK(forward == expected.forward);
    CHECK(static_cast<int64_t>(detail.threads.size()) == expected.threads);
    CHECK(grids == expected.grids);
    CHECK(detail.has_python == (expected.python > 0));
    CHECK(detail.has_arguments == (expected.dims > 0));
  }
}

TEST_CASE("real traces are the same with details and without") {
  const std::string folder = traces_folder();
  if (folder.empty()) {
    WARN("skipped: no traces (SKEWSCOPE_TRACES)");
    return;
  }
  for (const ExpectedDetails& expected : kExpectedDetails) {
    CAPTURE(expected.file);
    const std::string path = folder + "/" + expected.file;
    CHECK(as_text(link_calls(read_file(path, with_details()))) == as_text(link_calls(read_file(path))));
  }
}

TEST_CASE("details of real traces are the same in small chunks and without the sieve") {
  const std::string folder = traces_folder();
  if (folder.empty()) {
    WARN("skipped: no traces (SKEWSCOPE_TRACES)");
    return;
  }
  for (const char* file : {"single/hta/a100_rank0of2_nccl_args.json.gz", "single/tracelens/mi300_qwen.json.gz",
                           "single/tracelens/b200_rank0of8_vllm_eager.json.gz",
                           "single/tracelens/mi300_rank0of8_resnet_checkpoint.json.gz"}) {
    CAPTURE(file);
    const std::string path = folder + "/" + file;
    ReadSettings parsed = with_details();
    parsed.sieve = false;
    const std::string whole = details_as_text(link_calls(read_file(path, with_details())));
    CHECK(details_as_text(link_calls(read_file(path, with_details(5000)))) == whole);
    CHECK(details_as_text(link_calls(read_file(path, parsed))) == whole);
  }
}
