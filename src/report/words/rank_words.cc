#include "rank_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "skewscope/base/human_units.h"

namespace skewscope::report {
namespace {

std::string full_sentence(std::string text) {
  if (text.empty()) return text;
  if (text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text.back() == '.' ? text : text + ".";
}

double ratio_of(int64_t part_ns, int64_t whole_ns) {
  return whole_ns == 0 ? 0 : static_cast<double>(part_ns) / static_cast<double>(whole_ns);
}

}  // namespace

const Advice* first_finding(const RankReport& report) {
  const auto found = std::find_if(report.advice.begin(), report.advice.end(),
                                  [](const Advice& advice) { return !advice.information; });
  return found == report.advice.end() ? nullptr : &*found;
}

std::string verdict_words(const RankReport& report) {
  const TimelineRow& whole = report.tables.timeline.front();
  if (whole.gpu_rows == 0) return "This trace has no GPU rows: a CPU-only process, or recorded without GPU activity.";
  const RankSummary& t = whole.timeline;
  // Steps may be longer than what the GPU did in them.
  const Utilization& used = report.tables.utilization;
  const bool by_steps = used.gpu >= 0 && used.window_ns > t.total_ns;
  const int64_t window_ns = by_steps ? used.window_ns : t.total_ns;
  std::string text =
      fmt::format("The GPU works {} of {} and is idle {}.", human_percent(ratio_of(t.busy_ns, window_ns)),
                  human_duration(window_ns), human_percent(1 - ratio_of(t.busy_ns, window_ns)));
  const Advice* const first = first_finding(report);
  if (first == nullptr) return text + " No rule found anything that is worth fixing.";
  const bool named = first->meaning.starts_with(first->code + ":");
  text += fmt::format(" {}", full_sentence(named ? first->meaning : first->code + ": " + first->meaning));
  if (first->saves_at_most_ns >= 0) {
    text += fmt::format(" Fixing it saves at most {} ({}).", human_duration(first->saves_at_most_ns),
                        human_percent(ratio_of(first->saves_at_most_ns, first->window_ns)));
  }
  return text;
}

std::string next_words(const RankReport& report) {
  const Advice* const first = first_finding(report);
  return first == nullptr ? "" : full_sentence(first->action);
}

}  // namespace skewscope::report
