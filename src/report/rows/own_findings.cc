#include "own_findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "all_to_all_rows.h"
#include "call_rows.h"
#include "collectives/open_end.h"
#include "efficiency_rows.h"
#include "islands.h"
#include "skewscope/base/human_units.h"
#include "slow_groups.h"

namespace skewscope::report {
namespace {

constexpr double kIgnoredShare = 0.05;  // below this share of the calls, unmatched ones are only mentioned
constexpr double kSmallBar = 0.05;      // below this share of a call, the clocks' uncertainty moves its split little

Finding finding(Severity severity, FindingCode code, int64_t count, std::string message) {
  Finding f;
  f.severity = severity;
  f.code = code;
  f.count = count;
  f.message = std::move(message);
  return f;
}

std::string_view consequence_of(UnmatchedReason reason) {
  switch (reason) {
    case UnmatchedReason::alone:
      return "no other trace has a matching call (a missing rank, the edge of the recording, a lost kernel); they "
             "could not be split into waiting and transfer";
    case UnmatchedReason::ambiguous:
      return "several ways to pair them fit the traces about equally well; they are left out rather than guessed";
    case UnmatchedReason::no_metadata:
      return "the traces name neither group nor operation, and no calls end together; they could not be split into "
             "waiting and transfer";
    case UnmatchedReason::causality:
      return "their partners would have finished before they started; they are left out";
    case UnmatchedReason::mismatch:
      return "calls with the same sequence number differ in operation, type or size; they are left out";
    case UnmatchedReason::chained:
      return "messages join them to several calls of one rank; they could not be split into waiting and transfer";
    case UnmatchedReason::group_of_one:
      return "their communicator has one member, so nobody can be waited for";
    case UnmatchedReason::one_sided:
      return "their kernels only send and do not wait for a receiver: all their time counts as transfer";
    case UnmatchedReason::copied:
      return "they ran as copies, which do not show how long ranks waited; they could not be split into waiting and "
             "transfer";
    case UnmatchedReason::own_devices:
      return "all their members are GPUs of one process: each waits for the last of these GPUs";
  }
  return "";
}

bool names_group(const Sources& sources, const CallRef& ref) {
  return sources.job[ref.trace].calls[static_cast<size_t>(ref.call)].communicator.known();
}

// What else is missing where no trace names a group.
std::string unnamed_words(const Sources& sources, int64_t calls) {
  const bool guessed = sources.job.world_size_source == WorldSizeSource::file_count;
  return fmt::format("; no trace names the group of {}{}", calls,
                     guessed ? ", nor the number of ranks, so late arrivals cannot show it (name files rank<R>-of-<N>)"
                             : ", and neither ends nor late arrivals show it");
}

void add_unmatched(const Sources& sources, const JobReport& report, Findings& out) {
  std::map<UnmatchedReason, int64_t> counts;
  int64_t unnamed = 0;
  for (const UnmatchedCall& call : sources.instances.unmatched) {
    counts[call.reason]++;
    unnamed += call.reason == UnmatchedReason::ambiguous && !names_group(sources, call.call) ? 1 : 0;
  }
  for (const auto& [reason, count] : counts) {
    const bool many = static_cast<double>(count) >= kIgnoredShare * static_cast<double>(report.matching.calls);
    const bool expected = reason == UnmatchedReason::group_of_one || !lacks_members(reason) || !many;
    out.push_back(finding(
        expected ? Severity::info : Severity::warning, unmatched_code(reason), count,
        fmt::format("{} {}: {}{}", count,
                    lacks_members(reason) ? fmt::format("of {} calls could not be matched", report.matching.calls)
                                          : "calls have no partner in other traces",
                    consequence_of(reason),
                    reason == UnmatchedReason::ambiguous && unnamed > 0 ? unnamed_words(sources, unnamed) : "")));
  }
}

void add_components(const JobReport& report, Findings& out) {
  const size_t components = component_count(report);
  if (components < 2) return;
  const JobReport::Component* const longest = longest_component(report);
  out.push_back(finding(
      Severity::warning, "components", static_cast<int64_t>(components),
      fmt::format("{}: no matched call connects their clocks, so their times cannot be compared; window, steps and "
                  "simulated gains are those of {}",
                  component_words(report),
                  longest == nullptr ? "the longest" : "ranks " + human_ranks(longest->ranks) + ", the longest")));
}

void add_versions(const Sources& sources, const JobReport& report, Findings& out) {
  std::map<std::string, int> versions;  // by what has them: "CUDA-driver"
  for (const std::string& named : report.job.software) ++versions[named.substr(0, named.find('/'))];
  for (const auto& [library, count] : versions) {
    if (count < 2) continue;
    std::map<std::string, std::set<int32_t>> ranks;
    for (const RankTrace& trace : sources.job.traces) {
      for (const std::string& named : trace.software) {
        if (named.substr(0, named.find('/')) == library)
          ranks[named.substr(library.size() + 1)].insert(trace.rank.value);
      }
    }
    std::vector<std::string> words;
    for (const auto& [version, of] : ranks) {
      words.push_back(fmt::format("{} {} on {} {}", library, version, of.size() == 1 ? "rank" : "ranks",
                                  human_ranks({of.begin(), of.end()})));
    }
    out.push_back(finding(Severity::warning, "versions-differ", count, fmt::format("{}", fmt::join(words, ", "))));
  }
}

void add_windows(const JobReport& report, Findings& out) {
  if (!windows_differ(report)) return;
  const auto some = std::count_if(report.steps.begin(), report.steps.end(),
                                  [&](const auto& step) { return !recorded_by_all(report, step); });
  out.push_back(finding(Severity::info, "windows-differ", some,
                        fmt::format("{} of {} steps were not recorded by all ranks; efficiencies cover the other "
                                    "steps, everything else covers the whole recording",
                                    some, report.steps.size())));
}

// Half width of the instance's own uncertainty, else of the widest among its members.
int64_t widest_bar(const InstanceView& view) {
  if (view.timing.wait_bar_ns >= 0) return view.timing.wait_bar_ns;
  int64_t bar = 0;
  for (size_t m = 0; m < view.size(); ++m) {
    bar = std::max(bar, view.sources.clocks.clocks[view.ref(m).trace.index()].uncertainty_ns);
  }
  return bar;
}

// What clocks resolve of the calls of one component.
struct ClockDoubt {
  int64_t all_ns = 0, doubtful_ns = 0, doubtful = 0, worst = 0;
  std::vector<int64_t> waits;

