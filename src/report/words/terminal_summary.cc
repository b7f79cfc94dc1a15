// The summary in at most 25 lines of 80 columns:
//   verdict 3, why 4, next 3, job 10, waits 1 + 3, collectives 1 + 3, 4 blank lines, warnings 3, path 1 at most.
// All of it would be more: warnings give way to two rows of each table, then the tables' rows do, and at worst a table.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lines.h"
#include "skewscope/base/human_units.h"
#include "skewscope/base/text_columns.h"
#include "skewscope/report.h"
#include "src/report/rows/figures.h"
#include "src/report/rows/islands.h"
#include "src/report/rows/operation_rows.h"
#include "src/report/rows/own_findings.h"
#include "src/report/rows/pipeline_words.h"
#include "src/report/rows/step_rows.h"
#include "verdict.h"

namespace skewscope {
namespace report {
namespace {

constexpr size_t kLines = 25, kTop = 3, kMostWarnings = 3;
constexpr size_t kMostOthers = 2;  // components in addition to the one that is reported
constexpr size_t kTableHead = 2;   // lines: an empty one, the names of its columns
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
  std::string text = job.name.empty() ? "" : fit(job.name, 20) + ": ";
  const size_t present = job.ranks_present.size();
  text += job.ranks_missing.empty() ? plural(present, "rank") : fmt::format("{} of {} ranks", present, job.world_size);
  text += job.hosts.empty() ? ", hosts unknown" : ", " + plural(job.hosts.size(), "node");
  if (!job.steps.empty()) text += ", " + ranges(job.steps);
  // A single one has no step before it that ended: its length hangs on when the ranks began.
  const int64_t step_ns = report.steps.size() < 2 ? 0 : mean_step_ns(report);
  if (step_ns > 0) text += " of " + human_duration(step_ns);
  text += ", " + human_duration(job.window_ns) + (step_ns > 0 ? " recorded" : "");
  if (job.sessions > 1) text += fmt::format(", {} sessions", job.sessions);
  return job.vendor == JobVendor::unknown ? text : fmt::format("{}, {}", text, to_string(job.vendor));
}

std::string uncompared_words(const JobReport& report) {
  const size_t components = component_count(report);
  if (components < 2) return "";
  // The verdict says the rest.
  return fmt::format("{} components{}: ", components, leading_island(report) == nullptr ? ", not compared" : "");
}

std::string clock_words(const JobReport& report) {
  size_t aligned = 0;
  int64_t worst = -1;
  std::set<std::string> methods;
  for (const JobReport::Clock& clock : report.clocks) {
    aligned += clock.aligned ? 1 : 0;
    if (clock.aligned) worst = std::max(worst, clock.uncertainty_ns);
    methods.insert(to_string(clock.method));
  }
  const std::string how = fmt::format("{}", fmt::join(methods, ", "));
  if (aligned == 0) return uncompared_words(report) + fmt::format("as recorded, not tied by collectives ({})", how);
  std::string text = uncompared_words(report);
  const char* const by = leading_island(report) == nullptr ? " by collectives" : "";
  text += fmt::format("{} of {} tied{} ({})", aligned, report.clocks.size(), by, how);
  text += worst < 0 ? ", error unknown" : fmt::format(", error +-{} at most", human_duration(worst));
  return text;
}

// Shares that sum to the whole but for what is below 1 % of copies and of what could not be split.
void add_gpu_time(Lines& lines, const Figures& f, const std::string& whose) {
  if (f.total_ns <= 0) return;
  const auto percent = [&](int64_t part) { return human_percent(*share(part, f.total_ns)); };
  const size_t rows = whose.empty() ? 1 : 2;
  const std::string computing = fmt::format("{}computing {}, exposed ", whose, percent(f.compute_ns));
  const std::string idle = fmt::format("idle {}", percent(f.idle_ns));
  if (!f.any_split()) {
    std::string all = fmt::format("communication {}, ", percent(f.exposed_communication_ns));
    if (*share(f.exposed_memcpy_ns, f.total_ns) >= kWorthNaming) {
      all += fmt::format("copies {}, ", percent(f.exposed_memcpy_ns));
    }
    add_wrapped(lines, "GPU time", computing + all + idle, 1);
    return;
  }
  const std::string split =
      fmt::format("wait {}, exposed transfer {}, ", percent(f.exposed_wait_ns), percent(f.exposed_transfer_ns));
  std::string more;
  const auto add_exposed = [&](const char* what, int64_t part) {
    if (*share(part, f.total_ns) >= kWorthNaming) more += fmt::format("exposed {} {}, ", what, percent(part));
  };
  add_exposed("unsplit", f.exposed_communication_ns - f.exposed_wait_ns - f.exposed_transfer_ns);
  add_exposed("copies", f.exposed_memcpy_ns);
  add_wrapped(lines, "GPU time", computing + split + (more.empty() ? idle : ""), rows);
  if (!more.empty()) add_wrapped(lines, "", more + idle, 1);
}

// Where nearly all of much exposed communication blocks, or nothing of it is known, this says nothing.
void add_blocking(Lines& lines, const Figures& f, const std::string& whose) {
  const int64_t all = f.exposed_communication_ns, known = f.blocking_communication_ns + f.coincided_communication_ns;
  if (known == 0 || *share(all, f.total_ns) < kMuchExposed) return;
  if (*share(f.blocking_communication_ns, all) >= kNearlyAll) return;
  std::string text =
      fmt::format("{}{} of exposed communication, {} only coincides", whose,
                  percent_of(f.blocking_communication_ns, all), percent_of(f.coincided_communication_ns, all));
  if (*share(all - known, all) >= kWorthNaming) text += fmt::format(", {} not known", percent_of(all - known, all));
  add_wrapped(lines, "Blocking", text, 1);
}

// By how much a step, or the job, would be shorter. What is replayed is all that the GPUs ran: where much of that is in
// no step, a share of it is none of a step.
void add_what_if(Lines& lines, const JobReport& report, bool some_missing, const char* label,
                 const std::string& whose) {
  const JobReport::WhatIf& w = report.what_if;
  if (w.replayed_ns <= 0 || (w.balanced_ns < 0 && w.no_transfer_ns < 0)) return;
  const auto saved = [&](int64_t ns) {
    return human_percent(share(std::max<int64_t>(0, w.replayed_ns - ns), w.replayed_ns).value_or(0));
  };
  int64_t in_steps_ns = 0;
  for (const JobReport::StepRow& step : report.steps) in_steps_ns += step.duration_ns;
  const bool several = report.steps.size() > 1;
  const int64_t all_ns = several ? w.replayed_ns : report.job.window_ns;
  const int64_t told_ns = several ? in_steps_ns : w.replayed_ns;
  const bool nearly_all = static_cast<double>(told_ns) >= kNearlyAll * static_cast<double>(all_ns);
  const int64_t step_ns = several ? mean_step_ns(report) : w.replayed_ns / std::max<int64_t>(1, w.steps);
  const std::string whole = w.steps == 0 || some_missing ? ""
                            : nearly_all                 ? fmt::format("step {}, ", human_duration(step_ns))
                                         : fmt::format("{} of GPU work, ", human_duration(w.replayed_ns));
  std::vector<std::string> changes;
  if (w.balanced_ns >= 0 && !whose.empty()) {
    changes.push_back(fmt::format("at peers' pace -{}", saved(w.balanced_ns)));
  } else if (w.balanced_ns >= 0) {
    const char* const who = some_missing ? "these ranks" : "all";
    changes.push_back(fmt::format("{} at their peers' pace: -{}", who, saved(w.balanced_ns)));
  }
  const char* const colon = whose.empty() ? " time:" : "";
  if (w.no_transfer_ns >= 0) changes.push_back(fmt::format("no transfer{} -{}", colon, saved(w.no_transfer_ns)));
  const std::string text = fmt::format("{}{}{}", whose, whole, fmt::join(changes, ", "));
  add_wrapped(lines, label, text, 1);
  if (*label == '\0') return;  // of a component in addition to the one that is reported
  const bool known = w.even_experts_ns >= 0;
  if (known && share(w.replayed_ns - w.even_experts_ns, w.replayed_ns).value_or(0) >= kWorthNaming) {
    add_wrapped(lines, "", fmt::format("uneven experts evened out: -{}", saved(w.even_experts_ns)), 1);
  }
  if (const std::string hiding = hiding_words(w); !hiding.empty()) add_wrapped(lines, "", hiding, 1);
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
  add_wrapped(lines, "Pipeline", text, 2);
}

// Adds what is known of ranks that are compared. `whose`: "ranks 0-3: ", where these are not all.
void add_compared(Lines& lines, const JobReport& report, const Figures& f, bool some_missing,
                  const std::string& whose) {
  add_gpu_time(lines, f, whose);
  add_blocking(lines, f, whose);
  const JobReport::Efficiency& e = report.efficiency;
  if (e.parallel < 0 || e.load_balance < 0 || report.ranks.size() < 2) return;
  add_wrapped(lines, "POP",
              fmt::format("{}{}efficiency {:.2f} = load balance {:.2f} x busiest rank {:.2f}", whose,
                          !whose.empty() ? ""
                          : some_missing ? "these ranks: "
                                         : "parallel ",
                          e.parallel, e.load_balance, e.communication),
              1);
}

void add_job(Lines& lines, const JobReport& report, const Figures& f) {
  add_wrapped(lines, "Job", job_words(report), 2);
  if (!report.clocks.empty()) add_wrapped(lines, "Clocks", clock_words(report), 2);
  if (const Finding* inferred = find_finding(report.diagnostics, kInferredCommunicators); inferred != nullptr) {
    add_wrapped(lines, "Groups",
                fmt::format("inferred from ends that agree: {} (their calls name none)", inferred->count), 1);
  }
  const bool some_missing = !report.job.ranks_missing.empty();
  const JobReport::Island* const lead = leading_island(report);
  if (lead == nullptr) {
    add_compared(lines, report, f, some_missing, "");
    add_what_if(lines, report, some_missing, "What if", "");
    add_pipeline(lines, report, "");
    return;
  }
  const auto whose = [](const JobReport::Island& island) {
    return fmt::format("ranks {}: ", human_ranks(island.ranks));
  };
  const JobReport told = report_of(report, *lead);
  add_compared(lines, told, figures_of(told), some_missing, whose(*lead));
  add_what_if(lines, told, some_missing, "What if", whose(*lead));
  add_pipeline(lines, told, whose(*lead));
  size_t others = 0;
  for (const JobReport::Island& island : report.islands) {
    if (&island == lead || others++ == kMostOthers) continue;
    add_what_if(lines, report_of(report, island), some_missing, "", whose(island));
  }
}

std::string cause_words(const JobReport::Straggler& s) {
  if (!s.cause) return "-";
  std::string words = to_string(*s.cause);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words + (s.standing == Standing::cause ? "" : "?");
}

// All wait of the ranks of each island, by its first component.
std::map<int32_t, int64_t> waits_of_components(const JobReport& report) {
  std::map<int32_t, int64_t> waits;
  for (const JobReport::Island& island : report.islands) {
    int64_t& wait_ns = waits[island.component];
    for (const JobReport::RankRow& row : report.ranks) {
      if (std::binary_search(island.ranks.begin(), island.ranks.end(), row.rank)) wait_ns += row.wait_ns;
    }
  }
  return waits;
}

// Causes before others, of each those with the largest share; the ones chosen in the order of what is shown.
template <class ShareOf>
std::vector<JobReport::Straggler> most_late(std::vector<JobReport::Straggler> all, const ShareOf& share_of) {
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    return std::make_pair(a.standing == Standing::cause, share_of(a)) >
           std::make_pair(b.standing == Standing::cause, share_of(b));
  });
  all.resize(std::min(kTop, all.size()));
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return share_of(a) > share_of(b); });
  return all;
}

