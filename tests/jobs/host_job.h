// Small jobs written by hand, so that each time is known. Four ranks, eight steps of uneven length, one all-reduce in
// each; rank 2 computes 1000 us longer: the others wait so long, and the transfer takes 500 us.
#pragma once

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

namespace skewscope::test {

inline constexpr int kHostRanks = 4, kHostSteps = 8, kLateRank = 2;
inline constexpr int64_t kStep_us = 5000, kCompute_us = 2000, kLater_us = 1000, kMove_us = 500;
inline constexpr int64_t kNsPerUs = 1000;
inline constexpr int64_t kAbsent_us = -1;  // a duration that was not written

// Uneven, so that the k-th call of one rank fits only the k-th of the others.
inline int64_t begin_of(int step) { return step * kStep_us + 137 * step * step; }

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

inline std::string event_text(const Event& e) {
  const std::string duration = e.duration_us == kAbsent_us ? "" : fmt::format(R"("dur": {}.000, )", e.duration_us);
  return fmt::format(R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}.000, {})"
                     R"("args": {{{}}}}})",
                     e.category, e.name, e.thread < 100 ? 0 : 4000, e.thread, 1'750'000'000'000'000 + e.at_us, duration,
                     e.args);
}

inline Event step_range(const StepTimes& t) {
  return {"user_annotation", fmt::format("ProfilerStep#{}", t.step + 5), t.begin_us, kStep_us - 100, 4000, ""};
}

inline Event record(const StepTimes& t, int64_t after_us, int64_t duration_us,
                    const std::string& operation = "allreduce") {
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

inline Event range(const StepTimes& t, int64_t after_us, int64_t duration_us, const std::string& name) {
  return {"user_annotation", name, t.begin_us + after_us, duration_us, 4000, ""};
}

inline Event launch(const StepTimes& t, int64_t after_us, int64_t correlation,
                    const std::string& name = "cudaLaunchKernel") {
  return {"cuda_runtime", name, t.begin_us + after_us, 5, 4000, fmt::format(R"("correlation": {})", correlation)};
}

inline Event gpu_row(const std::string& category, const std::string& name, int64_t from_us, int64_t to_us,
                     int64_t stream, int64_t correlation) {
  return {category,        name,   from_us,
          to_us - from_us, stream, fmt::format(R"("device": 0, "stream": {}, "correlation": {})", stream, correlation)};
}

inline Event gemm(const StepTimes& t) {
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
inline std::string summary_of(const JobReport& report) {
  std::string text = terminal_summary(report, "", false);
  for (size_t at = text.find("\n           "); at != std::string::npos; at = text.find("\n           ")) {
    text.replace(at, 12, " ");
  }
  return text;
}

inline bool states(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

inline void check_usual_waits(const JobReport& report) {
  REQUIRE(report.ranks.size() == kHostRanks);
  for (const JobReport::RankRow& row : report.ranks) {
    INFO("rank " << row.rank);
    CHECK(row.wait_ns == (row.rank == kLateRank ? 0 : kHostSteps * kLater_us * kNsPerUs));
    CHECK(row.transfer_ns == kHostSteps * kMove_us * kNsPerUs);
  }
}

}  // namespace skewscope::test
