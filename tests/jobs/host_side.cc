// Jobs whose collectives the host tells of, and the GPU's rows tell less or nothing: small ones written by hand, so
// that each time is known. Four ranks, eight steps of uneven length, one all-reduce in each; rank 2 computes 1000 us
// longer: the others wait so long, and the transfer takes 500 us.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "skewscope/correlate.h"
#include "skewscope/ingest.h"
#include "skewscope/report.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using skewscope::test::Folder;

namespace {

constexpr int kHostRanks = 4, kHostSteps = 8, kLateRank = 2;
constexpr int64_t kStep_us = 5000, kCompute_us = 2000, kLater_us = 1000, kMove_us = 500;
constexpr int64_t kNsPerUs = 1000;
constexpr int64_t kAbsent_us = -1;  // a duration that was not written

// Uneven, so that the k-th call of one rank fits only the k-th of the others.
int64_t begin_of(int step) { return step * kStep_us + 137 * step * step; }

struct Event {
  std::string category, name;
  int64_t at_us = 0, duration_us = 0, thread = 0;
  std::string args;
};

// One rank's times in one step.
struct StepTimes {
  int rank = 0, step = 0;
  int64_t begin_us = 0;    // of the step
  int64_t arrives_us = 0;  // at the all-reduce
  int64_t leaves_us = 0;
  int64_t id(int number) const { return 1 + 10 * step + number; }
};

using Writer = std::function<std::vector<Event>(const StepTimes&)>;

std::string event_text(const Event& e) {
  const std::string duration = e.duration_us == kAbsent_us ? "" : fmt::format(R"("dur": {}.000, )", e.duration_us);
  return fmt::format(R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}.000, {})"
                     R"("args": {{{}}}}})",
                     e.category, e.name, e.thread < 100 ? 0 : 4000, e.thread, 1'750'000'000'000'000 + e.at_us, duration,
                     e.args);
}

Event step_range(const StepTimes& t) {
  return {"user_annotation", fmt::format("ProfilerStep#{}", t.step + 5), t.begin_us, kStep_us - 100, 4000, ""};
}

Event record(const StepTimes& t, int64_t after_us, int64_t duration_us, const std::string& operation = "allreduce") {
  return {"cpu_op",
          "record_param_comms",
          t.begin_us + after_us,
          duration_us,
          4000,
          fmt::format(R"("Collective name": "{}", "In msg nelems": 4096, "Out msg nelems": 4096, "Group size": 4, )"
                      R"("dtype": "Float", "Process Group Name": "0", "Process Group Description": "default_pg", )"
                      R"("Process Group Ranks": "[0, 1, 2, 3]")",
                      operation)};
}

Event range(const StepTimes& t, int64_t after_us, int64_t duration_us, const std::string& name) {
  return {"user_annotation", name, t.begin_us + after_us, duration_us, 4000, ""};
}

Event launch(const StepTimes& t, int64_t after_us, int64_t correlation, const std::string& name = "cudaLaunchKernel") {
  return {"cuda_runtime", name, t.begin_us + after_us, 5, 4000, fmt::format(R"("correlation": {})", correlation)};
}

Event gpu_row(const std::string& category, const std::string& name, int64_t from_us, int64_t to_us, int64_t stream,
              int64_t correlation) {
  return {category,        name,   from_us,
          to_us - from_us, stream, fmt::format(R"("device": 0, "stream": {}, "correlation": {})", stream, correlation)};
}

Event gemm(const StepTimes& t) {
  const int64_t computes_us = kCompute_us + (t.rank == kLateRank ? kLater_us : 0);
  return gpu_row("kernel", "gemm", t.begin_us + 50, t.begin_us + 50 + computes_us, 7, t.id(1));
}

struct HostJob {
  Folder folder{"host_side"};

  HostJob(const std::string& backend, const Writer& write) {
    std::filesystem::create_directories(folder.path);
    for (int rank = 0; rank < kHostRanks; ++rank) {
      std::string events;
      for (int step = 0; step < kHostSteps; ++step) {
        const int64_t begin_us = begin_of(step), computes_us = kCompute_us + (rank == kLateRank ? kLater_us : 0);
        const StepTimes times{rank, step, begin_us, begin_us + 60 + computes_us,
                              begin_us + 60 + kCompute_us + kLater_us + kMove_us};
        for (const Event& event : write(times)) events += (events.empty() ? "\n  " : ",\n  ") + event_text(event);
      }
      std::ofstream(folder.path / fmt::format("rank{}.json", rank))
          << fmt::format(R"({{"distributedInfo": {{"backend": "{}", "rank": {}, "world_size": 4}}, "traceEvents": [)",
                         backend, rank)
          << events << "\n]}\n";
    }
  }
  JobReport report() const {
    StageTimer timer;
    auto made = correlate({folder.path.string()}, {}, timer);
    REQUIRE(made.ok());
    return std::move(made).value();
  }
  std::vector<std::string> problems() const {
    StageTimer timer;
    const auto files = discover_files({folder.path.string()});
    const auto inspected = inspect_files(files.value(), {}, timer);
    std::vector<std::string> all;
    for (const FileSummary& file : inspected.value().files) {
      all.insert(all.end(), file.problems.begin(), file.problems.end());
    }
    return all;
  }
};

