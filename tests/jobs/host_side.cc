// Jobs whose collectives the host tells of, and the GPU's rows tell less or nothing.
#include "host_job.h"

using namespace skewscope;
using namespace skewscope::test;

TEST_CASE("kernels that carry no correlation are split by their records, as the k-th launch is the k-th kernel") {
  const HostJob job("nccl", [](const StepTimes& t) {
    return std::vector<Event>{step_range(t),
                              launch(t, 10, t.id(1), "hipLaunchKernel"),
                              gemm(t),
                              record(t, 20, 20),
                              range(t, 22, 15, "nccl:all_reduce"),
                              launch(t, 25, t.id(2), "hipExtLaunchKernel"),
                              gpu_row("kernel", "ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)",
                                      t.arrives_us, t.leaves_us, 20, 0)};
  });
  const JobReport report = job.report();
  check_usual_waits(report);
  REQUIRE(report.collectives.size() == 1);
  CHECK(report.collectives[0].op == CollectiveKind::all_reduce);
  CHECK(report.collectives[0].bytes == 4 * 4096);
}

TEST_CASE("kernels of two groups that overtake each other are split alike with correlations and without") {
  // Ranks {0, 1} and {2, 3} reduce twice, {0, 2} and {1, 3} once, on a stream of its own: it is launched last and
  // begins beside the first.
  const auto write = [](const StepTimes& t, bool correlated) {
    const auto grouped = [&](int64_t after_us, const std::string& name, int other) {
      Event call = record(t, after_us, 18);
      const size_t size = call.args.find("\"Group size\"");
      call.args = call.args.substr(0, size) +
                  fmt::format(R"("Group size": 2, "dtype": "Float", "Process Group Name": "{}", )"
                              R"("Process Group Description": "{}", "Process Group Ranks": "[{}, {}]")",
                              name, name, std::min(t.rank, other), std::max(t.rank, other));
      return call;
    };
    const auto reduces = [&](int64_t from_us, int64_t to_us, int64_t stream, int64_t id) {
      return gpu_row("kernel", "ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)", from_us, to_us, stream,
                     correlated ? id : 0);
    };
    const int pair = t.rank ^ 1, across = t.rank ^ 2;
    const auto left_us = [&](int other) {
      const bool late = t.rank == kLateRank || other == kLateRank;
      return t.begin_us + 60 + kCompute_us + (late ? kLater_us : 0) + kMove_us;
    };
    const int64_t first_us = left_us(pair);
    return std::vector<Event>{step_range(t),
                              launch(t, 10, t.id(1), "hipLaunchKernel"),
                              gemm(t),
                              grouped(20, "tp", pair),
                              launch(t, 25, t.id(2), "hipExtLaunchKernel"),
                              reduces(t.arrives_us, first_us, 20, t.id(2)),
                              grouped(40, "tp", pair),
                              launch(t, 45, t.id(3), "hipExtLaunchKernel"),
                              reduces(first_us + 5, first_us + 5 + kMove_us, 20, t.id(3)),
                              grouped(60, "dp", across),
                              launch(t, 65, t.id(4), "hipExtLaunchKernel"),
                              reduces(t.arrives_us, left_us(across), 21, t.id(4))};
  };
  for (const bool correlated : {true, false}) {
    INFO(correlated);
    const HostJob job("nccl", [&](const StepTimes& t) { return write(t, correlated); });
    const JobReport report = job.report();
    REQUIRE(report.ranks.size() == kHostRanks);
    for (const JobReport::RankRow& row : report.ranks) {
      INFO("rank " << row.rank);
      CHECK(row.wait_ns == (row.rank == 0 || row.rank == 3 ? kHostSteps * kLater_us * kNsPerUs : 0));
      CHECK(row.transfer_ns == 3 * kHostSteps * kMove_us * kNsPerUs);
    }
    CHECK(report.matching.unmatched == 0);
    CHECK(report.matching.incomplete_instances == 0);
  }
}

