// Problem: one sentence that is true, useful and never more certain than the data.
// Rules: the split is named as shares of the time in collectives; its weight is the wait that no computation hides, as
// a share of the ranks' GPU time (5/10/20 %: noticeable, high, critical; below, no straggler is named). A rank stands
// out when it was last in at least half of its instances, or causes at least a fifth of all wait and half as much again
// as an equal share. Who is never last is not called late. What sets it apart from the median rank (computing longer,
// idling longer: 5 %) is given as evidence, not as cause. Without a split, or with most of the time not split, the most
// frequent obstacle is named with its remedy.
#include "verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "human_units.h"
#include "own_findings.h"

namespace skewscope::report {
namespace {

constexpr double kStandsOutLate = 0.5, kStandsOutWait = 0.2, kStandsOutFair = 1.5, kApart = 0.05, kMostUnknown = 0.5;

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

int64_t median_of(const std::vector<JobReport::RankRow>& ranks, int64_t JobReport::RankRow::*field) {
  std::vector<int64_t> values;
  for (const JobReport::RankRow& r : ranks) values.push_back(r.*field);
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[(values.size() - 1) / 2];
}

enum class Trait : uint8_t { none, computes_longer, idles_longer };

struct Evidence {
  Trait trait = Trait::none;
  std::string words;
};

// How the rank differs from the median rank.
Evidence evidence_of(const JobReport& report, int32_t rank) {
  const auto row =
      std::find_if(report.ranks.begin(), report.ranks.end(), [&](const auto& r) { return r.rank == rank; });
  if (row == report.ranks.end() || row->total_ns <= 0 || report.ranks.size() < 2) return {};
  const int64_t compute = median_of(report.ranks, &JobReport::RankRow::compute_ns);
  const double longer = share(row->compute_ns - compute, compute).value_or(0);
  if (longer >= kApart) {
    return {Trait::computes_longer, fmt::format(" It computes {} longer than the median rank.", human_percent(longer))};
  }
  const int64_t idle = median_of(report.ranks, &JobReport::RankRow::idle_ns);
  const auto total = static_cast<double>(row->total_ns);
  if (static_cast<double>(row->idle_ns - idle) >= kApart * total) {
    return {Trait::idles_longer, fmt::format(" Its GPU idles for {}, the median rank's for {}.",
                                             human_duration(row->idle_ns), human_duration(idle))};
  }
  return {};
}

bool stands_out(const JobReport& report, const JobReport::Straggler& s, int64_t all_wait_ns) {
  const double fair = kStandsOutFair / static_cast<double>(std::max<size_t>(report.ranks.size(), 1));
  const double caused = share(s.wait_caused_ns, all_wait_ns).value_or(0);
  return s.late_share >= kStandsOutLate || (caused >= kStandsOutWait && caused >= fair);
}

std::string next_step(Trait trait, int32_t rank) {
  switch (trait) {
    case Trait::computes_longer:
      return fmt::format("Compare rank {}'s kernels with another rank's: more work, or a slower GPU?", rank);
    case Trait::idles_longer:
      return fmt::format("Look at rank {}'s host: input, Python, launches ahead of its collectives.", rank);
    case Trait::none:
      return fmt::format("Look at what rank {} does ahead of the collectives it is late for.", rank);
  }
  return "";
}

// The widest error bar of the clocks tied by collectives; "unknown" where none is known.
std::string bar_words(const JobReport& report) {
  int64_t worst = -1;
  for (const JobReport::Clock& clock : report.clocks) {
    if (clock.aligned) worst = std::max(worst, clock.uncertainty_ns);
  }
  return worst < 0 ? "unknown" : fmt::format("+-{}", human_duration(worst));
}

// Nobody was last: `most` is who causes most wait.
void name_nobody(const JobReport& report, const JobReport::Straggler& most, const Figures& f, Verdict& v) {
  const std::string caused =
      fmt::format("rank {} causes most wait, {} of it.", most.rank, percent_of(most.wait_caused_ns, f.wait_ns));
  if (most.late_candidates == 0) {
    v.why = "No collective is complete, so who was last is not known; " + caused;
    v.next = "Record all ranks over the same steps.";
    return;
  }
  v.why = fmt::format("Nobody is last by more than the clocks' error bars ({}); {}", bar_words(report), caused);
  v.next = find_finding(report.diagnostics, kInconclusiveClocks) != nullptr
               ? "Record more steps at once: more collectives tie the clocks closer."
               : "Several ranks are late together: look at what they share ahead of it.";
}

void name_stragglers(const JobReport& report, const Figures& f, Verdict& v) {
  const JobReport::Straggler& most = report.stragglers.front();
  const auto latest = std::max_element(report.stragglers.begin(), report.stragglers.end(),
                                       [](const auto& a, const auto& b) { return a.late_count < b.late_count; });
  if (latest->late_count == 0) {
    name_nobody(report, most, f, v);
    return;
  }
  const auto& named = stands_out(report, *latest, f.wait_ns) ? *latest : most;
  if (!stands_out(report, named, f.wait_ns)) {
    v.why = fmt::format("No straggler stands out: rank {} causes most wait, {} of it.", most.rank,
                        percent_of(most.wait_caused_ns, f.wait_ns));
    v.next = "Work moves between ranks: look at the balance of input and experts over steps.";
    return;
  }
  const Evidence evidence = evidence_of(report, named.rank);
  const char* often = named.rank == latest->rank ? "late most often"
                      : named.late_count > 0     ? "late at times"
                                                 : "never last";
  v.why = fmt::format("Rank {} is {} ({} of {}) and causes {} of the wait.", named.rank, often, named.late_count,
                      named.late_candidates, percent_of(named.wait_caused_ns, f.wait_ns));
  if (most.rank != named.rank) {
    v.why += fmt::format(" Rank {} causes most, {}.", most.rank, percent_of(most.wait_caused_ns, f.wait_ns));
  }
  v.why += evidence.words;
  v.next = next_step(evidence.trait, named.rank);
}

// The most frequent obstacle to the split, and its remedy.
void name_obstacle(const JobReport& report, Verdict& v) {
  if (report.ranks.size() == 1) {
    v.why = "One rank alone cannot tell: waiting shows only against the traces of the others.";
    v.next = "Give the traces of the other ranks, too.";
    return;
  }
  const auto noted = [&](std::string_view note) {
    return std::count_if(report.calls.begin(), report.calls.end(), [&](const auto& call) { return call.note == note; });
  };
  const int64_t unaligned = noted("unaligned"), semantics = noted("semantics");
  if (report.matching.unmatched >= std::max(unaligned, semantics)) {
    std::string reasons;
    for (const auto& r : report.matching.unmatched_by_reason) {
      reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", r.reason, r.calls);
    }
    v.why = fmt::format("{} of {} calls could not be matched between ranks ({}).", report.matching.unmatched,
                        report.matching.calls, reasons);
    v.next = "Record all ranks over the same steps; see tables/unmatched.csv.";
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
  v.verdict =
      fmt::format("{}{} of communication time is waiting, {}{} is transfer", bound ? "At least " : "",
                  percent_of(f.wait_ns, f.call_ns), bound ? "at most " : "", percent_of(f.transfer_ns, f.call_ns));
  const double unknown = share(f.unattributed_ns, f.call_ns).value_or(0);
  v.verdict += unknown > 0 ? fmt::format(", {} is not told apart.", human_percent(unknown)) : ".";
  // Without GPU rows the weight is taken within communication.
  const double loss = f.total_ns > 0 ? *share(f.exposed_wait_ns, f.total_ns) : *share(f.wait_ns, f.call_ns);
  v.severeness = severeness_of(loss);
  if (unknown >= kMostUnknown && v.severeness == Severeness::small) {
    name_obstacle(report, v);
    return v;
  }
  if (f.total_ns > 0) {
    v.verdict += fmt::format(" Waiting costs {} of GPU time: {}.", human_percent(loss), word_of(v.severeness));
  }
  if (v.severeness == Severeness::small || report.stragglers.empty()) {
    v.why = "No straggler stands out. " + timeline_words(f);
    const bool transfer_first =
        share(f.exposed_transfer_ns, f.total_ns).value_or(0) >= kHigh && f.exposed_transfer_ns >= f.idle_ns;
    v.next = transfer_first ? "Transfer is exposed: check bandwidth per size, and overlap with computing."
                            : "Waiting is not what to fix first: look at computing and idle time.";
    return v;
  }
  name_stragglers(report, f, v);
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
