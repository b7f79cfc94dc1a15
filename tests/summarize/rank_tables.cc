// Tables of one GPU: small cases worked out by hand, and the reference numbers of real traces (made by an independent
// program from the decimal digits; tolerance 0 ns).
#include <catch2/catch.hpp>

#include "../job_builder.h"
#include "../real_trace_folder.h"
#include "skewscope/ingest.h"
#include "skewscope/summarize.h"
#include "src/summarize/gpu/kernel_shapes.h"

using namespace skewscope;
using skewscope::test::traces;

namespace {

RankTables tables_of(const std::string& file) {
  StageTimer timer;
  const Result<IngestedJob> ingested = ingest_job({file}, {}, timer);
  REQUIRE(ingested.ok());
  const JobTrace& job = ingested.value().job;
  RankTables tables = tabulate_trace(job.traces.at(0), job.strings);
  CHECK(check_invariants(tables).empty());
  return tables;
}

RankTables detailed_tables_of(const std::string& file, const IngestOptions& given = {}) {
  RankTables tables;
  IngestOptions options = given;
  options.while_details_last = [&](const TraceFile& read) {
    tables = tabulate_trace(read.linked.trace, read.linked.strings, &*read.linked.detail);
  };
  StageTimer timer;
  REQUIRE(ingest_job({file}, options, timer).ok());
  CHECK(check_invariants(tables).empty());
  return tables;
}

// The first file of a set whose name begins so.
std::string file_of(const std::string& set, const std::string& begin) {
  const std::string folder = traces(set);
  if (folder.empty()) return "";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().rfind(begin, 0) == 0) return entry.path().string();
  }
  FAIL("no " << begin << " in " << folder);
  return "";
}

struct Launches {
  const char *set, *begin;
  int64_t rows, host_ns, gpu_ns, delay_ns, short_rows, slow_calls, late_starts;
};

constexpr Launches kLaunches[] = {
    {"single/hta", "a100_rank0of2", 3774, 35864776, 165185838, 103192251, 2076, 1, 267},
    {"single/hta", "v100_rank0of1", 6095, 266051433, 472454441, 418637223421, 2682, 936, 5932},
    {"sampled_2of128", "sampled_rank-0", 1204, 11050000, 607844000, 20539698000, 280, 2, 937},
    {"sampled_2of128", "sampled_rank-1", 1154, 9602000, 667530000, 20270258000, 278, 0, 880},
    {"single/hta", "a100_rank0of16", 6875, 928542000, 390237000, 833447965000, 2135, 386, 6686},
    {"single/hta", "mi250_minitoy", 16, 6734333, 149042, 92319, 8, 2, 0},
    {"single/tracelens", "mi300_rank0of8", 2685, 9166478, 68395667, 74854668629, 509, 0, 2685},
    {"single/tracelens", "b200_rank0of8", 929, 8852666, 11665760, 10035012, 657, 4, 37},
    {"single/tracelens", "h100_qwen", 1198, 4768763, 31905473, 1625301790, 279, 0, 1107},
    {"single/tracelens", "mi300_qwen", 1054, 5107568, 29743938, 1921390303, 56, 0, 961},
};

struct Idle {
  const char *set, *begin;
  int32_t stream;
  int64_t host_wait_ns, kernel_wait_ns, other_ns;
};

