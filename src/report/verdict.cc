// Problem: one sentence that is true, useful and never more certain than the data.
// Rules: the split is named as shares of the time in collectives; its weight is the wait that no computation hides, as
// a share of the ranks' GPU time (5/10/20 %: noticeable, high, critical; below, no straggler is named). A rank is named
// when its replay stands out, or a fifth of all wait began with it, beyond what its program takes, and half as much
// again as an equal share; it is called the cause only where its replay stands out, else a suspect. How much of the
// wait it was charged directly stands beside it: where it arrived last may be far from where the wait began. A group
// slower than groups like it (slow_groups.h) is named beside a cause, and before suspects and balance: who waits behind
// it is nobody's fault. Where suspects' hosts are late and no pace of one of them saves anything, all hosts are.
// Without a split, or with most of the time not split, the most frequent obstacle is named with its remedy.
#include "verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "own_findings.h"
#include "skewscope/base/human_units.h"
#include "slow_groups.h"

namespace skewscope::report {
namespace {

constexpr double kStandsOutWait = 0.2, kStandsOutFair = 1.5, kMostUnknown = 0.5, kWorthHeadline = 0.02;

Severeness severeness_of(double loss) {
  if (loss >= kCritical) return Severeness::critical;
  if (loss >= kHigh) return Severeness::high;
  return loss >= kNoticeable ? Severeness::noticeable : Severeness::small;
}

const char* word_of(Severeness severeness) {
  switch (severeness) {
    case Severeness::small:
      return "small";
    case Severeness::noticeable:
      return "noticeable";
    case Severeness::high:
      return "high";
    case Severeness::critical:
      return "critical";
  }
  return "";
}

std::string percent_of(int64_t part, int64_t whole) { return human_percent(share(part, whole).value_or(0)); }

std::string timeline_words(const Figures& f) {
  if (f.total_ns == 0) return "The traces hold no GPU rows.";
  return fmt::format("GPUs compute {} of the time, {} is exposed communication, {} idle.",
                     percent_of(f.compute_ns, f.total_ns), percent_of(f.exposed_communication_ns, f.total_ns),
                     percent_of(f.idle_ns, f.total_ns));
}

// What a cause is called, and what to do about it.
struct CauseWords {
  const char* cause;
  const char* because;     // of one rank
  const char* because_of;  // of several
  const char* next;        // {}: "rank 5's", "ranks 4-7's"
};

// The same kernels take longer on a slow GPU, and with larger inputs: reports do not read shapes.
constexpr CauseWords kCauseWords[] = {
    {"slower_kernels", "its kernels take longer", "their kernels take longer",
     "Compare {} inputs (shapes, lengths), then its clocks, power and temperature, with another GPU's."},
    {"other_kernels", "it runs more or other kernels", "they run more or other kernels",
     "Compare {} computing with others': batch, shapes, experts, recompiles."},
    {"copies", "its memory copies are exposed", "their memory copies are exposed",
     "Look at {} copies: pinned memory, prefetching, offloading."},
    {"transfer_elsewhere", "transfers of its other groups are exposed", "transfers of their other groups are exposed",
     "Check the links of {} other groups: bandwidth per size, overlap."},
    {"wait_elsewhere", "it waits in other groups", "they wait in other groups",
     "Look at {} other groups: whom they wait for there."},
    {"host", "its host launches late", "their hosts launch late",
     "Look at {} host: input, Python, launches ahead of its collectives."},
    {"idle", "its GPU idles", "their GPUs idle", "Look at what {} GPU waits for ahead of its collectives."},
    {"program", "its part of the program takes longer", "their part of the program takes longer",
     "Balance the stages, or fill the pipeline with more micro-batches."},
};

const CauseWords* wording_of(const std::string& cause) {
  const auto* found = std::find_if(std::begin(kCauseWords), std::end(kCauseWords),
                                   [&](const CauseWords& words) { return cause == words.cause; });
  return found == std::end(kCauseWords) ? nullptr : found;
}

// Wait that began with a rank beyond what its program takes.
int64_t own_wait_ns(const JobReport& report, const JobReport::Straggler& s) {
  const auto program = std::find_if(report.causes.begin(), report.causes.end(), [&](const JobReport::CauseRow& row) {
    return row.rank == s.rank && row.cause == "program";
  });
  return s.wait_originated_ns - (program == report.causes.end() ? 0 : program->wait_originated_ns);
}

bool stands_out(const JobReport& report, const JobReport::Straggler& s, int64_t all_wait_ns) {
  if (s.standing == "cause") return true;
  const double fair = kStandsOutFair / static_cast<double>(std::max<size_t>(report.ranks.size(), 1));
  const double own = share(own_wait_ns(report, s), all_wait_ns).value_or(0);
  return own >= kStandsOutWait && own >= fair;
}

// The widest error bar of the clocks tied by collectives; "unknown" where none is known.
std::string bar_words(const JobReport& report) {
  int64_t worst = -1;
  for (const JobReport::Clock& clock : report.clocks) {
    if (clock.aligned) worst = std::max(worst, clock.uncertainty_ns);
  }
  return worst < 0 ? "unknown" : fmt::format("+-{}", human_duration(worst));
}

// Who most wait began with, and how much.
std::string most_words(const JobReport& report, const Figures& f) {
  const auto most =
      std::max_element(report.stragglers.begin(), report.stragglers.end(),
                       [](const auto& a, const auto& b) { return a.wait_originated_ns < b.wait_originated_ns; });
  return fmt::format("rank {}, {} of it", most->rank, percent_of(most->wait_originated_ns, f.wait_ns));
}

bool nothing_complete(const JobReport& report) {
  const auto& all = report.stragglers;
  return !all.empty() && std::all_of(all.begin(), all.end(), [](const auto& s) { return s.late_candidates == 0; });
}

// Nobody was last by what can be told.
void name_nobody(const JobReport& report, const Figures& f, Verdict& v) {
  const std::string caused = fmt::format("most wait began with {}.", most_words(report, f));
  if (nothing_complete(report)) {
    v.why = "No collective is complete, so who was last is not known; " + caused;
    v.next = "Record all ranks over the same steps.";
    return;
  }
  v.why = fmt::format("Nobody is last by more than the clocks' error bars ({}); {}", bar_words(report), caused);
  v.next = find_finding(report.diagnostics, kInconclusiveClocks) != nullptr
               ? "Record more steps at once: more collectives tie the clocks closer."
               : "Several ranks are late together: look at what they share ahead of it.";
}

const JobReport::Straggler* named_straggler(const JobReport& report, const Figures& f) {
  const auto named = std::find_if(report.stragglers.begin(), report.stragglers.end(),
                                  [&](const auto& s) { return stands_out(report, s, f.wait_ns); });
  return named == report.stragglers.end() ? nullptr : &*named;
}

double saved_part(const JobReport& report, int64_t saved_ns) {
  return share(saved_ns, report.what_if.replayed_ns).value_or(0);
}

std::string next_for(const JobReport::Straggler& s) {
  const CauseWords* words = wording_of(s.cause);
  if (words == nullptr) return fmt::format("Look at what rank {} does ahead of its collectives.", s.rank);
  return fmt::format(fmt::runtime(words->next), fmt::format("rank {}'s", s.rank));
}

std::string straggler_words(const JobReport& report, const JobReport::Straggler& s, const Figures& f) {
  std::string text = fmt::format("Rank {} is the {}: {} of the wait began with it ({} charged directly)", s.rank,
                                 s.standing == "cause" ? "cause" : "suspect",
                                 percent_of(s.wait_originated_ns, f.wait_ns), percent_of(s.wait_caused_ns, f.wait_ns));
  // Against peers of which some are missing, a victim may look as if it did other things.
  const bool sure = s.standing == "cause" || report.job.ranks_missing.empty();
  const CauseWords* words = sure ? wording_of(s.cause) : nullptr;
  text += words == nullptr ? "." : fmt::format(": {}.", words->because);
  if (s.saved_ns > 0) text += fmt::format(" Its peers' pace saves {}.", human_percent(saved_part(report, s.saved_ns)));
  std::string others;
  for (const JobReport::Straggler& other : report.stragglers) {
    if (s.standing != "cause" || other.standing != "cause" || other.rank == s.rank) continue;
    others += fmt::format("{}{} ({})", others.empty() ? "" : ", ", other.rank,
                          percent_of(other.wait_originated_ns, f.wait_ns));
  }
  return others.empty() ? text : text + fmt::format(" So is rank {}.", others);
}

// The node that all of these ranks run on, and no other does; "" where there is none.
std::string own_node(const JobReport& report, const std::vector<int32_t>& ranks) {
  std::string node;
  for (const JobReport::RankRow& row : report.ranks) {
    if (!std::binary_search(ranks.begin(), ranks.end(), row.rank)) continue;
    if (row.host.empty() || (!node.empty() && row.host != node)) return "";
    node = row.host;
  }
  const auto on_node = std::count_if(report.ranks.begin(), report.ranks.end(),
                                     [&](const JobReport::RankRow& row) { return row.host == node; });
  return on_node == std::ssize(ranks) ? node : "";
}

void name_together(const JobReport& report, const Figures& f, Verdict& v) {
  const JobReport::WhatIf& w = report.what_if;
  int64_t began_ns = 0;
  std::string cause;
  bool one_cause = true;
  for (const JobReport::Straggler& s : report.stragglers) {
    if (!std::binary_search(w.together.begin(), w.together.end(), s.rank)) continue;
    one_cause = one_cause && (began_ns == 0 || s.cause == cause);
    cause = s.cause;
    began_ns += s.wait_originated_ns;
  }
  const CauseWords* words = one_cause ? wording_of(cause) : nullptr;
  v.why = fmt::format("Ranks {} are the cause together: {} of the wait began with them{}. Their peers' pace saves {}.",
                      human_ranks(w.together), percent_of(began_ns, f.wait_ns),
                      words == nullptr ? "" : fmt::format(": {}", words->because_of),
                      human_percent(saved_part(report, w.together_saved_ns)));
  const std::string node = own_node(report, w.together);
  v.next = node.empty() ? "Look at what these ranks share: input, part of the model, place in the network."
                        : fmt::format("These are the ranks of {}: look at its cooling, power, input and load.", node);
}

// The ranks whose program costs most beyond the others', where that is worth naming.
const JobReport::WhatIf::Program* longest_program(const JobReport& report) {
  const auto& programs = report.what_if.programs;
  const auto longest = std::max_element(programs.begin(), programs.end(),
                                        [](const auto& a, const auto& b) { return a.saved_ns < b.saved_ns; });
  if (longest == programs.end()) return nullptr;
  return saved_part(report, longest->saved_ns) >= kWorthHeadline ? &*longest : nullptr;
}

bool names_a_cause(const JobReport& report, const Figures& f) {
  if (nothing_complete(report)) return false;
  const JobReport::Straggler* named = named_straggler(report, f);
  return !report.what_if.together.empty() || (named != nullptr && named->standing == "cause");
}

void name_stragglers(const JobReport& report, const Figures& f, Verdict& v) {
  const JobReport::Straggler& most = report.stragglers.front();
  const JobReport::Straggler* named = named_straggler(report, f);
  const bool anybody_last =
      std::any_of(report.stragglers.begin(), report.stragglers.end(), [](const auto& s) { return s.late_count > 0; });
  if (nothing_complete(report) || (!anybody_last && (named == nullptr || named->standing != "cause"))) {
    name_nobody(report, f, v);
    return;
  }
  if (!report.what_if.together.empty()) {
    name_together(report, f, v);
    return;
  }
  if (named != nullptr) {
    v.why = straggler_words(report, *named, f);
    v.next = next_for(*named);
    return;
  }
  if (const JobReport::WhatIf::Program* longest = longest_program(report); longest != nullptr) {
    v.why = fmt::format("Ranks {} run a longer part of the program than the others: balanced, the job is {} shorter.",
                        human_ranks(longest->ranks), human_percent(saved_part(report, longest->saved_ns)));
    v.next = "Move work from their stage to the others.";
    return;
  }
  v.why = fmt::format("No straggler stands out: most wait began with {}.", most_words(report, f));
  v.next = most.cause == "program" ? wording_of(most.cause)->next
                                   : "See tables/causes.csv for what each rank did longer than its peers.";
}

// Waiting is too little to look for a straggler, but for one that is proven.
void name_the_rest(const JobReport& report, const Figures& f, Verdict& v) {
  const JobReport::Straggler* named = named_straggler(report, f);
  if (!report.what_if.together.empty()) return name_together(report, f, v);
  if (named != nullptr && named->standing == "cause") {
    v.why = straggler_words(report, *named, f);
    v.next = next_for(*named);
    return;
  }
  v.why = "No straggler stands out. " + timeline_words(f);
  const bool transfer_first =
      f.total_ns == 0 ? f.transfer_ns > f.wait_ns
                      : *share(f.exposed_transfer_ns, f.total_ns) >= kHigh && f.exposed_transfer_ns >= f.idle_ns;
  v.next = transfer_first ? "Transfer is exposed: check bandwidth per size, and overlap with computing."
                          : "Waiting is not what to fix first: look at computing and idle time.";
}

// A group with slow links, beside a cause, or in place of suspects: what they are late for is its transfers.
void name_slow_group(const JobReport& report, const Figures& f, Verdict& v) {
  const std::vector<SlowGroup> slow = slow_groups(report);
  if (slow.empty() || report.ranks.empty()) return;
  const SlowGroup& most = slow.front();
  const int64_t window_ns = f.total_ns / std::ssize(report.ranks);
  const double lost = share(most.excess_ns, window_ns).value_or(0);
  if (lost < kWorthHeadline) return;
  const std::string ranks = human_ranks(most.group->ranks), own = human_number(most.gb_per_s),
                    peers = human_number(most.peers_gb_per_s);
  if (names_a_cause(report, f)) {
    v.next += fmt::format(" And the links of ranks {}: {} GB/s, groups like theirs {}; up to {}.", ranks, own, peers,
                          human_percent(lost));
    return;
  }
  v.why =
      fmt::format("Group #{} (ranks {}) moves bytes at {} GB/s, groups like it at {}: that costs up to {} of GPU time.",
                  most.group->id, ranks, own, peers, human_percent(lost));
  v.next = fmt::format("Check the links of ranks {}: NICs, cables, routes, what else uses them.", ranks);
}

// Hosts that are all too slow are late in turn: whom chance made last most often is no better to be looked at.
void name_slow_hosts(const JobReport& report, const Figures& f, Verdict& v) {
  int64_t idle_ns = 0;
  for (const JobReport::RankRow& row : report.ranks) idle_ns += row.idle_host_wait_ns;
  const double idle = share(idle_ns, f.total_ns).value_or(0);
  const JobReport::Straggler* named = named_straggler(report, f);
  const bool replayed = report.what_if.replayed_ns > 0;
  const JobReport::Straggler& most = named != nullptr ? *named : report.stragglers.front();
  if (idle < kNoticeable || !replayed || most.cause != "host" || saved_part(report, most.saved_ns) >= kWorthHeadline) {
    return;
  }
  v.next = fmt::format("All GPUs wait for launches, {} of the time: launch less or larger (compile, graphs, batches).",
                       human_percent(idle));
}

// What would let most of the unmatched calls be matched.
std::string remedy_of_unmatched(const JobReport& report) {
  const auto unnamed = std::count_if(report.unmatched.begin(), report.unmatched.end(),
                                     [](const auto& call) { return call.communicator < 0; });
  const auto batches = std::count_if(report.unmatched.begin(), report.unmatched.end(), [](const auto& call) {
    const bool message = call.op == "coalesced" || call.op == "send_recv" || call.op == "send" || call.op == "recv";
    return message && call.reason == "ambiguous";
  });
  if (2 * batches > std::ssize(report.unmatched)) {
    return report.job.steps.empty() ? "Call the profiler's step() once per step: batches of sends and receives are "
                                      "told by their place in it."
                                    : "Kernels are missing here and there, and batches of sends and receives are told "
                                      "by their number: record fewer "
                                      "events at once.";
  }
  if (2 * unnamed <= std::ssize(report.unmatched)) {
    return "Record all ranks over the same steps; see tables/unmatched.csv.";
  }
  int64_t several_groups = 0;
  for (const Finding& f : report.diagnostics) several_groups += f.code == kSeveralGroups ? f.count : 0;
  if (2 * several_groups > std::ssize(report.unmatched)) {
    return "Batches of sends and receives serve several groups by one kernel: give each group a batch of its own.";
  }
  // No trace names the calls' group: who was held up by whom tells, where no rank is missing.
  const bool cpu = report.job.vendor == "cpu";
  const auto nameless = std::count_if(report.unmatched.begin(), report.unmatched.end(),
                                      [](const auto& call) { return call.reason == "no_metadata"; });
  if (2 * nameless > std::ssize(report.unmatched)) {
    return cpu ? "The CPU backend's calls name neither group nor partner; see tables/unmatched.csv."
               : "Record with PyTorch 2.4 or newer, which names the group and partner of every call.";
  }
  if (!report.job.ranks_missing.empty()) return "Give the traces of all ranks: these name no group.";
  if (find_finding(report.diagnostics, kUnknownWorldSize) != nullptr) {
    return fmt::format("If these are the traces of all ranks, say so: --world-size {}.", report.job.world_size);
  }
  return cpu ? "Record more steps, until they show who waits for whom."
             : "Record with PyTorch 2.4 or newer, which names the group of every call, or more steps.";
}

// The most frequent obstacle to the split, and its remedy.
void name_obstacle(const JobReport& report, Verdict& v) {
  if (report.ranks.size() == 1) {
    v.why = "One rank alone cannot tell: waiting shows only against the traces of the others.";
    v.next =
        report.job.world_size > 1
            ? "Give the traces of the other ranks, too."
            : "Give the traces of other ranks, if the job has any; skewscope rank tells of each device of this one.";
    return;
  }
  const auto noted = [&](std::string_view note) {
    return std::count_if(report.calls.begin(), report.calls.end(), [&](const auto& call) { return call.note == note; });
  };
  const int64_t unaligned = noted("unconnected"), semantics = noted("semantics"), causality = noted("causality");
  if (causality > std::max({report.matching.unmatched, unaligned, semantics})) {
    v.why = fmt::format("In {} of {} calls a member left before the last one came: clocks or matches are wrong there.",
                        causality, report.matching.calls);
    const bool as_recorded = std::all_of(report.clocks.begin(), report.clocks.end(),
                                         [](const auto& clock) { return clock.method == "wallclock"; });
    v.next = as_recorded ? "Let collectives tie the clocks: --align auto."
                         : "See tables/clocks.csv: record more steps at once, so that more collectives tie the clocks.";
    return;
  }
  if (report.matching.unmatched >= std::max(unaligned, semantics)) {
    std::string reasons;
    for (const auto& r : report.matching.unmatched_by_reason) {
      reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", r.reason, r.calls);
    }
    v.why = fmt::format("{} of {} calls could not be matched between ranks ({}).", report.matching.unmatched,
                        report.matching.calls, reasons);
    v.next = remedy_of_unmatched(report);
  } else if (unaligned >= semantics) {
    v.why = "Nothing ties the ranks' clocks to each other.";
    v.next = "If the hosts' clocks are synchronized, use --align wallclock.";
  } else {
    v.why = "The traces do not record who waits for whom in these calls.";
    v.next = "See the note of each call in tables/collective_ranks.csv.";
  }
}

Verdict verdict_of_split(const JobReport& report, const Figures& f) {
  Verdict v;
  const bool bound = report.matching.incomplete_instances > 0;
  const double unknown = share(f.unattributed_ns, f.call_ns).value_or(0);
  // What is not told apart may be transfer as well.
  const char* transfer = !bound ? "{} is transfer" : unknown > 0 ? "{} counts as transfer" : "at most {} is transfer";
  v.verdict = fmt::format("{}{} of communication time is waiting, ", bound ? "At least " : "",
                          percent_of(f.wait_ns, f.call_ns)) +
              fmt::format(fmt::runtime(transfer), percent_of(f.transfer_ns, f.call_ns));
  v.verdict += unknown > 0 ? fmt::format(", {} is not told apart.", human_percent(unknown)) : ".";
  // Without GPU rows the weight is taken within communication.
  const double loss = f.total_ns > 0 ? *share(f.exposed_wait_ns, f.total_ns) : *share(f.wait_ns, f.call_ns);
  v.severeness = severeness_of(loss);
  if (unknown >= kMostUnknown && v.severeness == Severeness::small) {
    name_obstacle(report, v);
    return v;
  }
  if (f.total_ns > 0) {
    v.verdict += fmt::format(" Waiting costs {}{} of GPU time: {}.", bound ? "at least " : "", human_percent(loss),
                             word_of(v.severeness));
  }
  const bool small = v.severeness == Severeness::small && !nothing_complete(report);
  if (small || report.stragglers.empty()) {
    name_the_rest(report, f, v);
  } else {
    name_stragglers(report, f, v);
    if (!names_a_cause(report, f)) name_slow_hosts(report, f, v);
  }
  if (!nothing_complete(report)) name_slow_group(report, f, v);
  if (!report.job.ranks_missing.empty() && !names_a_cause(report, f)) {
    v.next = fmt::format("Give the traces of the missing ranks, too ({}): one of them may be waited for.",
                         human_ranks(report.job.ranks_missing));
  }
  return v;
}

}  // namespace

Verdict verdict_of(const JobReport& report, const Figures& figures) {
  if (figures.calls == 0) {
    Verdict v;
    v.verdict = "No collectives were recorded: only each rank's own timeline can be told.";
    v.why = timeline_words(figures);
    v.next = figures.total_ns == 0 ? "Record GPU activities, or gloo ranges on a CPU-only job."
                                   : "Check that the recorded steps communicate.";
    return v;
  }
  if (figures.any_split()) return verdict_of_split(report, figures);
  Verdict v;
  v.verdict = "Waiting and transfer could not be told apart.";
  name_obstacle(report, v);
  return v;
}

}  // namespace skewscope::report
