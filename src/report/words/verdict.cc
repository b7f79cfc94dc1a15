// Problem: a few sentences that are true, useful and never more certain than the data.
// Rules: first where the time went: shares of the ranks' GPU time, and waiting as a bound where members are missing;
// then what to fix first and by how much the job would be shorter. Severity is that of what can be won: the weight of
// the largest loss (losses.h), 5/10/20 %: noticeable, high, critical. A fault, a loss for which some ranks are named,
// comes before what is the job's own design and weighs up to twice as much; then both give advice. Losses that weigh a
// quarter of the one in front are named after it. Where ranks are missing and no simulation confirms a straggler, their
// traces are asked for. Of a job of several components, whose ranks nobody compared, the one with the largest loss is
// described. Without a split, or with most of the time not split, the most frequent obstacle is named with its remedy.
// One rank of several says nothing of waiting: what its own timeline loses leads. kRules is this as a table; then
// tell_what_is_missing() puts in front what of the job is in no row.
#include "verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "obstacle.h"
#include "skewscope/base/human_units.h"
#include "src/report/rows/cause_words.h"
#include "src/report/rows/islands.h"
#include "src/report/rows/losses.h"
#include "src/report/rows/own_findings.h"

namespace skewscope::report {
namespace {

constexpr double kMostUnknown = 0.5, kWorthMention = 0.25, kDesignFactor = 2;
constexpr double kWorthSaying = 0.01;  // of GPU time
constexpr size_t kMostBeside = 2;

Severeness severeness_of(double weight) {
  if (weight >= kCritical) return Severeness::critical;
  if (weight >= kHigh) return Severeness::high;
  return weight >= kNoticeable ? Severeness::noticeable : Severeness::small;
}

std::string of_gpu_time(const Figures& f, int64_t part) { return human_percent(share(part, f.total_ns).value_or(0)); }

// "", or a share that is worth naming, such as "1 % in exposed copies, ".
std::string smaller_part(const Figures& f, int64_t part, const char* what) {
  const bool worth = share(part, f.total_ns).value_or(0) >= kWorthSaying;
  return worth ? fmt::format("{} in {}, ", of_gpu_time(f, part), what) : "";
}

std::string timeline_words(const Figures& f) {
  if (f.total_ns == 0) return "The traces hold no GPU rows.";
  return fmt::format("GPUs spend {} of the time computing, {} in exposed communication, {}{} idle.",
                     of_gpu_time(f, f.compute_ns), of_gpu_time(f, f.exposed_communication_ns),
                     smaller_part(f, f.exposed_memcpy_ns, "exposed copies"), of_gpu_time(f, f.idle_ns));
}

// A bound of less than half a percent is one of nothing.
std::string least_of_gpu_time(const Figures& f, bool bound) {
  const bool nothing = bound && share(f.exposed_wait_ns, f.total_ns).value_or(0) < 0.5 * kWorthSaying;
  return nothing ? "0 %" : of_gpu_time(f, f.exposed_wait_ns);
}

// Where the time went. Members that are missing make waiting a bound; what is not split may be transfer as well.
std::string time_words(const JobReport& report, const Figures& f) {
  const bool bound = report.matching.incomplete_instances > 0 || find_finding(report.diagnostics, kOpenEnds) != nullptr;
  const char* const least = bound ? "at least " : "";
  const char* const most = bound && f.unattributed_ns == 0 ? "at most " : "";
  if (f.total_ns == 0) {
    const std::string split = fmt::format("Ranks spend {}{} of communication time waiting, {}{} in transfer", least,
                                          percent_of(f.wait_ns, f.call_ns), most, percent_of(f.transfer_ns, f.call_ns));
    if (share(f.unattributed_ns, f.call_ns).value_or(0) < kWorthSaying) return split + ".";
    return split + fmt::format("; {} could not be split.", percent_of(f.unattributed_ns, f.call_ns));
  }
  const int64_t unsplit_ns = f.exposed_communication_ns - f.exposed_wait_ns - f.exposed_transfer_ns;
  return fmt::format(
      "GPUs spend {} of the time computing, {}{} waiting for other ranks, {}{} in exposed transfer, "
      "{}{}{} idle.",
      of_gpu_time(f, f.compute_ns), least, least_of_gpu_time(f, bound), most, of_gpu_time(f, f.exposed_transfer_ns),
      smaller_part(f, unsplit_ns, "communication that could not be split"),
      smaller_part(f, f.exposed_memcpy_ns, "exposed copies"), of_gpu_time(f, f.idle_ns));
}

// The largest uncertainty of the clocks aligned by collectives; "unknown" where none is known.
std::string uncertainty_words(const JobReport& report) {
  int64_t worst = -1;
  for (const JobReport::Clock& clock : report.clocks) {
    if (clock.aligned) worst = std::max(worst, clock.uncertainty_ns);
  }
  return worst < 0 ? "unknown" : human_duration(worst);
}

// "at most 12 %".
std::string gain_words(const JobReport::Loss& loss) {
  const char* bound = loss.bound == GainBound::at_most    ? "at most "
                      : loss.bound == GainBound::at_least ? "at least "
                                                          : "";
  return bound + spoken_percent(loss.gain_share);
}

// The place of the loss to tell first; `losses` has some.
size_t leading(const std::vector<JobReport::Loss>& losses) {
  const auto fault = std::find_if(losses.begin(), losses.end(), [](const auto& loss) { return !loss.ranks.empty(); });
  const bool leads = fault != losses.end() && kDesignFactor * fault->weight() >= losses.front().weight();
  return leads ? static_cast<size_t>(fault - losses.begin()) : 0;
}

// The losses that weigh most after that of `lead`, in a word each, in the order of what is said of them.
std::string beside_words(const std::vector<JobReport::Loss>& losses, size_t lead) {
  std::vector<const JobReport::Loss*> beside;
  for (size_t i = 0; i < losses.size() && beside.size() < kMostBeside; ++i) {
    if (i == lead || losses[i].weight() < kWorthMention * losses[lead].weight()) continue;
    beside.push_back(&losses[i]);
  }
  std::stable_sort(beside.begin(), beside.end(), [](auto* a, auto* b) { return a->gain_share > b->gain_share; });
  std::string words;
  for (const JobReport::Loss* loss : beside) {
    words += fmt::format("{}{} ({})", words.empty() ? " Also: " : ", ", loss->name, gain_words(*loss));
  }
  return words.empty() ? "" : words + ".";
}

bool proves_a_cause(const JobReport& report) {
  if (report.losses.empty()) return false;
  const JobReport::Loss& lead = report.losses[leading(report.losses)];
  return !lead.ranks.empty() && lead.bound != GainBound::at_most;
}

// Nobody is known to be last.
void name_nobody(const JobReport& report, const Figures& f, Verdict& v) {
  if (nothing_complete(report)) {
    v.why = fmt::format("Every collective lacks a rank, so who came last is not known; {}.", most_words(report, f));
    v.next = "Record all ranks over the same steps.";
    return;
  }
  v.why = fmt::format("Ranks arrive too close together to say who comes last (clock uncertainty: {}); {}.",
                      uncertainty_words(report), most_words(report, f));
  v.next = find_finding(report.diagnostics, kInconclusiveClocks) != nullptr
               ? "Record more steps at once: more collectives make the clocks more certain."
           : has_calls_alone(report)
               ? record_next(report, {})
               : "Several ranks are late together: look at what they share before the collective.";
}

bool nobody_was_last(const JobReport& report) {
  return nothing_complete(report) ||
         (!report.stragglers.empty() &&
          std::all_of(report.stragglers.begin(), report.stragglers.end(),
                      [](const auto& s) { return s.late_count == 0 && s.standing != Standing::cause; }));
}

// Waiting for nobody in particular has reasons of its own.
bool nobody_to_name(const JobReport& report) {
  const bool waiting_leads = report.losses.empty() || report.losses.front().kind == LossKind::waiting;
  return waiting_leads && nobody_was_last(report) && (nothing_complete(report) || !report.losses.empty());
}

// The largest loss, and those after it.
void name_losses(const JobReport& report, Verdict& v) {
  const std::vector<JobReport::Loss>& losses = report.losses;
  const bool somebody = std::any_of(losses.begin(), losses.end(), [](const JobReport::Loss& loss) {
    return !loss.ranks.empty() || loss.kind == LossKind::late_in_turn || loss.kind == LossKind::waiting;
  });
  const size_t lead = leading(losses);
  v.why = losses[lead].why + beside_words(losses, lead) + (somebody ? "" : " No rank is a clear straggler.");
  v.next = losses[lead].next + (lead == 0 ? "" : " Then: " + losses.front().next);
}

// Some GPUs of one process, whose collectives need no other trace.
void name_one_process(const JobReport& report, const Figures& f, Verdict& v) {
  v.verdict = fmt::format(
      "One process drives all GPUs: they spend {} of communication time waiting for one another, {} in transfer.",
      percent_of(f.wait_ns, f.call_ns), percent_of(f.transfer_ns, f.call_ns));
  v.why = report.losses.empty() ? timeline_words(f) : report.losses.front().why + beside_words(report.losses, 0);
  v.next = report.losses.empty() ? "" : report.losses.front().next + " ";
  v.next +=
      "skewscope rank shows each device. One process per GPU (DistributedDataParallel) would not wait for one host.";
}

// One rank alone: what its own timeline loses is all that is known.
void name_one_rank(const JobReport& report, const Figures& f, Verdict& v) {
  const bool others = report.job.world_size > 1;
  v.verdict = fmt::format("Only rank {}{} was given. Waiting needs the traces of the other ranks.",
                          report.ranks.front().rank, others ? fmt::format(" of {}", report.job.world_size) : "");
  v.why = timeline_words(f);
  if (!report.losses.empty()) v.why += " " + report.losses.front().why + beside_words(report.losses, 0);
  v.next = report.losses.empty() ? "" : report.losses.front().next + " ";
  v.next += others ? "Add the traces of the other ranks."
            : has_calls_alone(report)
                ? "Add the logs of other ranks, if the job has any."
                : "Add the traces of other ranks, if the job has any; skewscope rank shows this rank's devices.";
}

// Copies, and kernels that only send: no call of theirs could be matched or split, and none failed to be.
void name_rows_that_wait_for_nobody(const JobReport& report, const Figures& f, Verdict& v) {
  v.verdict = "All communication ran as copies or as kernels that only send; neither shows how long ranks waited.";
  v.why = report.losses.empty() ? timeline_words(f) : report.losses.front().why + beside_words(report.losses, 0);
  v.next = report.losses.empty() ? "" : report.losses.front().next + " ";
  v.next += "To see waiting, record once with collectives that run as kernels (NCCL without its zero-CTA policy).";
}

// What to fix first, and by how much the job would be shorter.
std::string fix_words(const JobReport& report, Severeness severeness) {
  const std::vector<JobReport::Loss>& losses = report.losses;
  if (losses.empty()) return " No single fix found would shorten the job by 2 % or more.";
  const size_t lead = leading(losses);
  const std::string first =
      fmt::format(" Fix first: {}; the job would be {} shorter", losses[lead].name, gain_words(losses[lead]));
  if (lead == 0) return fmt::format("{} ({}).", first, to_string(severeness));
  return fmt::format("{}. Then: {}, {} ({}).", first, losses.front().name, gain_words(losses.front()),
                     to_string(severeness));
}

bool mostly_unknown(const JobReport& report, const Figures& f) {
  const bool nothing_to_win =
      report.losses.empty() || severeness_of(report.losses.front().weight()) == Severeness::small;
  return nothing_to_win && share(f.unattributed_ns, f.call_ns).value_or(0) >= kMostUnknown;
}

void say_where_time_went(const JobReport& report, const Figures& f, Verdict& v) {
  v.verdict = time_words(report, f);
  if (!mostly_unknown(report, f)) v.verdict += fix_words(report, v.severeness);
}

void ask_for_missing_ranks(const JobReport& report, Verdict& v) {
  if (report.job.ranks_missing.empty() || proves_a_cause(report)) return;
  v.next = fmt::format("Add the traces of the missing ranks ({}): the others may be waiting for one of them.",
                       human_ranks(report.job.ranks_missing));
}

// What is said of ranks that are compared: the first rule that applies.
struct Rule {
  bool (*applies)(const JobReport& report, const Figures& f);
  void (*say)(const JobReport& report, const Figures& f, Verdict& v);
};
constexpr Rule kRules[] = {
    // No collectives.
    {[](const JobReport&, const Figures& f) { return f.calls == 0; },
     [](const JobReport& report, const Figures& f, Verdict& v) {
       v.verdict = "No collectives were recorded, so only each rank's own timeline is known.";
       v.why = timeline_words(f) + (report.losses.empty() ? "" : " " + report.losses.front().why);
       v.next = f.total_ns == 0
                    ? "Check that the recorded steps communicate, and record GPU activities if there are GPUs."
                    : "Check that the recorded steps communicate.";
     }},
    // One process with several GPUs; one rank of several.
    {[](const JobReport& report, const Figures&) {
       return report.ranks.size() == 1 &&
              find_finding(report.diagnostics, unmatched_code(UnmatchedReason::own_devices)) != nullptr;
     },
     &name_one_process},
    {[](const JobReport& report, const Figures&) { return report.ranks.size() == 1; }, &name_one_rank},
    // Split, but for most of the time.
    {[](const JobReport& report, const Figures& f) { return f.any_split() && mostly_unknown(report, f); },
     [](const JobReport& report, const Figures& f, Verdict& v) {
       say_where_time_went(report, f, v);
       name_obstacle(report, v.why, v.next);
     }},
    // Split, and nobody was last.
    {[](const JobReport& report, const Figures& f) { return f.any_split() && nobody_to_name(report); },
     [](const JobReport& report, const Figures& f, Verdict& v) {
       say_where_time_went(report, f, v);
       name_nobody(report, f, v);
       v.why += report.losses.empty() ? "" : beside_words(report.losses, 0);
       ask_for_missing_ranks(report, v);
     }},
    // Split, and nothing is worth a repair.
    {[](const JobReport& report, const Figures& f) { return f.any_split() && report.losses.empty(); },
     [](const JobReport& report, const Figures& f, Verdict& v) {
       say_where_time_went(report, f, v);
       v.why = "No rank is a clear straggler.";
       v.next = has_calls_alone(report) ? record_next(report, {})
                                        : "Do not start with waiting: look at computing and idle time.";
       ask_for_missing_ranks(report, v);
     }},
    // Split, with losses.
    {[](const JobReport&, const Figures& f) { return f.any_split(); },
     [](const JobReport& report, const Figures& f, Verdict& v) {
       say_where_time_went(report, f, v);
       name_losses(report, v);
       ask_for_missing_ranks(report, v);
     }},
    // Nothing waits; nothing could be split.
    {[](const JobReport& report, const Figures&) { return report.matching.calls == 0; },
     &name_rows_that_wait_for_nobody},
    {[](const JobReport&, const Figures&) { return true; },
     [](const JobReport& report, const Figures&, Verdict& v) {
       v.verdict = "Communication could not be split into waiting and transfer.";
       name_obstacle(report, v.why, v.next);
     }},
};

// What a finding says of ranks, up to its colon: "Rank 2: 24 kernels were launched and none was recorded." "": nothing.
std::string said_of_ranks(const JobReport& report, FindingCode code) {
  std::vector<int32_t> ranks;
  std::string_view first;
  for (const Finding& f : report.diagnostics) {
    if (f.code != code || f.severity == Severity::info) continue;
    if (first.empty()) first = f.message;
    if (f.rank.known()) ranks.push_back(f.rank.value);
  }
  if (first.empty()) return "";
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  const bool all = ranks.empty() || ranks.size() == report.ranks.size();
  const std::string who = all && report.ranks.size() > 1 ? "Each rank"
                          : ranks.size() == 1            ? "Rank " + human_ranks(ranks)
                                                         : "Ranks " + human_ranks(ranks);
  return fmt::format("{}: {}.", who, first.substr(0, first.find(':')));
}

// What of the job is in no row: said before what the rows say.
void tell_what_is_missing(const JobReport& report, const Figures& f, Verdict& v) {
  if (const std::string lost = said_of_ranks(report, kGpuRowsLost); !lost.empty()) {
    v.verdict = lost + (f.calls > 0 ? " Waiting of the other ranks is a lower bound. " : " ") + v.verdict;
    if (f.calls > 0) v.why = "Collectives lack this rank, so waiting for it counts as transfer.";
    v.next = "Record again: the profiler lost the rows of a GPU.";
  }
  if (const std::string none = said_of_ranks(report, kNoGpuActivity); !none.empty()) {
    v.verdict = none + (f.calls > 0 ? " " + v.verdict : "");
    v.next = "Add ProfilerActivity.CUDA (XPU for Intel GPUs) to the profiler's activities." +
             (f.calls > 0 ? " " + v.next : "");
  }
  if (!said_of_ranks(report, kKernelsLost).empty()) {
    v.next = "Record again with fewer steps or activities at once: the profiler lost kernels. " + v.next;
  }
  for (const FindingCode code : {kCallsWithoutKernel, kUnknownKernels, kCopiedCollectives, kKernelsLost}) {
    if (const std::string told = said_of_ranks(report, code); !told.empty()) v.why = told + " " + v.why;
  }
}

Verdict verdict_of_rows(const JobReport& report, const Figures& figures) {
  if (const JobReport::Island* lead = leading_island(report); lead != nullptr) {
    const JobReport own = report_of(report, *lead);
    Verdict v = verdict_of_rows(own, figures_of(own));
    v.verdict = fmt::format("{}. Ranks {}: {}", component_words(report), human_ranks(lead->ranks), v.verdict);
    return v;
  }
  Verdict v;
  if (!report.losses.empty()) v.severeness = severeness_of(report.losses.front().weight());
  const auto* const rule =
      std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& one) { return one.applies(report, figures); });
  rule->say(report, figures, v);  // the last one always applies
  return v;
}

}  // namespace

const char* to_string(Severeness severeness) {
  constexpr const char* kWords[] = {"small", "noticeable", "high", "critical"};
  return kWords[static_cast<size_t>(severeness)];
}

Verdict verdict_of(const JobReport& report, const Figures& figures) {
  Verdict v = verdict_of_rows(report, figures);
  tell_what_is_missing(report, figures, v);
  return v;
}

}  // namespace skewscope::report
