// Which ranks get a lane, and what is left of their rows. Times in microseconds.
#include <catch2/catch.hpp>

#include "skewscope/lanes.h"
#include "tests/job_builder.h"

using namespace skewscope;

namespace {

// Rooms of a job whose ranks' clocks all show the common time.
struct LaneJob {
  JobBuilder built;
  ClockModel clocks;
  Decomposition decomposition;
  Blame blame;

  explicit LaneJob(int32_t ranks) : built(ranks) {
    clocks.clocks.resize(static_cast<size_t>(ranks));
    clocks.window_ns = 1'000'000'000;
    decomposition.traces.resize(static_cast<size_t>(ranks));
    blame.traces.resize(static_cast<size_t>(ranks));
  }
  WorkLanes draw() {
    const JobTrace& job = built.done();
    std::vector<IdleTimes> idle;
    for (const RankTrace& trace : job.traces) idle.push_back(idle_times(trace, job.traces.size()));
    return draw_lanes(job, clocks, decomposition, blame, idle);
  }
};

int64_t busy_ns(const WorkLane& lane) {
  int64_t ns = 0;
  for (const WorkBlock& block : lane.blocks) ns += block.busy_ns;
  return ns;
}

}  // namespace

TEST_CASE("every kernel and every copy of a small job has a block of its own, with its name; communication has none") {
  LaneJob job(2);
  job.built.gpu_row(1, GpuWork::compute, 10, 30);
  job.built.gpu_row(1, GpuWork::communication, 30, 40);
  job.built.gpu_row(1, GpuWork::memcpy, 50, 55);
  const WorkLanes lanes = job.draw();
  CHECK(lanes.merged_below_ns == 0);
  REQUIRE(lanes.lanes.size() == 2);
  CHECK(lanes.lanes[0].blocks.empty());
  CHECK(lanes.lanes[1].reason == LaneReason::whole_job);
  const std::vector<WorkBlock>& blocks = lanes.lanes[1].blocks;
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].start.ns == 10'000);
  CHECK(blocks[0].length_ns == 20'000);
  CHECK_FALSE(blocks[0].copies);
  CHECK(blocks[1].start.ns == 50'000);
  CHECK(blocks[1].copies);
  CHECK(lanes.lanes[1].names == std::vector<std::string>{"kernel"});
}

TEST_CASE("a lane is on the common clock") {
  LaneJob job(1);
  job.clocks.clocks[0].offset_ns = 7'000;
  job.built.gpu_row(0, GpuWork::compute, 10, 30);
  CHECK(job.draw().lanes[0].blocks[0].start.ns == 3'000);
}

TEST_CASE("of more rows than a picture has room for, neighbours share a block that keeps how long it was busy") {
  LaneJob job(1);
  const int32_t rows = 200'000;  // 2 us of work every 5 us: 1 s
  for (int32_t i = 0; i < rows; ++i) job.built.gpu_row(0, GpuWork::compute, 5.0 * i, 5.0 * i + 2);
  const WorkLanes lanes = job.draw();
  CHECK(lanes.merged_below_ns > 3'000);
  const WorkLane& lane = lanes.lanes[0];
  CHECK(lane.blocks.size() <= kMostBlocks);
  CHECK(lane.blocks.size() > kMostBlocks / 8);
  CHECK(busy_ns(lane) == int64_t{rows} * 2'000);
  int64_t counted = 0;
  for (const WorkBlock& block : lane.blocks) counted += block.rows;
  CHECK(counted == rows);
}

TEST_CASE("a long kernel among many short ones keeps its block and its name") {
  LaneJob job(1);
  for (int32_t i = 0; i < 100'000; ++i) job.built.gpu_row(0, GpuWork::compute, 5.0 * i, 5.0 * i + 2);
  job.built.gpu_row(0, GpuWork::compute, 500'000, 600'000);
  job.built.trace(0).gpu.name.back() = job.built.job.strings.intern("long one");
  const WorkLane lane = job.draw().lanes[0];
  const WorkBlock& last = lane.blocks.back();
  CHECK(last.length_ns >= 100'000'000);
  CHECK(lane.names[static_cast<size_t>(last.name)] == "long one");
}

TEST_CASE("of a large job, who made others wait and who waited most have a lane, and others evenly") {
  LaneJob job(1000);
  job.blame.traces[333].origin_ns = 9'000'000;
  job.blame.traces[334].origin_ns = 100'000;  // less than a tenth of the largest
  job.decomposition.traces[700].parts.wait_ns = 8'000'000;
  const WorkLanes lanes = job.draw();
  REQUIRE(lanes.lanes.size() == kMostLanes);
  std::vector<int32_t> samples;
  for (const WorkLane& lane : lanes.lanes) {
    const int32_t trace = lane.trace.value;
    if (trace == 333) CHECK(lane.reason == LaneReason::culprit);
    if (trace == 700) CHECK(lane.reason == LaneReason::victim);
    if (lane.reason == LaneReason::sample) samples.push_back(trace);
  }
  CHECK(samples.size() == kMostLanes - 2);
  CHECK(samples.front() == 0);
  CHECK(samples.back() > 900);
}

TEST_CASE("all ranks of a small job have a lane, and a quarter of them is named as in a large one") {
  LaneJob job(8);
  job.blame.traces[5].origin_ns = 9'000'000;
  job.decomposition.traces[2].parts.wait_ns = 8'000'000;
  const WorkLanes lanes = job.draw();
  REQUIRE(lanes.lanes.size() == 8);
  CHECK(lanes.lanes[5].reason == LaneReason::culprit);
  CHECK(lanes.lanes[2].reason == LaneReason::victim);
  CHECK(lanes.lanes[0].reason == LaneReason::whole_job);
}

namespace {

// A kernel that was launched, in microseconds.
void launched(RankTrace& trace, double launch, double start, double end) {
  trace.launches.start.push_back(LocalNs{static_cast<int64_t>(launch * 1000)});
  trace.launches.duration_ns.push_back(1000);
  GpuEvents& gpu = trace.gpu;
  gpu.start.push_back(LocalNs{static_cast<int64_t>(start * 1000)});
  gpu.duration_ns.push_back(static_cast<int64_t>((end - start) * 1000));
  gpu.work.push_back(GpuWork::compute);
  gpu.name.push_back(StringId(0));
  gpu.device.push_back(0);
  gpu.stream.push_back(7);
  gpu.launch.push_back(static_cast<int32_t>(trace.launches.size()) - 1);
}

std::string idle_of(const RankTrace& trace) {
  std::string text;
  for (const IdleStretch& one : idle_times(trace, 1).stretches) {
    text += (text.empty() ? "" : ", ") + std::to_string(one.begin.ns / 1000) + "-" + std::to_string(one.end.ns / 1000) +
            " " + to_string(one.cause);
  }
  return text;
}

}  // namespace

TEST_CASE("a GPU that was idle waited for its host, for what the host had waited for, or for something else") {
  RankTrace trace;
  launched(trace, 0, 10, 20);
  launched(trace, 30, 40, 50);     // launched after the gap had begun
  launched(trace, 5, 60, 70);      // launched in time, 10 us late
  launched(trace, 6, 200, 210);    // launched in time, 130 us late
  launched(trace, 230, 240, 250);  // the host had waited for the GPU until 212
  trace.synchronizing.push_back({LocalNs{150'000}, 62'000});
  CHECK(idle_of(trace) == "20-40 host, 50-60 launch_latency, 70-200 dependency, 210-240 synchronization");
  trace.gpu.launch[1] = -1;
  CHECK(idle_of(trace).starts_with("20-40 not_recorded"));
}

TEST_CASE("while a collective runs on the host the GPU waits for the peers of that call") {
  JobBuilder built(1);
  RankTrace& trace = built.trace(0);
  launched(trace, 0, 10, 20);
  launched(trace, 90, 100, 110);
  built.call(0, built.communicator("gloo", {0, 1}), 30, 80).gpu_row = -1;
  CHECK(idle_of(trace) == "20-30 host, 30-80 peer_call, 80-100 host");
}

TEST_CASE("of more gaps than a lane has room for the longest are kept, and how long the others are is said") {
  RankTrace trace;
  for (int32_t i = 0; i < 3000; ++i) launched(trace, 100.0 * i, 100.0 * i + 1, 100.0 * i + (i % 3 == 0 ? 20 : 90));
  const IdleTimes idle = idle_times(trace, 1);
  CHECK(idle.stretches.size() == kMostIdle);
  CHECK(idle.left_out_ns == 11'000);
  CHECK(std::count_if(idle.stretches.begin(), idle.stretches.end(),
                      [](const IdleStretch& one) { return one.length_ns() == 81'000; }) == 1000);
}
