// A report's outcome is its main figures. The process that makes the report leaves them next to it (outcome.json) for
// the gatherer's history, which outlives the job's traces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skewscope {

struct ReportOutcome {
  // Others waited for the GPU of a rank, or a link of the node was slow.
  enum class Part : uint8_t { gpu, link };
  struct Cause {
    Part part = Part::gpu;
    std::string host;
    int32_t rank = -1, device = -1;  // of a GPU; -1: of a link
    double share = 0;                // of all waiting, of a GPU; of the job's length that a link costs
    std::string why;                 // "slower_kernels", as in report.json; "": not determined
  };
  // Groups that traces call alike, such as those of data parallelism.
  struct Group {
    std::string name;
    double share = 0;  // of all GPU time: exposed in their calls
  };

  int64_t recorded_ns = 0;  // since 1970, when recording began; 0: not known
  int32_t ranks = 0, steps = 0;
  int64_t step_ns = 0;                              // mean; 0: no steps
  double efficiency = -1, waiting = -1, gain = -1;  // POP's; shares of GPU time, of the job's length; -1: not known
  std::string loss;                                 // what weighs most: "straggler"; "": nothing
  std::string gpu;                                  // what most GPUs are called
  std::vector<std::string> hosts;
  std::vector<Cause> causes;          // what weighs most first
  std::vector<Group> groups;          // the same; none in outcomes from before they were kept
  std::vector<std::string> software;  // "NCCL/2.28.9", sorted; as groups
};

const char* to_string(ReportOutcome::Part part);  // "gpu", "link"

constexpr size_t kMostOutcomeBytes = 1 << 20;  // of its text
constexpr size_t kMostOutcomeHosts = 4096, kMostOutcomeCauses = 16;
constexpr size_t kMostOutcomeGroups = 8, kMostOutcomeSoftware = 32;

// Rows beyond the most are left out.
std::string to_json(const ReportOutcome& outcome);
// nullopt: damaged, or out of bounds: it comes from a process that has read what users sent.
std::optional<ReportOutcome> outcome_from_json(std::string_view text);

}  // namespace skewscope
