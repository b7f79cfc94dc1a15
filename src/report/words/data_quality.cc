// Problem: a verdict is worth what its input is worth, and the reader cannot see the input.
// Rules (good / doubtful / bad): ranks all there / some missing / fewer than half; calls matched, and time in calls
// split into waiting and transfer, at least 99 % / 90 % / less; clocks all aligned with an uncertainty of at most a
// tenth of a call's mean wait / more, or some not aligned / none aligned; findings: none above information / warnings /
// errors.
#include "data_quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "skewscope/base/human_units.h"
#include "src/report/rows/figures.h"
#include "src/report/rows/islands.h"
#include "src/report/rows/own_findings.h"

namespace skewscope::report {

bool durations_only(const JobReport& report) {
  return !report.clocks.empty() && std::all_of(report.clocks.begin(), report.clocks.end(), [](const auto& clock) {
    return clock.method == ClockMethod::durations;
  });
}

namespace {

std::string counted(int64_t number, const char* noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

constexpr double kGoodShare = 0.99, kDoubtfulShare = 0.9;
// "all 8", "2 of 2".
std::string all_of(size_t count) {
  return count > 2 ? fmt::format("all {}", count) : fmt::format("{} of {}", count, count);
}

constexpr const char* kFindings = "Findings";
constexpr int64_t kGoodClocks = 10;  // a call's mean wait in uncertainties

Trust trust_of(double share) {
  if (share >= kGoodShare) return Trust::good;
  return share >= kDoubtfulShare ? Trust::doubtful : Trust::bad;
}

QualityPoint ranks_point(const JobReport::Job& job) {
  const size_t present = job.ranks_present.size(), all = present + job.ranks_missing.size();
  if (job.ranks_missing.empty()) return {"Ranks", all_of(all), Trust::good};
  return {"Ranks", fmt::format("{} of {}, no trace of {}", present, all, human_ranks(job.ranks_missing)),
          2 * present < all ? Trust::bad : Trust::doubtful};
}

QualityPoint matching_point(const JobReport::Matching& m) {
  const double matched = share(m.matched, m.calls).value_or(1);
  std::string value = fmt::format("{} of {} calls", human_percent(matched), m.calls);
  if (m.incomplete_instances > 0)
    value += fmt::format(", {} {} a rank: {} waiting is at least this", counted(m.incomplete_instances, "collective"),
                         m.incomplete_instances == 1 ? "lacks" : "lack", m.incomplete_instances == 1 ? "its" : "their");
  const Trust trust = trust_of(matched);
  return {"Matched", value, m.incomplete_instances > 0 ? std::max(trust, Trust::doubtful) : trust};
}

QualityPoint split_point(const Figures& f) {
  const double split = share(f.wait_ns + f.transfer_ns, f.call_ns).value_or(1);
  return {"Split", human_percent(split) + " of the time in collectives", trust_of(split)};
}

QualityPoint clocks_point(const JobReport& report, const Figures& f) {
  size_t aligned = 0;
  int64_t worst_ns = -1;
  for (const JobReport::Clock& clock : report.clocks) {
    aligned += clock.aligned ? 1 : 0;
    if (clock.aligned) worst_ns = std::max(worst_ns, clock.uncertainty_ns);
  }
  if (aligned == 0 && durations_only(report))
    return {"Clocks", "not recorded, waits rest on durations", Trust::doubtful};
  if (aligned == 0) return {"Clocks", "as recorded, no collective aligns them", Trust::bad};
  std::string value =
      aligned == report.clocks.size() ? all_of(aligned) : fmt::format("{} of {}", aligned, report.clocks.size());
  value += worst_ns < 0 ? " aligned, uncertainty unknown" : fmt::format(" aligned within {}", human_duration(worst_ns));
  if (const size_t components = component_count(report); components > 1) {
    value += fmt::format(", {} components, not compared", components);
  }
  const bool fine = worst_ns >= 0 && worst_ns * kGoodClocks * f.calls <= f.wait_ns && aligned == report.clocks.size() &&
                    find_finding(report.diagnostics, kInconclusiveClocks) == nullptr;
  if (worst_ns >= 0 && !fine && f.calls > 0) {
    value += fmt::format(", while calls wait {} on average", human_duration(f.wait_ns / f.calls));
  }
  return {"Clocks", value, fine ? Trust::good : Trust::doubtful};
}

QualityPoint findings_point(const Findings& findings) {
  const auto count = [&](Severity severity) {
    return std::count_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.severity == severity; });
  };
  const auto errors = count(Severity::error), warnings = count(Severity::warning);
  const Trust trust = errors > 0 ? Trust::bad : warnings > 0 ? Trust::doubtful : Trust::good;
  return {
      kFindings,
      counted(errors, "error") + ", " + counted(warnings, "warning") + ", " + counted(count(Severity::info), "note"),
      trust};
}

}  // namespace

const char* to_string(Trust trust) {
  constexpr const char* kNames[] = {"good", "doubtful", "bad"};
  return kNames[static_cast<size_t>(trust)];
}

std::vector<QualityPoint> data_quality(const JobReport& report) {
  std::vector<QualityPoint> points = {ranks_point(report.job)};
  if (report.matching.calls > 0) {
    points.push_back(matching_point(report.matching));
    const Figures figures = figures_of(report);
    points.push_back(split_point(figures));
    points.push_back(clocks_point(report, figures));
  }
  points.push_back(findings_point(report.diagnostics));
  return points;
}

std::string confidence_words(const std::vector<QualityPoint>& points) {
  const std::string confidence = confidence_of(points);
  std::string words;
  for (const QualityPoint& point : points) {
    if (confidence == "high" ? point.label == kFindings : point.trust == Trust::good) continue;
    std::string label = point.label;
    label.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(label.front())));
    words += fmt::format("{} {} {}", words.empty() ? ":" : ";", label, point.value);
  }
  return confidence + words;
}

const char* confidence_of(const std::vector<QualityPoint>& points) {
  Trust worst = Trust::good;
  for (const QualityPoint& point : points) worst = std::max(worst, point.trust);
  constexpr const char* kWords[] = {"high", "medium", "low"};
  return kWords[static_cast<size_t>(worst)];
}

}  // namespace skewscope::report