// Where waits began comes first; "charged" is what direct blame says: who arrived last.
void add_stragglers(Lines& lines, const JobReport& report, const Figures& f) {
  if (report.stragglers.empty()) return;
  const std::map<int32_t, int64_t> wait_by_component = waits_of_components(report);
  const auto wait_ns = [&](const JobReport::Straggler& s) {
    const auto own = wait_by_component.find(s.component);
    return own == wait_by_component.end() ? f.wait_ns : own->second;
  };
  lines.push_back({});
  lines.push_back({pad("Wait began", 13) + pad("host", 11) + pad("share", 7) + pad("charged", 9) + pad("last in", 10) +
                       pad("cause", 20) + "pattern",
                   Style::bold});
  const auto share_of = [&](const JobReport::Straggler& s) {
    return share(s.wait_originated_ns, wait_ns(s)).value_or(0);
  };
  for (const JobReport::Straggler& s : most_late(report.stragglers, share_of)) {
    const auto row =
        std::find_if(report.ranks.begin(), report.ranks.end(), [&](const auto& r) { return r.rank == s.rank; });
    const std::string host = row == report.ranks.end() || row->host.empty() ? "-" : fit(row->host, 10);
    const auto percent = [&](int64_t ns) { return human_percent(share(ns, wait_ns(s)).value_or(0)); };
    const std::string last = s.late_candidates == 0 ? "-" : fmt::format("{}/{}", s.late_count, s.late_candidates);
    lines.push_back({pad(fmt::format("  rank {}", s.rank), 13) + pad(host, 11) + pad(percent(s.wait_originated_ns), 7) +
                     pad(percent(s.wait_caused_ns), 9) + pad(last, 10) + pad(cause_words(s), 20) +
                     (s.pattern ? to_string(*s.pattern) : "-")});
  }
}

