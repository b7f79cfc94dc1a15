#include "summary_sheet.h"

#include <fmt/format.h>

#include <algorithm>

#include "skewscope/base/human_units.h"
#include "src/report/rows/figures.h"
#include "src/report/rows/step_rows.h"
#include "src/report/words/data_quality.h"
#include "src/report/words/verdict_row.h"

namespace skewscope::report {
namespace {

constexpr size_t kSheetLosses = 10, kSheetStragglers = 10;

std::string in_words(GainBound bound) {
  return bound == GainBound::at_least ? "at least " : bound == GainBound::at_most ? "at most " : "";
}

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

void add_verdict(const JobReport& report, SummarySheet& sheet) {
  const VerdictRow verdict = verdict_row(report, confidence_of(data_quality(report)));
  sheet.push_back({{"Verdict", verdict.sentence}});
  sheet.push_back({{"Why", verdict.why}});
  sheet.push_back({{"Next", verdict.next}});
  sheet.push_back({{"Severity", to_string(verdict.severity)}});
  sheet.push_back({{"Confidence", verdict.confidence}});
  if (!verdict.gain_bound) return;
  sheet.push_back({{"Gain", fmt::format("{}{}, {}", in_words(*verdict.gain_bound), human_percent(verdict.gain_share),
                                        human_duration(verdict.gain_ns))}});
}

void add_job(const JobReport& report, SummarySheet& sheet) {
  const JobReport::Job& job = report.job;
  sheet.push_back({{"Job", job.name}, true});
  sheet.push_back({{"Ranks", job.world_size > 0 ? fmt::format("{} of {}", job.ranks_present.size(), job.world_size)
                                                : fmt::format("{}", job.ranks_present.size())}});
  sheet.push_back({{"Hosts", job.hosts.empty() ? "unknown" : fmt::format("{}", fmt::join(job.hosts, " "))}});
  sheet.push_back({{"Recorded", human_duration(job.window_ns)}});
  sheet.push_back({{"Sessions", fmt::format("{}", job.sessions)}});
  sheet.push_back({{"Steps", fmt::format("{}", job.steps.size())}});
  if (const int64_t step_ns = mean_step_ns(report); step_ns > 0) sheet.push_back({{"Step", human_duration(step_ns)}});
}

void add_times(const JobReport& report, SummarySheet& sheet) {
  const Figures f = figures_of(report);
  const bool on_gpus = f.total_ns > 0;
  const int64_t whole_ns = on_gpus ? f.total_ns : f.call_ns;
  sheet.push_back({{on_gpus ? "GPU time of all ranks" : "Communication time of all ranks", "Time", "Share"}, true});
  const auto add = [&](const char* name, int64_t ns) {
    sheet.push_back({{name, human_duration(ns), percent_of(ns, whole_ns)}});
  };
  if (!on_gpus) {
    add("waiting", f.wait_ns);
    add("transfer", f.transfer_ns);
    add("not split", f.unattributed_ns);
    return;
  }
  add("computing", f.compute_ns);
  add("exposed waiting", f.exposed_wait_ns);
  add("exposed transfer", f.exposed_transfer_ns);
  add("exposed, not split", f.exposed_communication_ns - f.exposed_wait_ns - f.exposed_transfer_ns);
  add("exposed copies", f.exposed_memcpy_ns);
  add("idle", f.idle_ns);
}

void add_efficiency(const JobReport::Efficiency& e, SummarySheet& sheet) {
  const std::pair<const char*, double> figures[] = {
      {"parallel", e.parallel},           {"load balance", e.load_balance}, {"communication", e.communication},
      {"serialization", e.serialization}, {"transfer", e.transfer},         {"GPU communication", e.gpu_communication},
      {"orchestration", e.orchestration}};
  SummarySheet known;
  for (const auto& [name, value] : figures) {
    if (value >= 0) known.push_back({{name, human_percent(value)}});
  }
  if (known.empty()) return;
  sheet.push_back({{"Efficiency (POP, TALP)", "Share"}, true});
  sheet.insert(sheet.end(), known.begin(), known.end());
}

void add_losses(const JobReport& report, SummarySheet& sheet) {
  if (report.losses.empty()) return;
  sheet.push_back({{"Losses", "Gain", "Share of the job", "What to do"}, true});
  for (size_t i = 0; i < std::min(report.losses.size(), kSheetLosses); ++i) {
    const JobReport::Loss& loss = report.losses[i];
    sheet.push_back({{spaced(to_string(loss.kind)), in_words(loss.bound) + human_duration(loss.gain_ns),
                      human_percent(loss.gain_share), loss.next}});
  }
}

void add_stragglers(const JobReport& report, SummarySheet& sheet) {
  if (report.stragglers.empty()) return;
  sheet.push_back({{"Stragglers", "Waiting that they cause", "Last to arrive", "Cause"}, true});
  for (size_t i = 0; i < std::min(report.stragglers.size(), kSheetStragglers); ++i) {
    const JobReport::Straggler& s = report.stragglers[i];
    sheet.push_back(
        {{fmt::format("rank {}", s.rank), human_duration(s.wait_originated_ns),
          fmt::format("{} of {}", s.late_count, s.late_candidates), s.cause ? spaced(to_string(*s.cause)) : ""}});
  }
}

}  // namespace

SummarySheet summary_sheet(const JobReport& report) {
  SummarySheet sheet;
  add_verdict(report, sheet);
  add_job(report, sheet);
  add_times(report, sheet);
  add_efficiency(report.efficiency, sheet);
  add_losses(report, sheet);
  add_stragglers(report, sheet);
  return sheet;
}

SummarySheet summary_sheet(const std::string& summary) {
  SummarySheet sheet;
  for (size_t at = 0; at < summary.size();) {
    const size_t end = std::min(summary.find('\n', at), summary.size());
    sheet.push_back({{summary.substr(at, end - at)}});
    at = end + 1;
  }
  return sheet;
}

}  // namespace skewscope::report
