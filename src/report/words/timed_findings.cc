// Problem: a finding is a sum over a job, but who looks at a timeline wants one place where it shows.
// Idea: of each finding the collective, or the call, that shows it most:
//   straggler          of each rank that the summary leads with: the collective in which most was waited for it
//   straggler-chain    the worst step's chain of waits (straggler_chain.h)
//   exposed-transfer   and the other losses that something is worth: the collective, or a rank's step, that lost most
//   by it incomplete-...     of the instances or calls that a diagnostic counts, the longest clocks, mismatch   the
//   collective whose ends lie furthest apart
// A finding about no time (a file, a rank's identity) has none. Cost: linear in the calls, per diagnostic.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "skewscope/base/human_units.h"
#include "skewscope/report.h"
#include "src/report/rows/own_findings.h"
#include "src/report/rows/straggler_chain.h"

namespace skewscope {
namespace report {
namespace {

using Call = JobReport::CallRow;
using Calls = std::span<const Call>;
constexpr size_t kMostStragglers = 3;  // as the summary shows

int64_t start_of(Calls calls) {
  int64_t start = INT64_MAX;
  for (const Call& call : calls) start = std::min(start, call.start_ns);
  return start;
}
int64_t end_of(Calls calls) {
  int64_t end = INT64_MIN;
  for (const Call& call : calls) end = std::max(end, call.end_ns);
  return end;
}
int64_t length_of(Calls calls) { return end_of(calls) - start_of(calls); }
int64_t end_spread_of(Calls calls) {
  int64_t first = INT64_MAX;
  for (const Call& call : calls) first = std::min(first, call.end_ns);
  return end_of(calls) - first;
}

TimedFinding around(std::string finding, std::string words, Calls calls) {
  TimedFinding found{std::move(finding), std::move(words), start_of(calls), end_of(calls), {}, calls.front().instance};
  for (const Call& call : calls) found.ranks.push_back(call.rank);
  std::sort(found.ranks.begin(), found.ranks.end());
  return found;
}

// By rank, the collective in which most was waited for it.
std::map<int32_t, const TimedInstance*> most_waited_for(const std::vector<TimedInstance>& instances) {
  std::map<int32_t, const TimedInstance*> most;
  for (const TimedInstance& instance : instances) {
    const auto wait = longest_wait(instance.calls);
    if (!wait) continue;
    const auto [rank, is_first] = most.try_emplace(wait->late->rank, &instance);
    if (!is_first && instance.wait_ns > rank->second->wait_ns) rank->second = &instance;
  }
  return most;
}

void add_stragglers(const JobReport& report, const std::vector<TimedInstance>& instances,
                    std::vector<TimedFinding>& found) {
  const auto waited_for = most_waited_for(instances);
  size_t shown = 0;
  for (const JobReport::Straggler& s : report.stragglers) {
    if (shown >= kMostStragglers && s.standing != Standing::cause) continue;
    const auto instance = waited_for.find(s.rank);
    if (instance == waited_for.end()) continue;
    std::string cause = s.cause ? fmt::format(", {}", to_string(*s.cause)) : "";
    std::replace(cause.begin(), cause.end(), '_', ' ');
    found.push_back(
        around("straggler",
               fmt::format("rank {}{}: causes {} of waiting", s.rank, cause, human_duration(s.wait_originated_ns)),
               instance->second->calls));
    ++shown;
  }
}

void add_chain(const JobReport& report, const std::vector<TimedInstance>& instances, std::vector<TimedFinding>& found) {
  const StragglerChain chain = straggler_chain(report.stragglers, instances);
  if (chain.hops.empty()) return;
  TimedFinding one;
  one.finding = "straggler-chain";
  one.words = fmt::format("rank {} to rank {}{}", chain.hops.back().late, chain.hops.front().victim,
                          chain.step < 0 ? "" : fmt::format(" in step {}", chain.step));
  one.start_ns = INT64_MAX;
  one.end_ns = INT64_MIN;
  for (const StragglerChain::Hop& hop : chain.hops) {
    one.start_ns = std::min(one.start_ns, hop.arrival_ns - hop.wait_ns);
    one.end_ns = std::max(one.end_ns, hop.arrival_ns);
  }
  one.ranks = chain.ranks;
  std::sort(one.ranks.begin(), one.ranks.end());
  found.push_back(std::move(one));
}

int64_t wait_of(Calls calls) {
  int64_t ns = 0;
  for (const Call& call : calls) ns += std::max<int64_t>(0, call.wait_ns);
  return ns;
}
int64_t transfer_of(Calls calls) {
  int64_t ns = 0;
  for (const Call& call : calls) ns += std::max<int64_t>(0, call.transfer_ns);
  return ns;
}
int64_t exposed_transfer_of(Calls calls) {
  int64_t ns = 0;
  for (const Call& call : calls) ns += std::min(call.exposed_ns, std::max<int64_t>(0, call.transfer_ns));
  return ns;
}

bool is_among(const std::vector<int32_t>& ranks, int32_t rank) {
  return std::binary_search(ranks.begin(), ranks.end(), rank);
}

// What of an instance a loss counts: 0 where it is none of it.
int64_t lost_in(const JobReport::Loss& loss, Calls calls) {
  switch (loss.kind) {
    case LossKind::exposed_transfer:
      return exposed_transfer_of(calls);
    case LossKind::slow_links:
      return std::all_of(calls.begin(), calls.end(), [&](const Call& call) { return is_among(loss.ranks, call.rank); })
                 ? transfer_of(calls)
                 : 0;
    case LossKind::waiting:
    case LossKind::late_in_turn:
      return wait_of(calls);
    case LossKind::stragglers_together:
    case LossKind::long_stage: {
      const auto wait = longest_wait(calls);
      return wait && is_among(loss.ranks, wait->late->rank) ? wait_of(calls) : 0;
    }
    default:
      return 0;
  }
}

int64_t lost_in(const JobReport::Loss& loss, const JobReport::RankStep& step) {
  switch (loss.kind) {
    case LossKind::exposed_copies:
      return step.exposed_memcpy_ns;
    case LossKind::launch_bound:
      return step.idle_ns;
    case LossKind::pipeline_bubble:
      return step.idle_ns + step.exposed_wait_ns;
    default:
      return 0;
  }
}

int64_t length_of(const JobReport::RankStep& step) {
  return step.compute_ns + step.exposed_transfer_ns + step.exposed_wait_ns + step.exposed_unattributed_ns +
         step.exposed_memcpy_ns + step.idle_ns;
}

// The instance of the largest, else the rank's step; stragglers have their own places.
void add_loss(const JobReport& report, const JobReport::Loss& loss, const std::vector<Calls>& instances,
              std::vector<TimedFinding>& found) {
  std::string name = to_string(loss.kind);
  std::replace(name.begin(), name.end(), '_', '-');
  const Calls* most = nullptr;
  int64_t most_ns = 0;
  for (const Calls& calls : instances) {
    const int64_t ns = lost_in(loss, calls);
    if (ns > most_ns) most = &calls, most_ns = ns;
  }
  if (most != nullptr) {
    found.push_back(around(name, fmt::format("{}: {} in this collective", loss.name, human_duration(most_ns)), *most));
    return;
  }
  const JobReport::RankStep* step = nullptr;
  for (const JobReport::RankStep& row : report.rank_steps) {
    const int64_t ns = lost_in(loss, row);
    if (ns > most_ns) step = &row, most_ns = ns;
  }
  if (step == nullptr) return;
  found.push_back(
      {name,
       fmt::format("rank {}: {}, {} in step {}", step->rank, loss.name, human_duration(most_ns), step->step),
       step->start_ns,
       step->start_ns + length_of(*step),
       {step->rank},
       -1});
}

// Which instances a diagnostic counts, and by what one of them shows it most.
struct Sign {
  FindingCode code;
  bool (*counts)(const Call&);
  int64_t (*size)(Calls);
};

bool any(const Call&) { return true; }
template <SplitReason Reason>
bool unsplit(const Call& call) {
  return call.note == to_string(Reason);
}

constexpr std::array kSigns = {
    Sign{"incomplete-instances", [](const Call& call) { return !call.complete; }, &length_of},
    Sign{"unaligned-instances", &unsplit<SplitReason::unconnected>, &length_of},
    Sign{"unsplit-semantics", &unsplit<SplitReason::semantics>, &length_of},
    Sign{"unsplit-causality", &unsplit<SplitReason::causality>, &length_of},
    Sign{"causality-after-fit", &unsplit<SplitReason::causality>, &length_of},
    Sign{"extrapolated-instances", [](const Call& call) { return call.note == to_string(SplitNote::extrapolated); },
         &length_of},
    Sign{"split-contradiction", &any, &end_spread_of},
    Sign{"suspected-mismatch", &any, &end_spread_of},
    Sign{"clocks-contradict", &any, &end_spread_of},
    Sign{"clocks-outside-proof", &any, &end_spread_of},
};

void add_sign(const Finding& finding, const std::vector<Calls>& instances, std::vector<TimedFinding>& found) {
  const auto sign = std::find_if(kSigns.begin(), kSigns.end(), [&](const Sign& s) { return s.code == finding.code; });
  if (sign == kSigns.end()) return;
  const Calls* most = nullptr;
  for (const Calls& calls : instances) {
    if (!sign->counts(calls.front())) continue;
    if (most == nullptr || sign->size(calls) > sign->size(*most)) most = &calls;
  }
  if (most != nullptr) found.push_back(around(std::string(finding.code.text()), finding.message, *most));
}

void add_unmatched(const Finding& finding, const JobReport& report, std::vector<TimedFinding>& found) {
  const JobReport::UnmatchedRow* longest = nullptr;
  for (const JobReport::UnmatchedRow& row : report.unmatched) {
    if (finding.code != unmatched_code(row.reason)) continue;
    if (longest == nullptr || row.duration_ns > longest->duration_ns) longest = &row;
  }
  if (longest == nullptr) return;
  found.push_back({std::string(finding.code.text()),
                   finding.message,
                   longest->start_ns,
                   longest->start_ns + longest->duration_ns,
                   {longest->rank},
                   -1});
}

}  // namespace
}  // namespace report

std::vector<TimedFinding> timed_findings(const JobReport& report) {
  std::vector<TimedFinding> found;
  const auto split = report::timed_instances(report.calls);
  report::add_stragglers(report, split, found);
  report::add_chain(report, split, found);
  const auto instances = report::calls_by_instance(report.calls);
  for (const JobReport::Loss& loss : report.losses) report::add_loss(report, loss, instances, found);
  for (const Finding& finding : report.diagnostics) {
    report::add_sign(finding, instances, found);
    report::add_unmatched(finding, report, found);
  }
  return found;
}

}  // namespace skewscope
