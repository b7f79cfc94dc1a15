// The summary, in the order in which a reader asks: where the time went and what to fix first (verdict), who and why,
// what to do, how sure that is; then the job, what a simulation of it gains, who is waited for and in which
// collectives, and what is wrong with the input. Words wrap at the terminal's width and are never cut; on 80 columns
// the whole takes some 30 lines, and tables give way row by row where it would take more.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "data_quality.h"
#include "lines.h"
#include "skewscope/base/human_units.h"
#include "skewscope/base/text_columns.h"
#include "skewscope/report.h"
#include "src/report/rows/figures.h"
#include "src/report/rows/islands.h"
#include "src/report/rows/own_findings.h"
#include "src/report/rows/pipeline_words.h"
#include "src/report/rows/step_rows.h"
#include "summary_tables.h"
#include "verdict.h"
#include "what_if_words.h"

namespace skewscope {
namespace report {
namespace {

constexpr size_t kMostLines = 30;
constexpr size_t kMostName = 40, kMostPath = 40;  // columns
constexpr size_t kMostOthers = 2;                 // components next to the one that is described
constexpr size_t kTableHead = 2;                  // lines: an empty one, the names of its columns
constexpr double kWorthNaming = 0.01, kNearlyAll = 0.9;
constexpr double kMuchExposed = 0.05;  // of the GPUs' time

std::string ranges(const std::vector<int64_t>& numbers) {
  if (numbers.size() == 1) return fmt::format("step {}", numbers[0]);
  const bool dense = numbers.back() - numbers.front() + 1 == std::ssize(numbers);
  return dense ? fmt::format("steps {}-{}", numbers.front(), numbers.back())
               : fmt::format("{} steps in {}-{}", numbers.size(), numbers.front(), numbers.back());
}

std::string plural(size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string job_words(const JobReport& report) {
  const JobReport::Job& job = report.job;
  std::string text = job.name.empty() ? "" : fit(job.name, kMostName) + ": ";
  const size_t present = job.ranks_present.size();
  text += job.ranks_missing.empty() ? plural(present, "rank") : fmt::format("{} of {} ranks", present, job.world_size);
  text += job.hosts.empty() ? ", hosts unknown" : ", " + plural(job.hosts.size(), "node");
  if (!job.steps.empty()) text += ", " + ranges(job.steps);
  // A single one has no step before it that ended: its length hangs on when the ranks began.
  const int64_t step_ns = report.steps.size() < 2 ? 0 : mean_step_ns(report);
  if (step_ns > 0) text += " of " + human_duration(step_ns);
  text += ", " + human_duration(job.window_ns) + (step_ns > 0 ? " recorded" : "");
  if (job.sessions > 1) text += fmt::format(", {} sessions", job.sessions);
  return text + (job.vendor == JobVendor::unknown ? "" : std::string(", ") + to_string(job.vendor));
}

// What was done to the clocks of those that collectives align.
std::string correction_words(const std::set<ClockMethod>& methods) {
  if (methods.count(ClockMethod::line) + methods.count(ClockMethod::bent) > 0) return "offsets and drift corrected";
  return methods.count(ClockMethod::offset) > 0 ? "offsets corrected" : "no correction needed";
}

std::string clock_words(const JobReport& report) {
  size_t aligned = 0;
  int64_t worst = -1;
  std::set<ClockMethod> methods;
  for (const JobReport::Clock& clock : report.clocks) {
    if (!clock.aligned) continue;
    ++aligned;
    worst = std::max(worst, clock.uncertainty_ns);
    methods.insert(clock.method);
  }
  // Where a component is described, the verdict says that others were not compared.
  const size_t components = component_count(report);
  const std::string several = components < 2 ? ""
                                             : fmt::format("{} components{}: ", components,
                                                           leading_island(report) == nullptr ? ", not compared" : "");
  if (aligned == 0 && durations_only(report)) return several + "not recorded; waits rest on durations";
  if (aligned == 0) return several + "as recorded; no collective aligns them";
  const std::string who = aligned == report.clocks.size()
                              ? fmt::format("{} ranks agree", aligned > 2 ? fmt::format("all {}", aligned) : "both")
                              : fmt::format("{} of {} ranks agree", aligned, report.clocks.size());
  const std::string within = worst < 0 ? ", uncertainty unknown" : fmt::format(" within {}", human_duration(worst));
  return several + who + within + "; " + correction_words(methods);
}

// Waiting and transfer as shares of the time in calls, hidden or not.
void add_calls(Lines& lines, const Figures& f, const std::string& whose) {
  if (f.call_ns <= 0 || !f.any_split()) return;
  std::string text = fmt::format("{}{} of the time in collectives, transfer {}", whose,
                                 percent_of(f.wait_ns, f.call_ns), percent_of(f.transfer_ns, f.call_ns));
  if (share(f.unattributed_ns, f.call_ns).value_or(0) >= kWorthNaming) {
    text += fmt::format("; {} could not be split", percent_of(f.unattributed_ns, f.call_ns));
  }
  lines.add_wrapped("Waiting", text);
}

// Where nearly all of much exposed communication blocks, or nothing of it is known, this says nothing.
void add_blocking(Lines& lines, const Figures& f, const std::string& whose) {
  const int64_t all = f.exposed_communication_ns, known = f.blocking_communication_ns + f.coincided_communication_ns;
  if (known == 0 || *share(all, f.total_ns) < kMuchExposed) return;
  if (*share(f.blocking_communication_ns, all) >= kNearlyAll) return;
  std::string text =
      fmt::format("{}{} of exposed communication delays computing, {} delays nothing", whose,
                  percent_of(f.blocking_communication_ns, all), percent_of(f.coincided_communication_ns, all));
  if (*share(all - known, all) >= kWorthNaming) text += fmt::format(", {} not known", percent_of(all - known, all));
  lines.add_wrapped("Blocking", text);
}

void add_efficiency(Lines& lines, const JobReport& report, bool some_missing, const std::string& whose) {
  const JobReport::Efficiency& e = report.efficiency;
  if (e.parallel < 0 || e.load_balance < 0 || report.ranks.size() < 2) return;
  lines.add_wrapped("Efficiency", fmt::format("{}{}: load balance {} x busiest rank {} (POP parallel efficiency{})",
                                              whose, human_percent(e.parallel), human_percent(e.load_balance),
                                              human_percent(e.communication), some_missing ? " of these ranks" : ""));
}

void add_pipeline(Lines& lines, const JobReport& report, const std::string& whose) {
  const JobReport::Pipeline& p = report.pipeline;
  if (p.stages == 0) return;
  std::string text = whose + pipeline_shape_words(p);
  if (p.bubble_share >= 0) text += fmt::format("; bubble {}", human_percent(p.bubble_share));
  if (p.schedule_share >= 0) {
    text += fmt::format(" (schedule {}, uneven stages {})", human_percent(p.schedule_share),
                        human_percent(p.imbalance_share));
  }
  lines.add_wrapped("Pipeline", text);
}

// What is known of ranks that are compared. `whose`: "ranks 0-3: ", where these are not all.
void add_compared(Lines& lines, const JobReport& report, bool some_missing, const std::string& whose) {
  const Figures f = figures_of(report);
  add_calls(lines, f, whose);
  if (f.total_ns > 0) add_blocking(lines, f, whose);
  add_efficiency(lines, report, some_missing, whose);
  const std::string simulated = what_if_words(report, some_missing, !whose.empty());
  if (!simulated.empty()) lines.add_wrapped("Simulated", whose + simulated);
  add_pipeline(lines, report, whose);
}

std::string whose_words(const JobReport::Island& island) {
  return fmt::format("ranks {}: ", human_ranks(island.ranks));
}

void add_job(Lines& lines, const JobReport& report) {
  lines.add_wrapped("Job", job_words(report));
  if (!report.clocks.empty()) lines.add_wrapped("Clocks", clock_words(report));
  if (const Finding* inferred = find_finding(report.diagnostics, kInferredCommunicators); inferred != nullptr) {
    lines.add_wrapped(
        "Groups", fmt::format("{} recognized from calls that end together, unnamed in the traces", inferred->count));
  }
  const bool some_missing = !report.job.ranks_missing.empty();
  const JobReport::Island* const lead = leading_island(report);
  if (lead == nullptr) {
    add_compared(lines, report, some_missing, "");
    return;
  }
  add_compared(lines, report_of(report, *lead), some_missing, whose_words(*lead));
  size_t others = 0;
  for (const JobReport::Island& island : report.islands) {
    if (&island == lead || others++ == kMostOthers) continue;
    const std::string simulated = what_if_words(report_of(report, island), some_missing, true);
    if (!simulated.empty()) lines.add_wrapped("", whose_words(island) + simulated);
  }
}

// What a finding says, with a long path in it shortened.
std::string message_of(const Finding& finding) {
  std::string message = finding.message;
  const size_t at = finding.file.empty() ? std::string::npos : message.find(finding.file);
  if (at != std::string::npos) message.replace(at, finding.file.size(), fit_tail(finding.file, kMostPath));
  return message;
}

// Ranks without a trace and calls that match nothing are in the line on confidence.
std::vector<std::string> warnings_of(const JobReport& report) {
  std::vector<std::string> out;
  if (const Finding* doubt = find_finding(report.diagnostics, kInconclusiveClocks); doubt != nullptr) {
    out.push_back(doubt->message);
  }
  const Finding* other = find_finding(report.diagnostics, kAnotherJob);
  if (other != nullptr && other->severity != Severity::info) out.push_back(other->message);
  std::set<std::string> files;
  const Finding* worst = nullptr;
  for (const Finding& finding : report.diagnostics) {
    if (finding.severity == Severity::info || finding.file.empty() || finding.code == kAnotherJob) continue;
    files.insert(finding.file);
    if (worst == nullptr) worst = &finding;
  }
  if (worst != nullptr) {
    const bool named = worst->message.find(worst->file) != std::string::npos;
    const std::string first = named ? "" : fit_tail(worst->file, kMostPath) + ": ";
    out.push_back(files.size() == 1 ? first + message_of(*worst)
                                    : fmt::format("{} have problems; first: {}{}", plural(files.size(), "file"), first,
                                                  message_of(*worst)));
  }
  return out;
}

void add_verdict(Lines& lines, const JobReport& report) {
  const Verdict verdict = verdict_of(report, figures_of(report));
  lines.add_wrapped("Verdict", verdict.verdict, verdict.severeness >= Severeness::high ? Style::alarm : Style::bold);
  lines.add_wrapped("Why", verdict.why);
  lines.add_wrapped("Next", verdict.next);
  lines.add_wrapped("Confidence", confidence_words(data_quality(report)));
}

}  // namespace
}  // namespace report

std::string terminal_summary(const JobReport& report, const std::string& output, bool color, size_t columns) {
  using namespace report;
  Lines lines(columns), end(columns);
  add_verdict(lines, report);
  lines.push_back({});
  add_job(lines, report);
  Lines late = straggler_table(report, figures_of(report), columns);
  Lines most_wait = collective_table(report, columns);
  const std::vector<std::string> warnings = warnings_of(report);
  if (!warnings.empty() || !output.empty()) end.push_back({});
  for (const std::string& warning : warnings) end.add_wrapped("Warning", warning, Style::warning);
  if (!output.empty()) end.add_path("Report", output);
  while (lines.size() + late.size() + most_wait.size() + end.size() > kMostLines) {
    Lines& longer = late.size() > most_wait.size() ? late : most_wait;
    if (longer.size() <= kTableHead + 1) break;
    longer.pop_back();
  }
  for (const Lines* part : {&late, &most_wait, &end}) lines.append(*part);
  return lines.text(color);
}

std::string summary_elsewhere(const std::string& summary, const std::string& output, size_t columns) {
  const size_t last_line = summary.size() < 2 ? 0 : summary.rfind('\n', summary.size() - 2) + 1;
  report::Lines last(columns);
  last.add_path("Report", output);
  return summary.substr(0, last_line) + last.text(false);
}

}  // namespace skewscope
