// Clocks and calls of a simulated job, counted against its truth.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "skewscope/correlate.h"
#include "skewscope/model/clock_components.h"
#include "skewscope/simulate.h"
#include "tests/jobs/call_truth.h"

namespace skewscope::test {

struct ClockScore {
  int64_t clocks = 0, tied = 0, held = 0;  // tied: to the reference of the largest component; held: within their bars
  std::vector<int64_t> errors_ns;          // of those tied
  int64_t calls = 0, matched = 0, wrong = 0;
  int64_t against_causality = 0;  // calls refused as such
  int64_t longest_ns = 0;         // window
};

class ClockTruth {
 public:
  explicit ClockTruth(const std::string& directory) : calls_(directory) {
    std::ifstream file(directory + "/truth.json");
    const nlohmann::json json = nlohmann::json::parse(file);
    reference_ns_ = json.at("reference_ns");
    for (const auto& rank : json.at("ranks")) {
      clocks_[rank.at("rank")] = {rank.at("offset_ns").get<int64_t>(), rank.at("drift_ppb").get<double>()};
    }
  }

  LocalNs local(Rank rank, int64_t true_ns) const {
    const auto& [offset_ns, drift_ppb] = clocks_.at(rank.value);
    return LocalNs{reference_ns_ + true_ns + offset_ns + std::llround(drift_ppb * 1e-9 * static_cast<double>(true_ns))};
  }
  // The true time of a stamp, near enough for drifts of a few ppm.
  int64_t true_ns(Rank rank, LocalNs stamp) const { return stamp.ns - reference_ns_ - clocks_.at(rank.value).first; }

  void score_clocks(const CorrelatedJob& job, ClockScore& score) const {
    const ClockComponent largest = components_of(job.job, job.clocks).front();
    const TraceIndex first = largest.traces.front();
    score.clocks += std::ssize(job.job.traces);
    for (const TraceIndex trace : largest.traces) {
      if (trace == first || !job.clocks.clocks[trace.index()].aligned) continue;
      ++score.tied;
      int64_t worst_ns = 0;
      for (const LocalNs at : {job.job[first].first_event, job.job[first].last_event}) {
        const int64_t now_ns = true_ns(job.job[first].rank, at);
        const JobNs here = job.clocks.to_job(trace, local(job.job[trace].rank, now_ns));
        const JobNs there = job.clocks.to_job(first, local(job.job[first].rank, now_ns));
        worst_ns = std::max<int64_t>(worst_ns, std::llabs(here - there));
      }
      score.errors_ns.push_back(worst_ns);
      score.held += worst_ns <= job.clocks.clocks[trace.index()].uncertainty_ns ? 1 : 0;
    }
  }

  void score_calls(const CorrelatedJob& job, ClockScore& score) const {
    score.matched += std::ssize(job.instances.members);
    score.calls += std::ssize(job.instances.members) + std::ssize(job.instances.unmatched);
    for (const UnmatchedCall& call : job.instances.unmatched) {
      score.against_causality += call.reason == UnmatchedReason::causality ? 1 : 0;
    }
    for (const CollectiveInstance& i : job.instances.instances) {
      std::set<size_t> true_instances;
      for (uint32_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
        const RankTrace& trace = job.job[job.instances.members[row].trace];
        const CollectiveCall& call = trace.calls[static_cast<size_t>(job.instances.members[row].call)];
        const CallTruth::Member* member = calls_.find(trace.rank.value, call, trace.resolution_ns);
        REQUIRE(member != nullptr);
        true_instances.insert(member->instance);
      }
      score.wrong += std::ssize(true_instances) - 1;
    }
  }

 private:
  CallTruth calls_;
  int64_t reference_ns_ = 0;
  std::map<int32_t, std::pair<int64_t, double>> clocks_;
};

inline CorrelatedJob split(const SimulateOptions& options, std::optional<StepNumbers> steps) {
  REQUIRE(simulate_job(options).ok());
  StageTimer timer;
  IngestOptions ingest;
  ingest.steps = steps;
  auto job = split_job(discover_files({options.directory}).value(), ingest, AlignMode::automatic, timer);
  REQUIRE(job.ok());
  REQUIRE(check_invariants(job.value().job) == "");
  REQUIRE(check_invariants(job.value().instances, job.value().job) == "");
  REQUIRE(check_invariants(job.value().clocks, job.value().job) == "");
  return std::move(job).value();
}

}  // namespace skewscope::test
