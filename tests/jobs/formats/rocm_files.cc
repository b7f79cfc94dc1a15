// One simulated job, as profilers of ROCm would have recorded it and as torch.profiler did. None of them names a group
// or a size: collectives are matched by order and ends, which is right or not done.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "skewscope/correlate.h"
#include "skewscope/ingest/make_digests.h"
#include "skewscope/report.h"
#include "skewscope/simulate.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using skewscope::test::Folder;

namespace {

SimulateOptions job_of_rocprof() {
  SimulateOptions options;
  options.steps = 5;
  options.layers = 4;
  options.clock_offset_ms = 5;
  options.slow_ranks = {{5, 1.3}};
  options.cpu_rows_per_kernel = 0;
  return options;
}

SimulateOptions one_group_of_rocprof() {
  SimulateOptions options = job_of_rocprof();
  options.tp = 1;
  return options;
}

const std::vector<std::string> kFormats = {"rocpd", "rpd", "rocprofv3-json"};

JobReport report_of_simulated(SimulateOptions options, const std::string& format) {
  const Folder folder("rocm_job");
  options.directory = folder.path.string();
  options.format = format;
  REQUIRE(simulate_job(options).ok());
  StageTimer timer;
  CorrelateOptions correlation;
  correlation.ingest.world_size = 8;  // which an RPD does not tell
  Result<JobReport> report = correlate({folder.path.string()}, correlation, timer);
  REQUIRE(report.ok());
  return std::move(report).value();
}

// The k-th call of a rank, in the order of time.
using CallOfRank = std::pair<int32_t, size_t>;
struct SplitCall {
  int64_t wait_ns = -1, transfer_ns = -1, step = -1;
  CollectiveKind op = CollectiveKind::unknown;
};
struct MatchedCalls {
  std::set<std::set<CallOfRank>> instances;
  std::map<CallOfRank, SplitCall> calls;
};

MatchedCalls matched_calls(const JobReport& report) {
  std::map<int32_t, std::vector<std::pair<int64_t, const JobReport::CallRow*>>> of_rank;  // null: in no instance
  for (const JobReport::CallRow& call : report.calls) of_rank[call.rank].emplace_back(call.start_ns, &call);
  for (const JobReport::UnmatchedRow& call : report.unmatched) of_rank[call.rank].emplace_back(call.start_ns, nullptr);
  std::map<int32_t, std::set<CallOfRank>> members;
  MatchedCalls matched;
  for (auto& [rank, calls] : of_rank) {
    std::sort(calls.begin(), calls.end());
    for (size_t k = 0; k < calls.size(); ++k) {
      const JobReport::CallRow* const call = calls[k].second;
      if (call == nullptr) continue;
      members[call->instance].insert({rank, k});
      matched.calls[{rank, k}] = {call->wait_ns, call->transfer_ns, call->step, call->op};
    }
  }
  for (auto& [instance, calls] : members) matched.instances.insert(std::move(calls));
  return matched;
}

// Figures of ranks that no clock and no group is in.
nlohmann::json ranks_without_clocks(const JobReport& report, const std::string& format) {
  nlohmann::json ranks = nlohmann::json::parse(to_json(report, {})).at("ranks");
  for (nlohmann::json& rank : ranks) {
    for (const char* const key : {"wait_ns", "transfer_ns", "exposed_wait_ns", "exposed_transfer_ns", "delay_caused_ns",
                                  "late_count", "instant_calls_saved_ns"})
      rank.erase(key);
    if (format == "rpd") rank.erase("device_name");  // which an RPD does not tell
  }
  return ranks;
}

}  // namespace

TEST_CASE("files of ROCm's profilers give the calls, waits and steps of the Kineto traces of the same job") {
  SimulateOptions sharded = one_group_of_rocprof();
  sharded.fsdp = true;
  for (const SimulateOptions& options : {one_group_of_rocprof(), sharded}) {
    const JobReport kineto = report_of_simulated(options, "");
    const MatchedCalls b = matched_calls(kineto);
    for (const std::string& format : kFormats) {
      INFO(format);
      const JobReport recorded = report_of_simulated(options, format);
      CHECK(recorded.matching.unmatched == 0);
      CHECK(ranks_without_clocks(recorded, format) == ranks_without_clocks(kineto, format));
      const MatchedCalls a = matched_calls(recorded);
      CHECK(a.instances == b.instances);
      REQUIRE(a.calls.size() == b.calls.size());
      int64_t most_ns = 0;
      for (const auto& [place, call] : b.calls) {
        const SplitCall& other = a.calls.at(place);
        REQUIRE(other.step == call.step);
        REQUIRE(other.op == call.op);
        most_ns =
            std::max({most_ns, std::abs(other.wait_ns - call.wait_ns), std::abs(other.transfer_ns - call.transfer_ns)});
      }
      CHECK(most_ns < 1000);  // clocks are known to 3 us in both
    }
  }
}

TEST_CASE(
    "of groups that ROCm's profilers do not name, each match is one of Kineto's, and the others are said to have "
    "none") {
  SimulateOptions pipeline = job_of_rocprof();
  pipeline.tp = pipeline.pp = 2;
  pipeline.micro_batches = 4;
  for (const SimulateOptions& options : {job_of_rocprof(), pipeline}) {
    const JobReport kineto = report_of_simulated(options, "");
    const MatchedCalls known = matched_calls(kineto);
    for (const std::string& format : kFormats) {
      INFO(format);
      const JobReport recorded = report_of_simulated(options, format);
      CHECK(recorded.matching.calls == kineto.matching.calls);
      CHECK(recorded.matching.matched > recorded.matching.calls / 2);
      CHECK(recorded.matching.matched + recorded.matching.unmatched == recorded.matching.calls);
      const MatchedCalls found = matched_calls(recorded);
      CHECK(std::includes(known.instances.begin(), known.instances.end(), found.instances.begin(),
                          found.instances.end()));
    }
  }
}

TEST_CASE("what ROCm's profilers do not tell is not there: sizes and types of calls") {
  for (const std::string& format : kFormats) {
    const JobReport recorded = report_of_simulated(one_group_of_rocprof(), format);
    REQUIRE_FALSE(recorded.calls.empty());
    for (const JobReport::CallRow& call : recorded.calls) {
      REQUIRE(call.bytes == 0);
      REQUIRE(call.dtype == "unknown");
    }
  }
}

TEST_CASE("digests of files of ROCm's profilers give their report") {
  const std::string format = GENERATE("rocpd", "rpd", "rocprofv3-json");
  const Folder job("rocm_files"), digests("rocm_digests");
  SimulateOptions options = one_group_of_rocprof();
  options.directory = job.path.string();
  options.format = format;
  REQUIRE(simulate_job(options).ok());
  const auto files = discover_files({job.path.string()});
  REQUIRE(files.ok());
  CHECK(files.value().size() == 8);
  REQUIRE(make_digests(files.value(), digests.path.string(), false, {}).ok());
  StageTimer timer;
  const Result<JobReport> from_files = correlate({job.path.string()}, {}, timer);
  const Result<JobReport> from_digests = correlate({digests.path.string()}, {}, timer);
  REQUIRE(from_files.ok());
  REQUIRE(from_digests.ok());
  for (const char* const part : {"ranks", "collectives", "steps", "clocks", "verdict", "losses"}) {
    CHECK(nlohmann::json::parse(to_json(from_files.value(), {})).at(part) ==
          nlohmann::json::parse(to_json(from_digests.value(), {})).at(part));
  }
}