constexpr Idle kIdle[] = {
    {"single/hta", "a100_rank0of2", 7, 540091317, 2150343, 0},
    {"single/hta", "a100_rank0of2", 40, 583924256, 0, 0},
    {"single/hta", "v100_rank0of1", 7, 1347125, 6227613, 0},
    {"single/hta", "mi250_minitoy", 0, 8762845, 0, 0},
    {"sampled_2of128", "sampled_rank-0", 7, 397917000, 3765000, 598335000},
    {"sampled_2of128", "sampled_rank-0", 23, 1214793000, 160000, 34000},
    {"sampled_2of128", "sampled_rank-0", 25, 560120000, 35000, 100413000},
    {"sampled_2of128", "sampled_rank-0", 84, 794901000, 6000, 3142000},
    {"sampled_2of128", "sampled_rank-0", 203, 558073000, 0, 0},
    {"sampled_2of128", "sampled_rank-1", 7, 407794000, 3475000, 524657000},
    {"sampled_2of128", "sampled_rank-1", 84, 715850000, 0, 62586000},
    {"single/tracelens", "mi300_rank0of8", 0, 0, 3139333, 54714826},
    {"single/tracelens", "mi300_rank0of8", 4, 0, 150982, 12368418},
    {"single/tracelens", "b200_rank0of8", 7, 72470093, 420603, 0},
    {"single/tracelens", "h100_qwen", 7, 1500603, 2504929, 0},
};

struct Step {
  const char *set, *begin;
  int64_t step, host_ns, gpu_rows, communication_ns, total_ns, compute_ns, idle_ns;
};

constexpr Step kSteps[] = {
    {"single/hta", "a100_rank0of2", 4, 222442191, 1258, 11989021, 215769424, 38633962, 166330503},
    {"single/hta", "a100_rank0of2", 5, 219726905, 1258, 12300029, 219818137, 38558313, 170089211},
    {"single/hta", "a100_rank0of2", 6, 224936243, 1258, 22587443, 224963444, 38854289, 166631277},
    {"single/hta", "v100_rank0of1", 105, 95699037, 1219, 0, 95394716, 93531850, 1122037},
    {"single/hta", "a100_rank0of16", 552, 216119000, 1375, 30858000, 216517000, 36457000, 141988000},
    {"sampled_2of128", "sampled_rank-0", 552, 622928000, 602, 200872000, 622789000, 104077000, 353813000},
    {"single/hta", "mi250_minitoy", 2, 49073, 0, 0, 0, 0, 0},
    {"single/tracelens", "h100_qwen", 6, 47151395, 1198, 0, 34892419, 31903105, 2986946},
    {"single/tracelens", "mi300_rank0of8", 16, 15950958, 895, 15909382, 18982928, 6463829, 82298},
    {"dlrm_8rank", "worker4", 10, 17979000, 273, 6587000, 16589000, 1133000, 8887000},
};

}  // namespace

TEST_CASE("launch statistics of ten real traces equal an independent program's to the nanosecond") {
  for (const Launches& expected : kLaunches) {
    const std::string file = file_of(expected.set, expected.begin);
    if (file.empty()) return;
    INFO(expected.begin);
    const LaunchTotals found = tables_of(file).launches;
    CHECK(found.rows == expected.rows);
    CHECK(found.host_ns == expected.host_ns);
    CHECK(found.gpu_ns == expected.gpu_ns);
    CHECK(found.delay_ns == expected.delay_ns);
    CHECK(found.short_rows == expected.short_rows);
    CHECK(found.slow_calls == expected.slow_calls);
    CHECK(found.late_starts == expected.late_starts);
  }
}

TEST_CASE("idle time of real streams by cause equals an independent program's to the nanosecond") {
  for (const Idle& expected : kIdle) {
    const std::string file = file_of(expected.set, expected.begin);
    if (file.empty()) return;
    INFO(expected.begin << " stream " << expected.stream);
    bool there = false;
    for (const StreamIdle& stream : tables_of(file).streams) {
      if (stream.stream != expected.stream) continue;
      there = true;
      CHECK(stream.host_wait.total_ns == expected.host_wait_ns);
      CHECK(stream.kernel_wait.total_ns == expected.kernel_wait_ns);
      CHECK(stream.other.total_ns == expected.other_ns);
    }
    CHECK(there);
  }
}

TEST_CASE("the first recorded step is as long as the others, though what was launched before still ran beside it") {
  // Rows that were launched before run for 152 ms beside the first ones of step 550.
  const std::string file = file_of("single/hta", "a100_rank0of16");
  if (file.empty()) return;
  for (const TimelineRow& step : tables_of(file).timeline) {
    if (step.step >= 0) CHECK(step.timeline.total_ns == Approx(215e6).epsilon(0.02));
    if (step.place == StepPlace::before) CHECK(step.gpu_rows == 872);
  }
}

