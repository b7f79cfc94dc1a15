// Jobs in which a row or two of one rank are damaged, as users have them: window, waits and computing time are those of
// the job as it ran, and what was wrong is said. Every time below is placed by hand.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "skewscope/correlate.h"
#include "tests/temporary_folder.h"

using namespace skewscope;

namespace {

constexpr int kWholeSteps = 6;
constexpr double kFirstStep_us = 4'000'000'000;  // behind the base of the stamps
constexpr const char* kNcclKernel = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

struct WrittenRow {
  std::string category, name;
  int64_t process = 0, thread = 0;
  double at_us = 0, duration_us = 0;
  std::string args;
};
using WrittenRank = std::vector<WrittenRow>;

// Rank 1 of 2 computes `late_us` longer in each step: a GEMM, an all-reduce that all leave 400 us after the last came,
// an optimizer's kernel of 200 us, and the host waits for the device.
WrittenRank rank_of_job(int rank, double late_us = 1000) {
  WrittenRank rows;
  int64_t correlation = 0;
  const auto launch = [&](const std::string& kernel, int64_t stream, double called_us, double at_us,
                          double duration_us) {
    ++correlation;
    rows.push_back({"cuda_runtime", "cudaLaunchKernel", 4000, 4000, called_us, 6,
                    fmt::format("\"correlation\": {}", correlation)});
    rows.push_back({"kernel", kernel, 0, stream, at_us, duration_us,
                    fmt::format("\"device\": 0, \"stream\": {}, \"correlation\": {}", stream, correlation)});
  };
  for (int step = 0; step < kWholeSteps; ++step) {
    const double at_us = kFirstStep_us + 5000 * step, compute_us = rank == 1 ? 2000 + late_us : 2000;
    const double all_leave_us = at_us + 50 + 2000 + late_us + 400;
    rows.push_back({"user_annotation", fmt::format("ProfilerStep#{}", step + 3), 4000, 4000, at_us, 4990, ""});
    launch("gemm", 7, at_us + 5, at_us + 50, compute_us);
    rows.push_back(
        {"cpu_op", "record_param_comms", 4000, 4000, at_us + 18, 14,
         R"("Collective name": "allreduce", "In msg nelems": 4096, "Out msg nelems": 4096, "Group size": 2, )"
         R"("dtype": "BFloat16", "Process Group Name": "0", "Process Group Description": "default_pg", )"
         R"("Process Group Ranks": "[0, 1]")"});
    launch(kNcclKernel, 20, at_us + 20, at_us + 50 + compute_us, all_leave_us - at_us - 50 - compute_us);
    launch("adam", 7, at_us + 40, all_leave_us, 200);
    rows.push_back({"cuda_runtime", "cudaDeviceSynchronize", 4000, 4000, at_us + 60, all_leave_us + 220 - at_us - 60,
                    "\"cbid\": 165"});
  }
  return rows;
}

std::string row_text(const WrittenRow& row) {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, "args": {{{}}}}})",
      row.category, row.name, row.process, row.thread, row.at_us, row.duration_us, row.args);
}

std::string pair_text(const WrittenRow& row) {
  const std::string place = fmt::format(R"("cat": "{}", "name": "{}", "pid": {}, "tid": {}, )", row.category, row.name,
                                        row.process, row.thread);
  return fmt::format("{{\"ph\": \"B\", {}\"ts\": {:.3f}, \"args\": {{{}}}}},\n{{\"ph\": \"E\", {}\"ts\": {:.3f}}}",
                     place, row.at_us, row.args, place, row.at_us + row.duration_us);
}

using ToText = std::function<std::string(const WrittenRow&)>;
using DamageOfRows = std::function<void(WrittenRank&)>;

void write_rank(const std::filesystem::path& folder, int rank, const WrittenRank& rows, const ToText& text) {
  std::ofstream out(folder / fmt::format("rank{}.json", rank));
  out << R"({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": )" << rank
      << R"(, "world_size": 2}, "baseTimeNanoseconds": 1743521598000000000, "traceEvents": [)"
      << "\n";
  for (const WrittenRow& row : rows) out << text(row) << ",\n";
  out << R"({"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": )"
      << fmt::format("{:.3f}", kFirstStep_us + 5000 * kWholeSteps + 20) << "}\n]}\n";
}

JobReport report_of_damaged(const DamageOfRows& damage, const ToText& text = row_text, bool all_ranks = false) {
  const test::Folder folder("damaged_rows");
  std::filesystem::create_directories(folder.path);
  for (int rank = 0; rank < 2; ++rank) {
    WrittenRank rows = rank_of_job(rank);
    if (rank == 0 || all_ranks) damage(rows);
    write_rank(folder.path, rank, rows, text);
  }
  StageTimer timer;
  auto report = correlate({folder.path.string()}, {}, timer);
  INFO((report.ok() ? "" : report.error().message));
  REQUIRE(report.ok());
  return report.value();
}

