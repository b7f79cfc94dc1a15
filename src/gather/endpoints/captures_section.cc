#include "captures_section.h"

#include <fmt/format.h>

#include "page_parts.h"
#include "skewscope/gather/report_folder.h"
#include "src/gather/history/take_report.h"
#include "src/gather/kept/aging.h"
#include "src/gather/kept/verdict.h"

namespace skewscope::gather {
namespace {

Time recorded_at(const ReportOutcome& outcome) {
  return Time(std::chrono::duration_cast<std::chrono::seconds>(std::chrono::nanoseconds(outcome.recorded_ns)));
}

}  // namespace

std::vector<ReportedCapture> captures_with_reports(const Store& store, const std::string& job) {
  std::vector<ReportedCapture> out;
  for (const int capture : store.reported_captures(job)) {
    const std::string folder = report_of_capture(capture) + "/";
    auto outcome = outcome_in(store, job, 0, folder + "outcome.json");
    if (outcome) out.push_back({capture, verdict_in(store, job, folder + "summary.txt"), std::move(*outcome)});
  }
  return out;
}

std::string captures_section(const JobState& job, const std::vector<ReportedCapture>& captures) {
  if (captures.empty()) return "";
  std::string section =
      "<h2 id=\"captures\">Captures</h2>\n<div class=\"wide\"><table class=\"cards\"><thead><tr>"
      "<th class=\"n\">Capture</th><th>Recorded</th><th class=\"n\">Ranks</th><th class=\"n\">Steps</th>"
      "<th class=\"n\">Step</th><th class=\"n\">Waiting</th><th>Verdict</th></tr></thead><tbody>\n";
  for (const ReportedCapture& one : captures) {
    const ReportOutcome& outcome = one.outcome;
    section += fmt::format(
        "<tr><td class=\"n\" data-of=\"Capture\"><a href=\"/v1/jobs/{0}/captures/{1}/report.html\">{1}</a></td>"
        "<td data-of=\"Recorded\">{2}</td><td class=\"n\" data-of=\"Ranks\">{3}</td>"
        "<td class=\"n\" data-of=\"Steps\">{4}</td><td class=\"n\" data-of=\"Step\">{5}</td>"
        "<td class=\"n\" data-of=\"Waiting\">{6}</td><td class=\"verdict\">{7}</td></tr>\n",
        escaped(job.name), one.capture, time_text(recorded_at(outcome)), outcome.ranks, outcome.steps,
        outcome.step_ns == 0 ? "–" : duration_text(outcome.step_ns), percent(outcome.waiting), escaped(one.verdict));
  }
  section +=
      "</tbody></table></div>\n<p>Each of these captures has a report of its own. The job's report joins captures that "
      "follow one another in time; where two cover the same time, it is of the files with more collective calls.</p>\n";
  const auto reported = static_cast<int>(captures.size());
  if (reported < job.captures) {
    section += fmt::format(
        "<p>Of {} captures, {} {} no report here: the traces have not come, others are newer, or "
        "<a href=\"/v1/jobs/{}/report.log\">the log</a> says why.</p>\n",
        job.captures, job.captures - reported, job.captures - reported == 1 ? "has" : "have", escaped(job.name));
  }
  return section;
}

nlohmann::json captures_json(const std::vector<ReportedCapture>& captures) {
  using nlohmann::json;
  json out = json::array();
  for (const ReportedCapture& one : captures) {
    const ReportOutcome& outcome = one.outcome;
    const bool dated = outcome.recorded_ns > 0;
    out.push_back({{"capture", one.capture},
                   {"ranks", outcome.ranks},
                   {"recorded", dated ? json(utc_text(recorded_at(outcome))) : json()},
                   {"steps", outcome.steps},
                   {"step_ns", outcome.step_ns == 0 ? json() : json(outcome.step_ns)},
                   {"waiting", outcome.waiting < 0 ? json() : json(outcome.waiting)},
                   {"verdict", one.verdict}});
  }
  return out;
}

}  // namespace skewscope::gather