// "all_reduce #3 default_pg": a description in prose says less than the name.
std::string collective_words(const JobReport& report, const JobReport::CollectiveRow& row) {
  std::string words = fmt::format("  {} #{}", to_string(row.op), row.communicator);
  for (const JobReport::CommunicatorRow& c : report.communicators) {
    const bool prose = c.desc.empty() || c.desc.find(' ') != std::string::npos;
    if (c.id == row.communicator) words += " " + (prose ? c.name : c.desc);
  }
  return words;
}

void add_collectives(Lines& lines, const JobReport& report) {
  std::vector<const JobReport::CollectiveRow*> rows;
  for (const JobReport::CollectiveRow& row : report.collectives) {
    if (row.wait_ns.sum + row.transfer_ns.sum > 0) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return a->wait_ns.sum > b->wait_ns.sum; });
  rows.resize(std::min(kTop, rows.size()));
  if (rows.empty()) return;
  lines.push_back({});
  lines.push_back({pad("Most wait in", 30) + pad_left("size", 9) + pad_left("count", 9) + pad_left("wait", 10) +
                       pad_left("transfer", 10) + pad_left("bus GB/s", 10),
                   Style::bold});
  for (const auto* row : rows) {
    const Statistics& bus = row->bus_bandwidth_gb_per_s;
    lines.push_back(
        {pad(collective_words(report, *row), 30) + pad_left(row->bytes > 0 ? human_bytes(row->bytes) : "-", 9) +
         pad_left(fmt::format("{}", row->count), 9) + pad_left(human_duration(std::llround(row->wait_ns.sum)), 10) +
         pad_left(human_duration(std::llround(row->transfer_ns.sum)), 10) +
         pad_left(bus.count > 0 ? human_number(bus.median) : "-", 10)});
  }
}