int64_t times_found(const JobReport& report, FindingCode code) {
  int64_t n = 0;
  for (const Finding& finding : report.diagnostics) n += finding.code == code ? finding.count : 0;
  return n;
}

// As placed: rank 0 waits 1 ms in each step, both move bytes for 400 us and compute as long as was said.
void check_as_placed(const JobReport& report, int64_t tolerance_ns = 0) {
  const auto near = [&](int64_t value_ns, int64_t truth_ns) { return std::abs(value_ns - truth_ns) <= tolerance_ns; };
  CHECK(near(report.job.window_ns, (5000 * kWholeSteps - 10) * 1000));
  CHECK(report.job.steps.size() == kWholeSteps);
  REQUIRE(report.ranks.size() == 2);
  CHECK(near(report.ranks[0].wait_ns, kWholeSteps * 1'000'000));
  CHECK(near(report.ranks[1].wait_ns, 0));
  for (const JobReport::RankRow& rank : report.ranks) CHECK(near(rank.transfer_ns, kWholeSteps * 400'000));
  CHECK(report.ranks[0].compute_ns == kWholeSteps * 2'200'000);
  CHECK(report.ranks[1].compute_ns == kWholeSteps * 3'200'000);
}

WrittenRow& last_of(WrittenRank& rows, const std::string& name) {
  return *std::find_if(rows.rbegin(), rows.rend(), [&](const WrittenRow& row) { return row.name.starts_with(name); });
}

constexpr double kSecondsLate_us = 4'812'345.678;

}  // namespace

TEST_CASE("a job without damage is reported as it was placed, with no finding about its rows") {
  const JobReport report = report_of_damaged([](WrittenRank&) {});
  check_as_placed(report);
  for (const Finding& finding : report.diagnostics) CHECK(finding.severity == Severity::info);
}

TEST_CASE("one kernel at the base, before it or far from all others does not make the job as long as that") {
  for (const double at_us : {0.0, -5.0, kFirstStep_us - 1e9, kFirstStep_us + 1e9}) {
    INFO(at_us);
    const JobReport report = report_of_damaged([&](WrittenRank& rows) {
      rows.insert(rows.begin(),
                  {"kernel", "fill", 0, 7, at_us, 1.2, R"("device": 0, "stream": 7, "correlation": 999)"});
    });
    check_as_placed(report);
    CHECK(times_found(report, "time-out-of-range") == 1);
  }
}

TEST_CASE("whatever row ends seconds late, the job ends when it did") {
  for (const std::string name : {"adam", "ProfilerStep", "cudaLaunchKernel", "record_param_comms", kNcclKernel}) {
    INFO(name);
    const JobReport report =
        report_of_damaged([&](WrittenRank& rows) { last_of(rows, name).duration_us = kSecondsLate_us; });
    check_as_placed(report);
    const auto is_late = [](const Finding& finding) { return finding.code.text().ends_with("end-out-of-range"); };
    CHECK(std::count_if(report.diagnostics.begin(), report.diagnostics.end(), is_late) == 1);
  }
}

TEST_CASE("GPU clocks that count from boot are told, and steps and waits are those of the job") {
  const auto since_boot = [](WrittenRank& rows) {
    for (WrittenRow& row : rows) row.at_us -= row.category == "kernel" ? 1.7e15 : 0;
  };
  const JobReport report = report_of_damaged(since_boot, row_text, true);
  check_as_placed(report, 30'000);  // where a launch and its kernel meet, nothing says
  CHECK(times_found(report, "gpu-clock-apart") == 2 * 3 * kWholeSteps);
}

TEST_CASE("a GPU clock that is off by seconds, of one rank or of all, is told, and every figure is that of the job") {
  for (const double apart_us : {-2e6, 2e6, 1e8, 7e8}) {
    for (const bool all_ranks : {false, true}) {
      INFO(apart_us << all_ranks);
      const auto move = [&](WrittenRank& rows) {
        for (WrittenRow& row : rows) row.at_us += row.category == "kernel" ? apart_us : 0;
      };
      const JobReport report = report_of_damaged(move, row_text, all_ranks);
      check_as_placed(report, 30'000);  // where a launch and its kernel meet, nothing says
      CHECK(times_found(report, "gpu-clock-apart") == (all_ranks ? 2 : 1) * 3 * kWholeSteps);
    }
  }
}

TEST_CASE("a kernel or a step that lies 200 ms from where it was does not make the job longer") {
  for (const std::string name : {"gemm", "adam", "ProfilerStep"}) {
    for (const double away_us : {-200'000.0, 200'000.0}) {
      INFO(name << away_us);
      const JobReport report = report_of_damaged([&](WrittenRank& rows) { last_of(rows, name).at_us += away_us; });
      CHECK(report.job.window_ns == (5000 * kWholeSteps - 10) * 1000);
      CHECK(times_found(report, name == "ProfilerStep" ? FindingCode("step-out-of-range")
                                                       : FindingCode("time-out-of-range")) == 1);
      CHECK(report.ranks[0].wait_ns == kWholeSteps * 1'000'000);
    }
  }
}

TEST_CASE("kernels whose correlation is absent stay in their steps, and every figure is that of the job") {
  const JobReport whole = report_of_damaged([](WrittenRank&) {});
  for (const int every : {3, 4, 5}) {  // the optimizer's kernels; others, of both streams
    INFO(every);
    int rows = 0;
    const JobReport report = report_of_damaged([](WrittenRank&) {},
                                               [&](const WrittenRow& row) {
                                                 std::string text = row_text(row);
                                                 if (row.category != "kernel" || ++rows % every != 0) return text;
                                                 const size_t value = text.find("\"correlation\": ") + 15;
                                                 return text.erase(value, text.find('}', value) - value);
                                               });
    check_as_placed(report);
    REQUIRE(report.steps.size() == whole.steps.size());
    for (size_t i = 0; i < whole.steps.size(); ++i) {
      CHECK(report.steps[i].duration_ns == whole.steps[i].duration_ns);
      CHECK(report.steps[i].gpu_rows == whole.steps[i].gpu_rows);
    }
    CHECK(times_found(report, "orphan-kernels") == 0);
  }
}

TEST_CASE("events that begin and end in two give the figures of complete ones") {
  check_as_placed(report_of_damaged([](WrittenRank&) {}, pair_text));
}

TEST_CASE("a group without a description loses nothing else") {
  const auto without = [](const std::string& value) {
    return [value](const WrittenRow& row) {
      std::string text = row_text(row);
      const std::string described = R"("Process Group Description": "default_pg")";
      const size_t at = text.find(described);
      if (at != std::string::npos) text.replace(at, described.size(), "\"Process Group Description\": " + value);
      return text;
    };
  };
  for (const std::string value : {"", " ", "mesh_dp", "\"a\"b\"", "two words"}) {
    INFO(value);
    const JobReport report = report_of_damaged([](WrittenRank&) {}, without(value));
    check_as_placed(report);
    CHECK(times_found(report, "dropped-event") == 0);
  }
}

TEST_CASE("a kernel that is resident behind a waiting all-reduce hides none of its waiting") {
  // The optimizer's kernel is launched dependently: on the all-reduce's stream, resident 3 us after that began.
  const JobReport report = report_of_damaged(
      [](WrittenRank& rows) {
        for (size_t i = 0; i < rows.size(); ++i) {
          if (rows[i].name == kNcclKernel) rows[i].thread = 7;
          if (rows[i].name != "adam") continue;
          const auto reduce = std::find_if(rows.rend() - static_cast<ptrdiff_t>(i), rows.rend(),
                                           [](const WrittenRow& row) { return row.name == kNcclKernel; });
          rows[i].duration_us += rows[i].at_us - reduce->at_us - 3;
          rows[i].at_us = reduce->at_us + 3;
        }
        for (WrittenRow& row : rows) {
          const size_t stream = row.args.find("\"stream\": 20");
          if (stream != std::string::npos) row.args.replace(stream, 12, "\"stream\": 7");
        }
      },
      row_text, true);
  check_as_placed(report);
  CHECK(report.ranks[0].exposed_wait_ns == report.ranks[0].wait_ns);
  CHECK(times_found(report, "waiting-kernels") == 2 * kWholeSteps);
}

TEST_CASE("recorded kernels of dependent launches overlap on their stream, and no GPU computes while it waits") {
  const auto set = std::filesystem::path(SKEWSCOPE_SOURCE_DIR) / "tests" / "data" / "real" / "dependent_launch";
  StageTimer timer;
  const auto report = correlate({set.string()}, {}, timer);
  REQUIRE(report.ok());
  int ranks = 0;
  for (const Finding& finding : report.value().diagnostics) {
    if (finding.code.text() != "waiting-kernels") continue;
    ++ranks;
    CHECK(finding.severity == Severity::info);
    CHECK(finding.count > 60);  // of some 294 rows; counted by sorting the rows of each stream in Python: 83 to 88
    CHECK(finding.count < 100);
  }
  CHECK(ranks == 4);
}