TEST_CASE("steps of real traces have the rows and the parts that an independent program finds") {
  for (const Step& expected : kSteps) {
    const std::string file = file_of(expected.set, expected.begin);
    if (file.empty()) return;
    INFO(expected.begin << " step " << expected.step);
    bool there = false;
    for (const TimelineRow& step : tables_of(file).timeline) {
      if (step.step != expected.step) continue;
      there = true;
      CHECK(step.host_ns == expected.host_ns);
      CHECK(step.gpu_rows == expected.gpu_rows);
      CHECK(step.timeline.communication_ns == expected.communication_ns);
      CHECK(step.timeline.total_ns == expected.total_ns);
      CHECK(step.timeline.compute_ns == expected.compute_ns);
      CHECK(step.timeline.idle_ns == expected.idle_ns);
    }
    CHECK(there);
  }
}

TEST_CASE("a row that began before its launch, by clocks that err, never makes a queue negative") {
  RankTrace trace;
  trace.last_event = trace.first_event + 1000;
  for (const auto& [launched, started] : {std::pair{100, 80}, std::pair{200, 300}}) {
    trace.gpu.start.push_back(LocalNs{started});
    trace.gpu.duration_ns.push_back(10);
    trace.gpu.work.push_back(GpuWork::compute);
    trace.gpu.name.push_back(StringId());
    trace.gpu.device.push_back(0);
    trace.gpu.stream.push_back(7);
    trace.gpu.launch.push_back(static_cast<int32_t>(trace.launches.size()));
    trace.launches.start.push_back(LocalNs{launched});
    trace.launches.duration_ns.push_back(10);
    trace.launches.thread.push_back(1);
  }
  const QueueDepth queue = tabulate_trace(trace, StringTable()).queues.at(0);
  CHECK(queue.depth.least == 0);
  CHECK(queue.depth.most == 1);
}

TEST_CASE("of several GPUs of a process the utilization is their mean") {
  // A window of 1000 ns: device 0 is used for 100 of them, device 1 for all.
  RankTrace trace;
  RankDetail detail;
  for (const auto& [device, start, ns] : {std::tuple{1, 0, 1000}, std::tuple{0, 400, 100}}) {
    trace.gpu.start.push_back(LocalNs{start});
    trace.gpu.duration_ns.push_back(ns);
    trace.gpu.work.push_back(GpuWork::compute);
    trace.gpu.name.push_back(StringId());
    trace.gpu.device.push_back(device);
    trace.gpu.stream.push_back(7);
    trace.gpu.launch.push_back(-1);
    detail.gpu.shape.push_back(-1);
  }
  const Utilization used = summarize::utilization_of(trace, detail);
  CHECK(used.window_ns == 1000);
  CHECK(used.kernel_ns == 550);
  CHECK(used.gpu == Approx(0.55));
}

TEST_CASE("the depth of a queue over time sums to the time that rows waited in it") {
  // A window of 1000 ns: two rows launched at 0 and 100, begun at 400 and 900.
  RankTrace trace;
  trace.last_event = trace.first_event + 1000;
  for (const auto& [launched, started] : {std::pair{0, 400}, std::pair{100, 900}}) {
    trace.gpu.start.push_back(LocalNs{started});
    trace.gpu.duration_ns.push_back(50);
    trace.gpu.work.push_back(GpuWork::compute);
    trace.gpu.name.push_back(StringId());
    trace.gpu.device.push_back(0);
    trace.gpu.stream.push_back(7);
    trace.gpu.launch.push_back(static_cast<int32_t>(trace.launches.size()));
    trace.launches.start.push_back(LocalNs{launched});
    trace.launches.duration_ns.push_back(10);
    trace.launches.thread.push_back(1);
  }
  const std::vector<QueueBin> bins = tabulate_trace(trace, StringTable()).queues_over_time;
  REQUIRE(bins.size() == 100);
  int64_t length_ns = 0, depth_ns = 0;
  for (const QueueBin& bin : bins) {
    length_ns += bin.length_ns;
    depth_ns += bin.depth_ns;
  }
  CHECK(length_ns == 1000);
  CHECK(depth_ns == 400 + 800);
  CHECK(bins[5].deepest == 1);   // 50 to 60 ns
  CHECK(bins[20].deepest == 2);  // 200 to 210 ns
  CHECK(bins[20].depth_ns == 20);
  CHECK(bins[95].deepest == 0);
}

