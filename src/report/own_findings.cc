#include "own_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace skewscope::report {
namespace {

constexpr double kIgnoredShare = 0.05;  // below this share of the calls, unmatched ones are only mentioned

Finding finding(Severity severity, std::string code, int64_t count, std::string message) {
  Finding f;
  f.severity = severity;
  f.code = std::move(code);
  f.count = count;
  f.message = std::move(message);
  return f;
}

std::string_view consequence_of(UnmatchedReason reason) {
  switch (reason) {
    case UnmatchedReason::alone:
      return "no other member's trace holds them (a missing rank, the window's edge, a lost kernel); their waiting and "
             "transfer are not told apart";
    case UnmatchedReason::ambiguous:
      return "several ways to pair them explain the traces about equally well; they are left out rather than guessed";
    case UnmatchedReason::no_metadata:
      return "nothing tells their group or operation and no ends agree; their waiting and transfer are not told apart";
    case UnmatchedReason::causality:
      return "their partners would have finished before they started; they are left out rather than forced";
    case UnmatchedReason::mismatch:
      return "their partners by sequence number differ in operation, type or size; they are left out rather than "
             "forced";
    case UnmatchedReason::group_of_one:
      return "their communicator has one member, so nobody can be waited for";
  }
  return "";
}

void add_unmatched(const Rooms& rooms, const JobReport& report, Findings& out) {
  std::map<UnmatchedReason, int64_t> counts;
  for (const UnmatchedCall& call : rooms.instances.unmatched) counts[call.reason]++;
  for (const auto& [reason, count] : counts) {
    const bool many = static_cast<double>(count) >= kIgnoredShare * static_cast<double>(report.matching.calls);
    const bool expected = reason == UnmatchedReason::group_of_one || !many;
    std::string code = fmt::format("unmatched-{}", to_string(reason));
    std::replace_if(
        code.begin(), code.end(), [](char c) { return c == '_' || c == ' '; }, '-');
    out.push_back(finding(
        expected ? Severity::info : Severity::warning, std::move(code), count,
        fmt::format("{} of {} calls are in no instance: {}", count, report.matching.calls, consequence_of(reason))));
  }
}

void add_instances(const Rooms& rooms, const JobReport& report, Findings& out) {
  int64_t unaligned = 0, semantics = 0, ties = 0;
  for (size_t i = 0; i < rooms.instances.instances.size(); ++i) {
    const InstanceView view(rooms, i);
    unaligned += view.timing.reason == SplitReason::unaligned ? 1 : 0;
    semantics += view.timing.reason == SplitReason::semantics ? 1 : 0;
    ties += view.split() && view.instance.complete && !view.timing.last.known() ? 1 : 0;
  }
  const JobReport::Matching& m = report.matching;
  if (m.incomplete_instances > 0) {
    out.push_back(finding(
        Severity::warning, "incomplete-instances", m.incomplete_instances,
        fmt::format("{} instances lack members; the waiting shown for them is a lower bound", m.incomplete_instances)));
  }
  if (m.mismatched_instances > 0) {
    out.push_back(
        finding(Severity::warning, "mismatched-instances", m.mismatched_instances,
                fmt::format("{} instances have members that disagree on the size; their bandwidth is doubtful",
                            m.mismatched_instances)));
  }
  if (unaligned > 0) {
    out.push_back(finding(Severity::warning, "unaligned-instances", unaligned,
                          fmt::format("{} instances were not split: their members' clocks are not tied", unaligned)));
  }
  if (semantics > 0) {
    out.push_back(finding(Severity::info, "unsplit-semantics", semantics,
                          fmt::format("{} instances were not split: who waits for whom is not recorded", semantics)));
  }
  if (ties > 0) {
    out.push_back(finding(Severity::info, "ties", ties,
                          fmt::format("{} instances have no clear last rank; they count as late for nobody", ties)));
  }
}

}  // namespace

Findings own_findings(const Rooms& rooms, const JobReport& report) {
  Findings out;
  add_instances(rooms, report, out);
  add_unmatched(rooms, report, out);
  return out;
}

}  // namespace skewscope::report