std::vector<std::string> warnings_of(const JobReport& report, const Figures& f) {
  std::vector<std::string> out;
  const JobReport::Job& job = report.job;
  if (const Finding* doubt = find_finding(report.diagnostics, kInconclusiveClocks); doubt != nullptr) {
    out.push_back(doubt->message);
  }
  const Finding* other = find_finding(report.diagnostics, kAnotherJob);
  if (other != nullptr && other->severity != Severity::info) out.push_back(other->message);
  if (!job.ranks_missing.empty()) {
    out.push_back(fmt::format("{} of {} ranks have no trace: {}", job.ranks_missing.size(), job.world_size,
                              human_ranks(job.ranks_missing)));
  }
  std::string counts;
  if (const auto& m = report.matching; m.unmatched > 0) {
    counts = fmt::format("{} of {} calls unmatched", m.unmatched, m.calls);
  }
  if (const int64_t incomplete = report.matching.incomplete_instances; incomplete > 0) {
    counts += fmt::format("{}{} of {} collectives incomplete (lower bounds)", counts.empty() ? "" : "; ", incomplete,
                          f.instances);
  }
  if (!counts.empty()) out.push_back(counts);
  std::set<std::string> files;
  const Finding* worst = nullptr;
  for (const Finding& finding : report.diagnostics) {
    if (finding.severity == Severity::info || finding.file.empty() || finding.code == kAnotherJob) continue;
    files.insert(finding.file);
    if (worst == nullptr) worst = &finding;
  }
  if (worst != nullptr) {
    out.push_back(fmt::format("{} with problems, first: {}", plural(files.size(), "file"), worst->message));
  }
  out.resize(std::min(out.size(), kMostWarnings));
  return out;
}