// In one line each.
std::string summary_of(const JobReport& report) {
  std::string text = terminal_summary(report, "", false);
  for (size_t at = text.find("\n         "); at != std::string::npos; at = text.find("\n         ")) {
    text.replace(at, 10, " ");
  }
  return text;
}

bool states(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

void check_usual_waits(const JobReport& report) {
  REQUIRE(report.ranks.size() == kHostRanks);
  for (const JobReport::RankRow& row : report.ranks) {
    INFO("rank " << row.rank);
    CHECK(row.wait_ns == (row.rank == kLateRank ? 0 : kHostSteps * kLater_us * kNsPerUs));
    CHECK(row.transfer_ns == kHostSteps * kMove_us * kNsPerUs);
  }
}

}  // namespace

TEST_CASE("ranges of MPI and UCC on CPUs, and of gloo beside GPUs, are split as all collectives are") {
  for (const char* backend : {"mpi", "ucc", "gloo"}) {
    INFO(backend);
    const HostJob job(backend, [&](const StepTimes& t) {
      Event call{"user_annotation",
                 fmt::format("{}:all_reduce", backend),
                 t.arrives_us,
                 t.leaves_us - t.arrives_us,
                 4009,
                 R"("Input Dims": [[4096]], "Input type": ["float"])"};
      std::vector<Event> events = {step_range(t), call};
      if (std::string(backend) == "gloo") events.insert(events.end(), {launch(t, 10, t.id(1)), gemm(t)});
      return events;
    });
    const JobReport report = job.report();
    check_usual_waits(report);
    CHECK_FALSE(states(summary_of(report), "No collectives"));
  }
}

// DDP over gloo: the GPU computes, a thread of the host reduces what it left, and the next step waits for that.
Writer gloo_between_gpus(int64_t pause_of_late_rank_us) {
  return [=](const StepTimes& t) {
    const int64_t own_us = kCompute_us + (t.rank == kLateRank && pause_of_late_rank_us == 0 ? kLater_us : 0);
    const int64_t begin_us = t.rank == kLateRank ? t.begin_us + pause_of_late_rank_us : t.begin_us;
    return std::vector<Event>{
        step_range(t),
        {"cuda_runtime", "cudaLaunchKernel", begin_us + 40, 5, 4000, fmt::format(R"("correlation": {})", t.id(1))},
        gpu_row("kernel", "gemm", begin_us + 50, begin_us + 50 + own_us, 7, t.id(1)),
        record(t, t.arrives_us - 4 - t.begin_us, 2),
        {"user_annotation", "gloo:all_reduce", t.arrives_us, t.leaves_us - t.arrives_us, 4009, ""}};
  };
}

TEST_CASE("between GPUs that gloo serves, GPUs wait and are not idle, and each nanosecond has one name") {
  const JobReport report = HostJob("gloo", gloo_between_gpus(0)).report();
  check_usual_waits(report);
  for (const JobReport::RankRow& row : report.ranks) {
    INFO("rank " << row.rank);
    CHECK(row.communication_ns == row.wait_ns + row.transfer_ns);
    CHECK(row.exposed_communication_ns == row.communication_ns);
    CHECK(row.compute_ns == kHostSteps * (kCompute_us + (row.rank == kLateRank ? kLater_us : 0)) * kNsPerUs);
    CHECK(row.compute_ns + row.exposed_communication_ns + row.idle_ns == row.total_ns);
  }
  REQUIRE(report.communicators.size() == 1);
  CHECK(report.communicators[0].name == "0");  // as the record on the thread of the program says
}

