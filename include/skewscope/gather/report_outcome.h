// The main figures of a report, which the process that makes it leaves next to it (outcome.json) for the gatherer's
// history: that of a job outlives its traces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skewscope {

struct ReportOutcome {
  // A rank that others waited for, or the node of one, as the report names it.
  enum class Part : uint8_t { gpu, link };
  struct Cause {
    Part part = Part::gpu;
    std::string host;
    int32_t rank = -1, device = -1;  // of a GPU; -1: of a link
    double share = 0;                // of all waiting, of a GPU; of the job's length that a link costs
    std::string why;                 // "slower_kernels", as in report.json; "": not determined
  };

  int64_t recorded_ns = 0;  // since 1970, when recording began; 0: not known
  int32_t ranks = 0, steps = 0;
  int64_t step_ns = 0;                              // mean; 0: no steps
  double efficiency = -1, waiting = -1, gain = -1;  // POP's; shares of GPU time, of the job's length; -1: not known
  std::string loss;                                 // what weighs most: "straggler"; "": nothing
  std::string gpu;                                  // what most GPUs are called
  std::vector<std::string> hosts;
  std::vector<Cause> causes;  // what weighs most first
};

constexpr size_t kMostOutcomeBytes = 1 << 20;  // of its text
constexpr size_t kMostOutcomeHosts = 4096, kMostOutcomeCauses = 16;

// Hosts and causes beyond the most are left out.
std::string to_json(const ReportOutcome& outcome);
// nullopt: damaged, or out of bounds: it comes from a process that has read what users sent.
std::optional<ReportOutcome> outcome_from_json(std::string_view text);

}  // namespace skewscope
