#include "longest_component.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "skewscope/base/human_units.h"

namespace skewscope::scale {
namespace {

// The most that one session has.
size_t components_in(const JobReport& report) {
  std::map<int32_t, size_t> of_session;
  size_t most = 1;
  for (const JobReport::Component& component : report.components) {
    most = std::max(most, ++of_session[component.session]);
  }
  return most;
}

std::string component_words(const JobReport& report) {
  const JobReport::Component* const longest = longest_component(report);
  return longest == nullptr ? "all its ranks" : fmt::format("ranks {}", human_ranks(longest->ranks));
}

}  // namespace

LongestComponent::LongestComponent(const NamedReport& run) : run_(run) {
  const JobReport::Component* const longest = longest_component(run.report);
  if (longest == nullptr) return;
  own_.emplace(NamedReport{run.name, rows_of_ranks(run.report, longest->ranks)});
  own_->report.steps = run.report.steps;
  own_->report.efficiency = run.report.efficiency;
  own_->report.what_if = run.report.what_if;
}

Findings component_doubts(const NamedReport& run) {
  const size_t components = components_in(run.report);
  if (components < 2) return {};
  return {finding_of_job(Severity::warning, "components",
                         fmt::format("{}: {} components, not compared; only {} is described", run.name, components,
                                     component_words(run.report)))};
}

Findings component_doubts(const NamedReport& base, const NamedReport& now) {
  const std::string before = component_words(base.report), after = component_words(now.report);
  if (before == after && components_in(base.report) == components_in(now.report)) return {};
  return {finding_of_job(
      Severity::warning, "components-differ",
      fmt::format("components differ: this compares {} of {} with {} of {}", before, base.name, after, now.name))};
}

}  // namespace skewscope::scale