TEST_CASE("oneCCL's two kernels behind a closed record are one call of the record's group and size") {
  const HostJob job("xccl", [](const StepTimes& t) {
    return std::vector<Event>{
        step_range(t),
        launch(t, 10, t.id(1), "urEnqueueKernelLaunch"),
        gemm(t),
        record(t, 20, 1),
        range(t, 22, 15, "xccl:all_reduce"),
        launch(t, 25, t.id(2), "urEnqueueKernelLaunch"),
        gpu_row("kernel", "oneccl_reduce_base<float, 2>", t.arrives_us, t.leaves_us - 60, 3, t.id(2)),
        launch(t, 31, t.id(3), "urEnqueueKernelLaunch"),
        gpu_row("kernel", "oneccl_allgather_large<float>", t.leaves_us - 58, t.leaves_us, 3, t.id(3))};
  });
  const JobReport report = job.report();
  check_usual_waits(report);
  REQUIRE(report.collectives.size() == 1);
  CHECK(report.collectives[0].op == CollectiveKind::all_reduce);
  CHECK(report.collectives[0].count == kHostSteps);
}

TEST_CASE("collectives on copy engines are named first, their copying is communication, and nobody lacks a rank") {
  const HostJob job("nccl", [](const StepTimes& t) {
    return std::vector<Event>{
        step_range(t),
        record(t, 0, 9, "_allgather_base"),
        range(t, 1, 7, "nccl:_all_gather_base"),
        launch(t, 2, t.id(4), "cudaMemcpyBatchAsync"),
        gpu_row("gpu_memcpy", "Memcpy PtoP (Device -> Device)", t.begin_us + 20, t.begin_us + 40, 22, t.id(4)),
        launch(t, 10, t.id(1)),
        gemm(t),
        record(t, 20, 20),
        range(t, 22, 15, "nccl:all_reduce"),
        launch(t, 25, t.id(2)),
        gpu_row("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", t.arrives_us, t.leaves_us, 20, t.id(2))};
  });
  const JobReport report = job.report();
  check_usual_waits(report);
  for (const JobReport::RankRow& row : report.ranks) {
    CHECK(row.communication_ns == row.wait_ns + row.transfer_ns + kHostSteps * 20 * kNsPerUs);
    CHECK(row.exposed_memcpy_ns == 0);
  }
  CHECK(report.matching.unmatched == 0);
  CHECK(states(summary_of(report), "Why        Each rank: 8 all_gather ran as copies, without a kernel."));
  REQUIRE(job.problems().size() == kHostRanks);
  CHECK(states(job.problems()[0],
               "8 all_gather ran as copies, without a kernel: their copying (160 us) counts as communication"));
}

TEST_CASE("calls without any GPU row ask for the GPU's activity") {
  const HostJob job("nccl", [](const StepTimes& t) {
    return std::vector<Event>{step_range(t), record(t, 20, 20), range(t, 22, 15, "nccl:all_reduce")};
  });
  const std::string text = summary_of(job.report());
  INFO(text);
  CHECK(states(text, "Verdict    Each rank: 8 NCCL calls were made (8 all_reduce) and no GPU rows recorded."));
  CHECK(states(text, "Next       Add ProfilerActivity.CUDA"));
  CHECK(job.problems().size() == kHostRanks);
}

TEST_CASE("a rank whose GPU rows were lost is named first, and what others waited is a bound") {
  const HostJob job("nccl", [](const StepTimes& t) {
    std::vector<Event> events = {step_range(t), launch(t, 10, t.id(1)), record(t, 20, 20),
                                 range(t, 22, 15, "nccl:all_reduce"), launch(t, 25, t.id(2))};
    if (t.rank == kLateRank) return events;
    events.insert(events.end(), {gemm(t), gpu_row("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", t.arrives_us,
                                                  t.leaves_us, 20, t.id(2))});
    return events;
  });
  const JobReport report = job.report();
  const std::string text = summary_of(report);
  INFO(text);
  CHECK(states(text,
               "Verdict    Rank 2: 16 kernels were launched and none was recorded. Waiting of the other ranks is a "
               "lower bound."));
  CHECK(states(text, "Next       Record again"));
  CHECK(report.matching.incomplete_instances == kHostSteps);
  REQUIRE(job.problems().size() == 1);
  CHECK(states(job.problems()[0], "16 kernels were launched and none was recorded"));
}

