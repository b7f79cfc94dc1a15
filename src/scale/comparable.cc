// Problem: two lengths of a step compare only where both are lengths of the same thing.
// Idea: a report says what its steps are (what the GPUs ran, what hosts ran, none); where that differs, every figure
// per step differs by definition, and the comparison is refused. What a rank launches in a step tells whether both ran
// the same program: its collectives follow from how the model is split, so that other counts or operations are another
// program or another split, which is a warning; its kernels may be fewer because they were fused, which is often what
// is compared, and so an information. Jobs of different size split the model otherwise. Counts are medians over the
// steps, for a program may do more now and then (a validation, a checkpoint).
#include "comparable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace skewscope::scale {
namespace {

constexpr double kSameCollectives = 0.05, kSameOperations = 0.1, kSameRows = 0.1;

bool of_older_version(const JobReport& report) {
  return !report.steps.empty() && report.job.step_basis == StepBasis::none;
}

std::string basis_words(const JobReport& report) {
  if (report.steps.empty()) return "has no steps (no ProfilerStep is recorded)";
  if (of_older_version(report)) {
    return "is a report of an older skewscope, whose steps are host windows (make it again)";
  }
  return report.job.step_basis == StepBasis::gpu ? "has steps as its GPUs ran them"
                                                 : "has no GPU and steps as its hosts ran them";
}

bool differ(double a, double b, double share) { return std::fabs(a - b) > share * std::max(a, b); }

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// What part of the collectives each operation is.
std::map<std::string, double> operations_of(const JobReport& report) {
  std::map<std::string, double> shares;
  double all = 0;
  for (const JobReport::CollectiveRow& row : report.collectives) {
    shares[to_string(row.op)] += static_cast<double>(row.count);
    all += static_cast<double>(row.count);
  }
  for (auto& [op, share] : shares) share /= all;
  return shares;
}

// The part of one run's collectives that the other lacks: 0 alike, 1 nothing in common.
double apart(const std::map<std::string, double>& a, const std::map<std::string, double>& b) {
  if (a.empty() || b.empty()) return 0;
  double common = 0;
  for (const auto& [op, share] : a) {
    const auto other = b.find(op);
    if (other != b.end()) common += std::min(share, other->second);
  }
  return 1 - common;
}

std::string most_words(const std::map<std::string, double>& operations) {
  const auto most = std::max_element(operations.begin(), operations.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format("{:.0f} % {}", 100 * most->second, most->first);
}

// By one rank in a step, in the middle of the steps.
struct Launched {
  double gpu_rows = 0, collectives = 0;
};

Launched launched_per_step(const JobReport& report) {
  std::vector<double> rows, collectives;
  for (const JobReport::StepRow* step : whole_steps(report)) {
    const double ranks = std::max(1, step->ranks);
    rows.push_back(static_cast<double>(step->gpu_rows) / ranks);
    collectives.push_back(static_cast<double>(step->collectives) / ranks);
  }
  return {median(std::move(rows)), median(std::move(collectives))};
}

}  // namespace

Result<Done> same_step_basis(const std::vector<const NamedReport*>& runs) {
  for (const NamedReport* run : runs) {
    const JobReport &first = runs.front()->report, &other = run->report;
    if (first.job.step_basis == other.job.step_basis && first.steps.empty() == other.steps.empty()) continue;
    return Error{ErrorKind::usage, fmt::format("steps cannot be compared: {} {}, {} {}", runs.front()->name,
                                               basis_words(first), run->name, basis_words(other))};
  }
  return Done{};
}

Findings comparison_doubts(const NamedReport& base, const NamedReport& now) {
  Findings findings;
  if (of_older_version(base.report) && of_older_version(now.report)) {
    findings.push_back(finding_of_job(Severity::warning, "host-steps",
                                      "both reports come from an older skewscope, whose steps are host windows: where "
                                      "the CPU runs ahead, most GPU work is missing; make the reports again"));
    return findings;
  }
  if (base.report.job.world_size != now.report.job.world_size) return findings;
  const Launched a = launched_per_step(base.report), b = launched_per_step(now.report);
  if (differ(a.collectives, b.collectives, kSameCollectives)) {
    findings.push_back(finding_of_job(
        Severity::warning, kStepsNotComparable,
        fmt::format("two different jobs: a rank launches {:.4g} collectives a step in {}, {:.4g} in {}: other "
                    "programs, or split otherwise",
                    a.collectives, base.name, b.collectives, now.name)));
  } else if (const auto before = operations_of(base.report), after = operations_of(now.report);
             apart(before, after) > kSameOperations) {
    findings.push_back(
        finding_of_job(Severity::warning, kStepsNotComparable,
                       fmt::format("two different jobs: collectives are {} in {}, {} in {}: other programs, or "
                                   "split otherwise",
                                   most_words(before), base.name, most_words(after), now.name)));
  } else if (differ(a.gpu_rows, b.gpu_rows, kSameRows)) {
    findings.push_back(
        finding_of_job(Severity::info, "other-kernels",
                       fmt::format("a rank launches {:.4g} GPU rows a step in {}, {:.4g} in {}: kernels were "
                                   "fused, split or added",
                                   a.gpu_rows, base.name, b.gpu_rows, now.name)));
  }
  return findings;
}

}  // namespace skewscope::scale
