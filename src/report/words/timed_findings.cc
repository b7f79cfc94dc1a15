// Problem: a finding is a sum over a job, but who looks at a timeline wants one place where it shows.
// Idea: of each finding the collective, or the call, that shows it most:
//   straggler          of each rank that the summary leads with: the collective in which most was waited for it
//   straggler-chain    the worst step's chain of waits (straggler_chain.h)
//   incomplete-...     of the instances or calls that a diagnostic counts, the longest
//   clocks, mismatch   the collective whose ends lie furthest apart
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
  for (const Finding& finding : report.diagnostics) {
    report::add_sign(finding, instances, found);
    report::add_unmatched(finding, report, found);
  }
  return found;
}

}  // namespace skewscope