TEST_CASE("a rank whose NCCL kernels or half of all kernels were lost says so, and nothing is said of the others") {
  for (const bool half : {false, true}) {
    const int loser = half ? 1 : 3;
    const HostJob job("nccl", [&](const StepTimes& t) {
      std::vector<Event> events = {step_range(t),     launch(t, 10, t.id(1)),
                                   record(t, 20, 20), range(t, 22, 15, "nccl:all_reduce"),
                                   gemm(t),           launch(t, 25, t.id(2))};
      if (t.rank == loser && half && t.step % 2 == 0) events.erase(events.begin() + 4);
      if (t.rank == loser && (!half || t.step % 2 == 0)) return events;
      events.push_back(
          gpu_row("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", t.arrives_us, t.leaves_us, 20, t.id(2)));
      return events;
    });
    const std::vector<std::string> problems = job.problems();
    REQUIRE(problems.size() == 1);
    const std::string told = half ? "8 of 16 launched kernels have no row, 4 of them by collectives"
                                  : "8 of 16 launched kernels have no row, 8 of them by collectives";
    CHECK(states(problems[0], told));
    const std::string text = summary_of(job.report());
    INFO(text);
    CHECK(states(text, fmt::format("Rank {}: {}.", loser, told)));
    CHECK(states(text, "Next       Record again"));
  }
}

TEST_CASE("where every collective ran as copies, nothing is said to be unmatched, and what was lost is told") {
  const HostJob job("nccl", [](const StepTimes& t) {
    return std::vector<Event>{
        step_range(t),
        launch(t, 10, t.id(1)),
        gemm(t),
        record(t, 20, 20, "_allgather_base"),
        range(t, 22, 15, "nccl:_all_gather_base"),
        launch(t, 25, t.id(2), "cudaMemcpyBatchAsync"),
        gpu_row("gpu_memcpy", "Memcpy PtoP (Device -> Device)", t.arrives_us, t.leaves_us, 22, t.id(2))};
  });
  const JobReport report = job.report();
  CHECK(report.matching.calls == 0);
  const std::string text = summary_of(report);
  INFO(text);
  CHECK_FALSE(states(text, "could not be matched"));
  CHECK(states(text, "Verdict    All communication ran as copies or as kernels that only send"));
  CHECK(states(text, "Why        Each rank: 8 all_gather ran as copies, without a kernel."));
}

namespace {

// The rows of a step; where the end of its all-reduce `was_recorded`, with it.
std::vector<Event> step_whose_call_ends(const StepTimes& t, bool was_recorded) {
  Event call = gpu_row("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", t.arrives_us, t.leaves_us, 20, t.id(2));
  if (!was_recorded) call.duration_us = kAbsent_us;
  return {step_range(t),
          launch(t, 10, t.id(1)),
          gemm(t),
          record(t, 20, 20),
          range(t, 22, 15, "nccl:all_reduce"),
          launch(t, 25, t.id(2)),
          call};
}

}  // namespace

TEST_CASE("calls without an end tell when they began: the waits of others are exact, their own are not determined") {
  for (const int lost_steps : {3, kHostSteps}) {
    INFO(lost_steps << " steps");
    const HostJob job("nccl", [&](const StepTimes& t) {
      return step_whose_call_ends(t, t.step >= lost_steps || (t.rank != 0 && t.rank != kLateRank));
    });
    const JobReport report = job.report();
    const int whole = kHostSteps - lost_steps;
    for (const JobReport::RankRow& row : report.ranks) {
      INFO("rank " << row.rank);
      const bool damaged = row.rank == 0 || row.rank == kLateRank;
      const int told = damaged ? whole : kHostSteps;
      CHECK(row.wait_ns == (row.rank == kLateRank ? 0 : told * kLater_us * kNsPerUs));
      CHECK(row.transfer_ns == told * kMove_us * kNsPerUs);
    }
    for (const JobReport::CallRow& call : report.calls) {
      const bool open = call.end_ns == call.start_ns;
      CHECK(open == (call.note == "end not recorded"));
      CHECK((call.wait_ns < 0) == open);
    }
    const std::string text = summary_of(report);
    INFO(text);
    CHECK(states(text, "at least"));
    REQUIRE(report.stragglers.size() == 1);
    CHECK(report.stragglers[0].rank == kLateRank);
    CHECK(report.matching.incomplete_instances == 0);
  }
}

