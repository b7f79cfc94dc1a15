#include "what_if_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "skewscope/base/human_units.h"
#include "src/report/rows/figures.h"
#include "src/report/rows/operation_rows.h"
#include "src/report/rows/step_rows.h"

namespace skewscope::report {
namespace {

constexpr double kWorthTelling = 0.01, kMostInSteps = 0.9;

// What the replays change, as a step or as all that was replayed.
struct Whole {
  int64_t ns = 0;  // 0: its length says nothing
  const char* name = "";
};

// What is replayed is all that the GPUs ran: where much of that is in no step, a share of it is none of a step.
Whole whole_of(const JobReport& report, bool some_missing) {
  const JobReport::WhatIf& w = report.what_if;
  if (w.steps == 0 || some_missing) return {};
  int64_t in_steps_ns = 0;
  for (const JobReport::StepRow& step : report.steps) in_steps_ns += step.duration_ns;
  const bool several = report.steps.size() > 1;
  const int64_t all_ns = several ? w.replayed_ns : report.job.window_ns;
  const int64_t told_ns = several ? in_steps_ns : w.replayed_ns;
  const bool nearly_all = static_cast<double>(told_ns) >= kMostInSteps * static_cast<double>(all_ns);
  if (!nearly_all) return {w.replayed_ns, "the recorded GPU work"};
  return {several ? mean_step_ns(report) : w.replayed_ns / w.steps, "a step"};
}

}  // namespace

std::string what_if_words(const JobReport& report, bool some_missing, bool only_ranks) {
  const JobReport::WhatIf& w = report.what_if;
  if (w.replayed_ns <= 0 || (w.balanced_ns < 0 && w.no_transfer_ns < 0)) return "";
  const Whole whole = whole_of(report, some_missing);
  const auto without = [&](int64_t ns) {
    const double saved = share(std::max<int64_t>(0, w.replayed_ns - ns), w.replayed_ns).value_or(0);
    const std::string less = saved == 0 ? "no gain" : spoken_percent(saved) + " less";
    if (whole.ns == 0) return less + (saved == 0 ? "" : " time");
    return fmt::format("{} ({})", human_duration(std::llround(static_cast<double>(whole.ns) * (1 - saved))), less);
  };
  std::string words;
  if (whole.ns > 0) words = fmt::format("{} takes {}. ", whole.name, human_duration(whole.ns));
  if (w.balanced_ns >= 0) {
    words +=
        fmt::format("If no{} were slow: {}. ", some_missing ? "ne of these ranks" : " rank", without(w.balanced_ns));
  }
  if (w.no_transfer_ns >= 0) {
    words += fmt::format("With an infinitely fast network: {}. ", without(w.no_transfer_ns));
  }
  if (!only_ranks) {
    const double even = w.even_experts_ns < 0 ? 0 : share(w.replayed_ns - w.even_experts_ns, w.replayed_ns).value_or(0);
    if (even >= kWorthTelling) words += fmt::format("With evenly loaded experts: {}. ", without(w.even_experts_ns));
    words += hiding_words(w);
  }
  words.erase(words.find_last_not_of(' ') + 1);
  words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  return words;
}

}  // namespace skewscope::report