// The last one.
Line report_line(const std::string& output) { return {pad("Report", kLabel) + fit_tail(output, kColumns - kLabel)}; }

}  // namespace
}  // namespace report

std::string terminal_summary(const JobReport& job_report, const std::string& output, bool color) {
  using namespace report;
  const Figures figures = figures_of(job_report);
  const Verdict verdict = verdict_of(job_report, figures);
  Lines lines;
  add_wrapped(lines, "Verdict", verdict.verdict, 3,
              verdict.severeness >= Severeness::high ? Style::alarm : Style::bold);
  add_wrapped(lines, "Why", verdict.why, 4);
  add_wrapped(lines, "Next", verdict.next, 3);
  lines.push_back({});
  add_job(lines, job_report, figures);
  Lines late, most_wait, end;
  add_stragglers(late, job_report, figures);
  add_collectives(most_wait, job_report);
  const std::vector<std::string> warnings = warnings_of(job_report, figures);
  if (!warnings.empty() || !output.empty()) end.push_back({});
  const size_t tables = std::min(late.size(), kTableHead + 2) + std::min(most_wait.size(), kTableHead + 2);
  const size_t room = kLines - std::min(kLines, lines.size() + tables + end.size() + warnings.size() + 1);
  for (const std::string& warning : warnings) {
    add_wrapped(end, "Warning", warning, room >= warnings.size() ? 2 : 1, Style::warning);
  }
  if (!output.empty()) end.push_back(report_line(output));
  while (lines.size() + late.size() + most_wait.size() + end.size() > kLines) {
    (late.size() > most_wait.size() ? late : most_wait).pop_back();
  }
  for (Lines* table : {&late, &most_wait}) {
    if (table->size() <= kTableHead) table->clear();
  }
  for (const Lines* part : {&late, &most_wait, &end}) lines.insert(lines.end(), part->begin(), part->end());
  return text_of(lines, color);
}

std::string summary_elsewhere(const std::string& summary, const std::string& output) {
  const size_t last_line = summary.size() < 2 ? 0 : summary.rfind('\n', summary.size() - 2) + 1;
  return summary.substr(0, last_line) + report::text_of(report::Lines{report::report_line(output)}, false);
}

}  // namespace skewscope