TEST_CASE("calls without an end are not compared where their clock as recorded is another") {
  for (const int64_t apart_us : {-40'000, 40'000}) {
    const HostJob job("nccl", [&](const StepTimes& t) {
      std::vector<Event> events = step_whose_call_ends(t, t.rank != kLateRank);
      for (Event& event : events) event.at_us += t.rank == kLateRank ? apart_us : 0;
      return events;
    });
    for (const JobReport::RankRow& row : job.report().ranks) CHECK(row.wait_ns == 0);
  }
}

TEST_CASE("a user's kernel with a collective's word computes, and a user's table may say otherwise") {
  const auto write = [](const StepTimes& t) {
    return std::vector<Event>{step_range(t),
                              {"cpu_op", "aten::mul", t.begin_us + 9, 9, 4000, ""},
                              launch(t, 10, t.id(1)),
                              gpu_row("kernel", "void megatron_grads_all_reduce_kernel<float>(float*)", t.begin_us + 50,
                                      t.begin_us + 150, 7, t.id(1))};
  };
  const HostJob job("nccl", write);
  const JobReport report = job.report();
  for (const JobReport::RankRow& row : report.ranks) {
    CHECK(row.compute_ns == kHostSteps * 100 * kNsPerUs);
    CHECK(row.collectives == 0);
  }
  CorrelateOptions options;
  const auto table = KernelTable::parse(
      R"({"kernels": [{"functions": ["megatron_grads_*"], "kind": "all_reduce", "waits": false}]})", "own");
  options.ingest.kernels = std::make_shared<const KernelTable>(table.value());
  StageTimer timer;
  const auto told = correlate({job.folder.path.string()}, options, timer);
  REQUIRE(told.ok());
  for (const JobReport::RankRow& row : told.value().ranks) {
    CHECK(row.communication_ns == kHostSteps * 100 * kNsPerUs);
    CHECK(row.transfer_ns == kHostSteps * 100 * kNsPerUs);  // it only sends
  }
  CHECK(told.value().matching.unmatched == 0);
}

TEST_CASE("the GPUs of one process wait for each other, and no rank is missing") {
  const Folder folder("one_process");
  std::filesystem::create_directories(folder.path);
  std::string events;
  int64_t id = 0;
  for (int step = 0; step < kHostSteps; ++step) {
    for (int device = 0; device < 2; ++device) {
      const int64_t begin_us = begin_of(step), arrives_us = begin_us + 100 + (device == 1 ? kLater_us : 0);
      const StepTimes t{0, step, begin_us, arrives_us, begin_us + 100 + kLater_us + kMove_us};
      Event row = gpu_row("kernel", "ncclKernel_AllReduce_RING_LL_Sum_float(x)", t.arrives_us, t.leaves_us, 20, ++id);
      row.args.replace(row.args.find("\"device\": 0"), 11, fmt::format("\"device\": {}", device));
      for (const Event& event : {launch(t, 10 + 10 * device, id), row}) {
        events += (events.empty() ? "\n  " : ",\n  ") + event_text(event);
      }
    }
  }
  std::ofstream(folder.path / "trace.json") << R"({"schemaVersion": 1, "traceEvents": [)" << events << "\n]}\n";
  StageTimer timer;
  const auto made = correlate({folder.path.string()}, {}, timer);
  REQUIRE(made.ok());
  const JobReport& report = made.value();
  REQUIRE(report.ranks.size() == 1);
  CHECK(report.ranks[0].wait_ns == kHostSteps * kLater_us * kNsPerUs);
  CHECK(report.ranks[0].transfer_ns == 2 * kHostSteps * kMove_us * kNsPerUs);
  CHECK(report.matching.unmatched == 0);
  CHECK(states(summary_of(report),
               "Verdict    One process drives all GPUs: they spend 50 % of communication time waiting"));
}