TEST_CASE("behind gloo's collectives a rank whose kernels are slower is the cause, and its peers' pace saves their time") {
  const JobReport report = HostJob("gloo", gloo_between_gpus(0)).report();
  REQUIRE_FALSE(report.stragglers.empty());
  CHECK(report.stragglers[0].rank == kLateRank);
  CHECK(report.stragglers[0].cause == "slower_kernels");
  const double saved_ns = static_cast<double>(report.stragglers[0].saved_ns);
  CHECK(saved_ns == Approx(kHostSteps * kLater_us * kNsPerUs).epsilon(0.05));
}

TEST_CASE("behind gloo's collectives a rank whose host pauses before it launches is the cause, and so is its host") {
  const JobReport report = HostJob("gloo", gloo_between_gpus(kLater_us)).report();
  check_usual_waits(report);
  REQUIRE_FALSE(report.stragglers.empty());
  CHECK(report.stragglers[0].rank == kLateRank);
  CHECK(report.stragglers[0].cause == "host");
  const double saved_ns = static_cast<double>(report.stragglers[0].saved_ns);
  CHECK(saved_ns == Approx(kHostSteps * kLater_us * kNsPerUs).epsilon(0.05));
}

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
  CHECK(report.collectives[0].op == "all_reduce");
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
  CHECK(report.collectives[0].op == "all_reduce");
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
  CHECK(states(summary_of(report), "Why      Each rank: 8 all_gather ran as copies, without a kernel."));
  REQUIRE(job.problems().size() == kHostRanks);
  CHECK(states(job.problems()[0],
               "8 all_gather ran as copies, without a kernel: their copying (160 us) is communication"));
}

TEST_CASE("calls without any GPU row ask for the GPU's activity") {
  const HostJob job("nccl", [](const StepTimes& t) {
    return std::vector<Event>{step_range(t), record(t, 20, 20), range(t, 22, 15, "nccl:all_reduce")};
  });
  const std::string text = summary_of(job.report());
  INFO(text);
  CHECK(states(text, "Verdict  Each rank: 8 NCCL calls were made (8 all_reduce) and no GPU rows recorded."));
  CHECK(states(text, "Next     Add ProfilerActivity.CUDA"));
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
  CHECK(
      states(text, "Verdict  Rank 2: 16 kernels were launched and none was recorded. What others waited is a bound."));
  CHECK(states(text, "Next     Record once more"));
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
    const std::string told = half ? "8 of 16 kernels were launched and are in no row, 4 of them by collectives"
                                  : "8 of 16 kernels were launched and are in no row, 8 of them by collectives";
    CHECK(states(problems[0], told));
    const std::string text = summary_of(job.report());
    INFO(text);
    CHECK(states(text, fmt::format("Rank {}: {}.", loser, told)));
    CHECK(states(text, "Next     Record once more"));
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
  CHECK(states(text, "Verdict  All communication ran as copies or kernels that only send"));
  CHECK(states(text, "Why      Each rank: 8 all_gather ran as copies, without a kernel."));
}

TEST_CASE("calls without an end tell when they began: the waits of others are exact, their own are not determined") {
  for (const int lost_steps : {3, kHostSteps}) {
    INFO(lost_steps << " steps");
    const HostJob job("nccl", [&](const StepTimes& t) {
      Event call =
          gpu_row("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", t.arrives_us, t.leaves_us, 20, t.id(2));
      if (t.step < lost_steps && (t.rank == 0 || t.rank == kLateRank)) call.duration_us = kAbsent_us;
      return std::vector<Event>{step_range(t),
                                launch(t, 10, t.id(1)),
                                gemm(t),
                                record(t, 20, 20),
                                range(t, 22, 15, "nccl:all_reduce"),
                                launch(t, 25, t.id(2)),
                                call};
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
    CHECK(states(text, "Verdict  At least"));
    REQUIRE(report.stragglers.size() == 1);
    CHECK(report.stragglers[0].rank == kLateRank);
    CHECK(report.matching.incomplete_instances == 0);
  }
}

TEST_CASE("calls without an end are not compared where their clock as recorded is another") {
  for (const int64_t apart_us : {-40'000, 40'000}) {
    const HostJob job("nccl", [&](const StepTimes& t) {
      Event call =
          gpu_row("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", t.arrives_us, t.leaves_us, 20, t.id(2));
      if (t.rank == kLateRank) call.duration_us = kAbsent_us;
      std::vector<Event> events = {step_range(t),
                                   launch(t, 10, t.id(1)),
                                   gemm(t),
                                   record(t, 20, 20),
                                   range(t, 22, 15, "nccl:all_reduce"),
                                   launch(t, 25, t.id(2)),
                                   call};
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
  CHECK(
      states(summary_of(report), "Verdict  One process drives its GPUs: 50 % of their communication time is waiting"));
}
