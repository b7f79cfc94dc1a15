#include "runs_section.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "history_text.h"
#include "page_parts.h"
#include "src/gather/history/compare_runs.h"

namespace skewscope::gather {
namespace {

// Of the picture, in its own units.
constexpr double kWidth = 600, kHeight = 120, kLeft = 8, kTop = 18, kBottom = 18;

std::string change_text(double relative) {
  return fmt::format("{:.0f} % {}", 100 * std::abs(relative), relative > 0 ? "slower" : "faster");
}

// What is other than in the run before: the time of a step for good, libraries.
std::string changes_text(const std::vector<Run>& runs, size_t at, const double* step) {
  std::vector<std::string> words;
  if (step != nullptr) words.push_back(change_text(*step));
  if (at + 1 < runs.size()) {
    for (const std::string& change : software_changes(runs[at + 1], runs[at])) words.push_back(escaped(change));
  }
  return fmt::format("{}", fmt::join(words, "<br>"));
}

// Mean step times from the oldest run to the newest, from 0 up; a dashed line where they changed for good.
std::string picture(const std::vector<Run>& runs, const std::map<size_t, double>& changes) {
  struct Point {
    const Run* run;
    const double* change;
  };
  std::vector<Point> points;
  int64_t most = 0;
  for (size_t i = runs.size(); i-- > 0;) {
    if (runs[i].outcome.step_ns == 0) continue;
    const auto change = changes.find(i);
    points.push_back({&runs[i], change == changes.end() ? nullptr : &change->second});
    most = std::max(most, runs[i].outcome.step_ns);
  }
  if (points.size() < 2) return "";
  std::string line, marks, dots;
  for (size_t i = 0; i < points.size(); ++i) {
    const double x = kLeft + (kWidth - 2 * kLeft) * static_cast<double>(i) / static_cast<double>(points.size() - 1);
    const double share = static_cast<double>(points[i].run->outcome.step_ns) / static_cast<double>(most);
    const double y = kHeight - kBottom - share * (kHeight - kTop - kBottom);
    line += fmt::format("{:.1f},{:.1f} ", x, y);
    dots += fmt::format("<circle class=\"point\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"><title>{}: {}</title></circle>",
                        x, y, escaped(points[i].run->job), duration_text(points[i].run->outcome.step_ns));
    if (points[i].change == nullptr) continue;
    const bool at_the_end = x > kWidth / 2;
    marks += fmt::format(
        "<line class=\"change\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>"
        "<text class=\"changed\" x=\"{3:.1f}\" y=\"{4}\" text-anchor=\"{5}\">{6}</text>",
        x, kTop, kHeight - kBottom, at_the_end ? x - 4 : x + 4, kHeight - kBottom - 4, at_the_end ? "end" : "start",
        change_text(*points[i].change));
  }
  return fmt::format(
      "<div class=\"wide\"><svg class=\"steps\" viewBox=\"0 0 {0} {1}\" role=\"img\" aria-label=\"Mean time of a step, "
      "from the oldest run "
      "to "
      "the newest\">{2}<polyline class=\"run\" points=\"{3}\"/>{4}<text x=\"{5}\" y=\"12\">mean time of a step, up to "
      "{6}"
      "</text><text x=\"{5}\" y=\"{7}\">{8}</text><text x=\"{9}\" y=\"{7}\" "
      "text-anchor=\"end\">{10}</text></svg></div>\n",
      kWidth, kHeight, marks, line, dots, kLeft, duration_text(most), kHeight - 4,
      time_text(points.front().run->created).substr(0, 10), kWidth - kLeft,
      time_text(points.back().run->created).substr(0, 10));
}

}  // namespace

std::string runs_section(const std::string& series, const std::vector<Run>& runs) {
  if (runs.size() < 2) return "";
  const std::map<size_t, double> changes = changes_of_steps(runs);
  const std::optional<GroupRecord> group = costliest_group(runs);
  std::string section =
      fmt::format("<h2>Runs of {}</h2>\n", escaped(series)) + picture(runs, changes) +
      (group ? "<p>" + escaped(sentence_of(*group)) + "</p>\n" : "") +
      "<div class=\"wide\"><table class=\"cards\"><thead><tr><th>Job</th><th>Begun</th><th class=\"n\">Step</th>"
      "<th>Change</th><th class=\"n\">Efficiency</th><th class=\"n\">Waiting</th>"
      "<th class=\"n\">Could be gained</th><th>Verdict</th></tr></thead><tbody>\n";
  for (size_t i = 0; i < runs.size(); ++i) {
    const ReportOutcome& outcome = runs[i].outcome;
    const auto change = changes.find(i);
    const bool changed = change != changes.end();
    section += fmt::format(
        "<tr{0}><td class=\"name\"><a href=\"/jobs/{1}\">{1}</a></td><td data-of=\"Begun\">{2}</td>"
        "<td class=\"n\" data-of=\"Step\">{3}</td><td class=\"change\" data-of=\"Change\">{4}</td><td class=\"n\" "
        "data-of=\"Efficiency\">{5}</td>"
        "<td class=\"n\" data-of=\"Waiting\">{6}</td><td class=\"n\" data-of=\"Could be gained\">{7}</td>"
        "<td class=\"verdict\">{8}</td></tr>\n",
        changed ? " class=\"changed\"" : "", escaped(runs[i].job), time_text(runs[i].created),
        outcome.step_ns == 0 ? "–" : duration_text(outcome.step_ns),
        changes_text(runs, i, changed ? &change->second : nullptr), percent(outcome.efficiency),
        percent(outcome.waiting), percent(outcome.gain), escaped(runs[i].verdict));
  }
  return section + "</tbody></table></div>\n";
}

}  // namespace skewscope::gather
