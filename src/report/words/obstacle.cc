#include "obstacle.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/report/rows/own_findings.h"

namespace skewscope::report {
namespace {

// Whether the traces name groups, as all of PyTorch 2.4 and newer do.
bool names_groups(const JobReport& report) {
  return std::any_of(report.communicators.begin(), report.communicators.end(),
                     [](const auto& group) { return !group.desc.empty(); });
}

// What would let most of the unmatched calls be matched.
std::string remedy_of_unmatched(const JobReport& report) {
  const auto unnamed = std::count_if(report.unmatched.begin(), report.unmatched.end(),
                                     [](const auto& call) { return call.communicator < 0; });
  const auto batches = std::count_if(report.unmatched.begin(), report.unmatched.end(), [](const auto& call) {
    return carries_messages(call.op) && call.reason == UnmatchedReason::ambiguous;
  });
  if (2 * batches > std::ssize(report.unmatched)) {
    return report.job.steps.empty() ? "Call the profiler's step() once per step: batches of sends and receives are "
                                      "matched by their place in a step."
                                    : "Some kernels are missing, so batches of sends and receives cannot be counted: "
                                      "record fewer events at once.";
  }
  if (2 * unnamed <= std::ssize(report.unmatched)) {
    return "Record all ranks over the same steps; see tables/unmatched.csv.";
  }
  int64_t several_groups = 0;
  for (const Finding& f : report.diagnostics) several_groups += f.code == kSeveralGroups ? f.count : 0;
  if (2 * several_groups > std::ssize(report.unmatched)) {
    return "One kernel sends and receives for several groups: give each group its own batch.";
  }
  // No trace names the calls' group: who was held up by whom tells, where no rank is missing.
  const bool cpu = report.job.vendor == JobVendor::cpu;
  const char* const naming = names_groups(report)
                                 ? "These traces name groups, except for kernels outside NCCL, in graphs, or launched "
                                   "before recording started; see tables/unmatched.csv."
                                 : nullptr;
  const auto nameless = std::count_if(report.unmatched.begin(), report.unmatched.end(),
                                      [](const auto& call) { return call.reason == UnmatchedReason::no_metadata; });
  if (2 * nameless > std::ssize(report.unmatched)) {
    return cpu                 ? "The CPU backend's calls name neither group nor partner; see tables/unmatched.csv."
           : naming != nullptr ? naming
                               : "Record with PyTorch 2.4 or newer, which names the group and partner of every call.";
  }
  if (!report.job.ranks_missing.empty()) return "Add the traces of all ranks: these name no group.";
  if (find_finding(report.diagnostics, kUnknownWorldSize) != nullptr) {
    return fmt::format("If these are the traces of all ranks, add --world-size {}.", report.job.world_size);
  }
  return cpu                 ? "Record more steps, until they show who waits for whom."
         : naming != nullptr ? naming
                             : "Record with PyTorch 2.4 or newer, which names the group of every call, or more steps.";
}

}  // namespace

void name_obstacle(const JobReport& report, std::string& why, std::string& next) {
  const auto noted = [&](std::string_view note) {
    return std::count_if(report.calls.begin(), report.calls.end(), [&](const auto& call) { return call.note == note; });
  };
  const int64_t unaligned = noted("unconnected"), semantics = noted("semantics"), causality = noted("causality");
  if (causality > std::max({report.matching.unmatched, unaligned, semantics})) {
    why = fmt::format("In {} of {} calls a rank left before the last one arrived: clocks or matches are wrong there.",
                      causality, report.matching.calls);
    const bool as_recorded = std::all_of(report.clocks.begin(), report.clocks.end(),
                                         [](const auto& clock) { return clock.method == ClockMethod::wallclock; });
    next = as_recorded ? "Let collectives align the clocks: --align auto."
                       : "See tables/clocks.csv; record more steps at once, so that more collectives align the clocks.";
    return;
  }
  if (report.matching.unmatched >= std::max(unaligned, semantics)) {
    std::string reasons;
    for (const auto& r : report.matching.unmatched_by_reason) {
      reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", to_string(r.reason), r.calls);
    }
    why = fmt::format("{} of {} calls could not be matched between ranks ({}).", report.matching.unmatched,
                      report.matching.calls, reasons);
    const bool untimed = find_finding(report.diagnostics, "durations-only") != nullptr;
    next = untimed ? "Record with NCCL_INSPECTOR_DUMP_VERBOSE=1: messages are matched by time."
                   : remedy_of_unmatched(report);
  } else if (unaligned >= semantics) {
    why = "No collective aligns the clocks of these ranks.";
    next = "If the hosts' clocks are synchronized, use --align wallclock.";
  } else {
    why = "The traces do not record who waits for whom in these calls.";
    next = "See the note of each call in tables/collective_ranks.csv.";
  }
}

}  // namespace skewscope::report