  void add(const InstanceView& view) {
    const int64_t bar = widest_bar(view);
    worst = std::max(worst, bar);
    for (size_t m = 0; m < view.size(); ++m) {
      const CallParts& parts = view.parts(m);
      if (parts.wait_ns == 0) continue;  // the last one's, which tells nothing
      const int64_t duration = parts.wait_ns + parts.transfer_ns;
      waits.push_back(parts.wait_ns);
      all_ns += duration;
      if (bar < parts.wait_ns || static_cast<double>(bar) < kSmallBar * static_cast<double>(duration)) continue;
      doubtful_ns += duration;
      ++doubtful;
    }
  }
  bool inconclusive() const { return !waits.empty() && doubtful_ns > all_ns / 2; }
  int64_t median_wait() {
    const auto middle = waits.begin() + (std::ssize(waits) - 1) / 2;
    std::nth_element(waits.begin(), middle, waits.end());
    return *middle;
  }
};

// The split is inconclusive where clocks cannot resolve the waiting in most of the calls' time: a call counts when its
// wait is shorter than the uncertainty and that is not small against the call either. Weighted by time, as the split
// is.
void add_clock_doubt(const Sources& sources, const JobReport& report, Findings& out) {
  std::map<int32_t, size_t> island_of_rank;  // plus 1; 0: of no island, or of the only one
  for (size_t i = 0; i < report.islands.size(); ++i) {
    for (const int32_t rank : report.islands[i].ranks) island_of_rank[rank] = i + 1;
  }
  std::vector<ClockDoubt> doubts(report.islands.size() + 1);
  for (size_t i = 0; i < sources.instances.instances.size(); ++i) {
    const InstanceView view(sources, i);
    if (!view.split()) continue;
    const auto island = island_of_rank.find(view.trace(0).rank.value);
    doubts[island == island_of_rank.end() ? 0 : island->second].add(view);
  }
  for (size_t d = 0; d < doubts.size(); ++d) {
    if (!doubts[d].inconclusive()) continue;
    const std::string whose = d == 0 ? "" : fmt::format("ranks {}: ", human_ranks(report.islands[d - 1].ranks));
    out.push_back(
        finding(Severity::warning, kInconclusiveClocks, doubts[d].doubtful,
                fmt::format("{}clocks are too uncertain to split waiting from transfer: uncertainty {}, median wait {}",
                            whose, human_duration(doubts[d].worst), human_duration(doubts[d].median_wait()))));
  }
}

void add_inferred(const Sources& sources, Findings& out) {
  std::set<int32_t> groups;
  int64_t calls = 0;
  for (const CollectiveInstance& instance : sources.instances.instances) {
    if (!instance.communicator.known()) continue;
    if (sources.instances.communicators[instance.communicator].source != MembersSource::inferred) continue;
    groups.insert(instance.communicator.value);
    calls += instance.member_count;
  }
  if (groups.empty()) return;
  out.push_back(
      finding(Severity::info, kInferredCommunicators, std::ssize(groups),
              fmt::format("{} calls were matched in {} groups that the traces do not name; their members were "
                          "recognized from calls that end together, so a rank that never did is not counted as missing",
                          calls, groups.size())));
}

// Calls that began and of which no end was recorded.
void add_open_ends(const Sources& sources, Findings& out) {
  std::map<int32_t, int64_t> calls;  // by rank
  for (const CallRef& member : sources.instances.members) {
    const RankTrace& trace = sources.job[member.trace];
    if (lacks_end(trace.calls[static_cast<size_t>(member.call)].duration_ns)) ++calls[trace.rank.value];
  }
  if (calls.empty()) return;
  int64_t sum = 0;
  std::vector<int32_t> ranks;
  for (const auto& [rank, count] : calls) {
    sum += count;
    ranks.push_back(rank);
  }
  out.push_back(
      finding(Severity::warning, kOpenEnds, sum,
              fmt::format("{} collective calls of ranks {} have no recorded end: their own waiting and transfer are "
                          "unknown, that of other ranks comes from when these calls started; sums are lower bounds",
                          sum, human_ranks(ranks))));
}

void add_instances(const Sources& sources, const JobReport& report, Findings& out) {
  int64_t unaligned = 0, semantics = 0, causality = 0, extrapolated = 0, ties = 0;
  for (size_t i = 0; i < sources.instances.instances.size(); ++i) {
    const InstanceView view(sources, i);
    unaligned += view.timing.reason == SplitReason::unconnected ? 1 : 0;
    semantics += view.timing.reason == SplitReason::semantics ? 1 : 0;
    causality += view.timing.reason == SplitReason::causality ? 1 : 0;
    extrapolated += view.timing.note == SplitNote::extrapolated ? 1 : 0;
    ties += view.split() && view.instance.complete && !view.timing.last.known() ? 1 : 0;
  }
  const JobReport::Matching& m = report.matching;
  if (m.incomplete_instances > 0) {
    const SingleMembers single = single_members(sources);
    std::string message =
        fmt::format("{} collective{} a rank: waiting in {} is at least what is shown", m.incomplete_instances,
                    m.incomplete_instances == 1 ? " lacks" : "s lack", m.incomplete_instances == 1 ? "it" : "them");
    if (single.calls > 0) {
      message +=
          fmt::format("; {} of them show one rank alone, since ranks {} have no trace: how long it waited is not known",
                      single.calls, human_ranks(single.missing));
    }
    out.push_back(finding(Severity::warning, "incomplete-instances", m.incomplete_instances, std::move(message)));
  }
  if (m.mismatched_instances > 0) {
    out.push_back(finding(Severity::warning, "mismatched-instances", m.mismatched_instances,
                          fmt::format("in {} collectives ranks disagree on the size; their bandwidth is doubtful",
                                      m.mismatched_instances)));
  }
  if (unaligned > 0) {
    out.push_back(finding(
        Severity::warning, "unaligned-instances", unaligned,
        fmt::format("{} collectives could not be split into waiting and transfer: nothing aligns their ranks' clocks",
                    unaligned)));
  }
  if (semantics > 0) {
    out.push_back(finding(
        Severity::info, "unsplit-semantics", semantics,
        fmt::format(
            "{} collectives could not be split into waiting and transfer: the traces do not record who waits for whom",
            semantics)));
  }
  if (causality > 0) {
    out.push_back(finding(Severity::warning, "unsplit-causality", causality,
                          fmt::format("{} collectives could not be split into waiting and transfer: a rank left before "
                                      "the last one arrived, by more than the clocks' uncertainty",
                                      causality)));
  }
  if (extrapolated > 0) {
    out.push_back(finding(
        Severity::info, "extrapolated-instances", extrapolated,
        fmt::format("{} collectives are outside the time for which collectives align the clocks", extrapolated)));
  }
  if (ties > 0) {
    out.push_back(finding(Severity::info, "ties", ties,
                          fmt::format("in {} collectives ranks arrived too close together to say who was last", ties)));
  }
}

void add_slow_groups(const JobReport& report, Findings& out) {
  for (const JobReport::Island& island : report.islands) add_slow_groups(report_of(report, island), out);
  if (!report.islands.empty()) return;
  for (const SlowGroup& slow : slow_groups(report)) {
    out.push_back(finding(Severity::warning, "slow-group", 1,
                          fmt::format("group {} (ranks {}) moves {} GB/s where similar groups move {}: that costs each "
                                      "rank {} of exposed transfer",
                                      slow.group->id, human_ranks(slow.group->ranks), human_number(slow.gb_per_s),
                                      human_number(slow.peers_gb_per_s), human_duration(slow.excess_ns))));
  }
}

void add_unknown_hosts(const JobReport& report, Findings& out) {
  const auto unknown = std::count_if(report.ranks.begin(), report.ranks.end(),
                                     [](const JobReport::RankRow& row) { return row.host.empty(); });
  if (unknown == 0 || report.ranks.size() < 2) return;
  out.push_back(finding(
      Severity::info, "hosts-unknown", unknown,
      fmt::format("nothing names the hosts of {} of {} ranks: nodes, and links between them, are not known; give them "
                  "with --rank-map (path,rank,host) or in file names (rank3@node17.json, as scripts/torch_handler.py "
                  "and skewscope ship write)",
                  unknown, report.ranks.size())));
}

int64_t median_of(std::vector<int64_t>& numbers) {
  const auto middle = numbers.begin() + (std::ssize(numbers) - 1) / 2;
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

// A wait that comes of arrivals rests on clocks and on which calls were taken for one; a device that counts its own
// knows of neither: one checks the other. They need not be equal. A device counts each time it waits for a peer's
// signal: of a message the sender's count holds the time in which its peer reads, and ranks without a trace are waited
// for, too.
void add_measured_waits(const Sources& sources, Findings& out) {
  std::vector<int64_t> differences;
  int64_t calls = 0;
  for (size_t i = 0; i < sources.instances.instances.size(); ++i) {
    const InstanceView view(sources, i);
    for (size_t m = 0; m < view.size() && view.split(); ++m) {
      const int64_t measured_ns = view.call(m).measured_wait_ns;
      if (measured_ns < 0) continue;
      ++calls;
      if (view.instance.complete) differences.push_back(std::abs(measured_ns - view.parts(m).wait_ns));
    }
  }
  if (calls == 0) return;
  const auto complete = static_cast<int64_t>(differences.size());
  std::string message = fmt::format("devices measured how long they waited in {} calls", calls);
  if (complete > 0) {
    const int64_t worst = *std::max_element(differences.begin(), differences.end());
    message += fmt::format(
        "; with all ranks there it differs from the waiting by arrivals by {} in the median, {} at "
        "most",
        human_duration(median_of(differences)), human_duration(worst));
  }
  if (complete < calls) {
    message += fmt::format("; {} of them lack ranks, for which devices waited, too", calls - complete);
  }
  out.push_back(finding(Severity::info, "measured-waits", calls, std::move(message)));
}

}  // namespace

FindingCode unmatched_code(UnmatchedReason reason) {
  std::string code = fmt::format("unmatched-{}", to_string(reason));
  std::replace(code.begin(), code.end(), '_', '-');
  return FindingCode::from_text(code).value_or(FindingCode());
}

const Finding* find_finding(const Findings& findings, FindingCode code) {
  const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.code == code; });
  return found == findings.end() ? nullptr : &*found;
}

size_t most_components(const JobReport& report) {
  std::map<int32_t, size_t> of_session;
  size_t most = 0;
  for (const JobReport::Component& component : report.components) {
    most = std::max(most, ++of_session[component.session]);
  }
  return most;
}

Findings own_findings(const Sources& sources, const JobReport& report) {
  Findings out;
  add_versions(sources, report, out);
  add_components(report, out);
  add_windows(report, out);
  add_instances(sources, report, out);
  add_open_ends(sources, out);
  add_clock_doubt(sources, report, out);
  add_measured_waits(sources, out);
  add_inferred(sources, out);
  add_unmatched(sources, report, out);
  add_slow_groups(report, out);
  add_uneven_groups(report, out);
  add_unknown_hosts(report, out);
  return out;
}

}  // namespace skewscope::report