TEST_CASE("rows of one name are counted exactly, with the deviation of a sample") {
  JobBuilder b(1);
  b.gpu_row(0, GpuWork::compute, 0, 10);
  b.gpu_row(0, GpuWork::compute, 20, 34);
  b.gpu_row(0, GpuWork::compute, 40, 58);
  const RankTables tables = tabulate_trace(b.job.traces[0], b.job.strings);
  REQUIRE(tables.kernels.size() == 1);
  CHECK(tables.kernels[0].count == 3);
  CHECK(tables.kernels[0].total_ns == 42'000);
  CHECK(tables.kernels[0].shortest_ns == 10'000);
  CHECK(tables.kernels[0].longest_ns == 18'000);
  CHECK(tables.kernels[0].mean_ns() == Approx(14'000));
  CHECK(tables.kernels[0].deviation_ns == Approx(4'000));
}

TEST_CASE("a CPU-only trace has empty tables") {
  JobBuilder b(1);
  const RankTables tables = tabulate_trace(b.job.traces[0], b.job.strings);
  CHECK(check_invariants(tables).empty());
  CHECK(tables.kernels.empty());
  CHECK(tables.streams.empty());
  CHECK(tables.launches.rows == 0);
}

TEST_CASE("utilization, SM efficiency and occupancy of real traces are what the TensorBoard plugin prints") {
  struct Expected {
    const char *set, *begin;
    double gpu, sm_efficiency, occupancy_percent;  // -1: not recorded
  };
  constexpr Expected kExpected[] = {
      {"single/hta", "a100_rank0of2", 0.232628, 0.168688, 35.3143},
      {"single/hta", "a100_rank0of16", 0.322410, 0.174891, 12.5421},
      {"single/hta", "v100_rank0of1", 0.968265, 0.949222, 46.4497},
      {"sampled_2of128", "sampled_rank-0", 0.444857, 0.207583, 21.0379},
      {"sampled_2of128", "sampled_rank-1", 0.464637, 0.25191, 25.1888},
      {"single/hta", "mi250_minitoy", 0.011938, -1, -1},
  };
  for (const Expected& expected : kExpected) {
    const std::string file = file_of(expected.set, expected.begin);
    if (file.empty()) return;
    INFO(expected.begin);
    const Utilization u = detailed_tables_of(file).utilization;
    // It calculates with microseconds since 1970 in doubles, which step by 0.25 us: 20 us in the half second of the
    // V100.
    CHECK(u.gpu == Approx(expected.gpu).epsilon(5e-5));
    CHECK(u.sm_efficiency == Approx(expected.sm_efficiency).epsilon(5e-5));
    const double occupancy = expected.occupancy_percent < 0 ? -1 : expected.occupancy_percent / 100;
    CHECK(u.occupancy == Approx(occupancy).epsilon(5e-5));
  }
}

TEST_CASE("a GPU that works without pause is as busy in the steps chosen as in all of them") {
  const std::string file = file_of("single/hta", "v100_rank0of1");
  if (file.empty()) return;
  IngestOptions options;
  options.steps = {102, 104};
  CHECK(detailed_tables_of(file).utilization.gpu > 0.96);
  CHECK(detailed_tables_of(file, options).utilization.gpu > 0.96);
}
