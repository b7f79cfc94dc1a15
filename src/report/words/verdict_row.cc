#include "verdict_row.h"

namespace skewscope::report {

VerdictRow verdict_row(const JobReport& report, const char* confidence) {
  Verdict verdict = verdict_of(report, figures_of(report));
  VerdictRow row;
  row.sentence = std::move(verdict.verdict);
  row.why = std::move(verdict.why);
  row.next = std::move(verdict.next);
  row.severity = verdict.severeness;
  row.confidence = confidence;
  if (report.losses.empty()) return row;
  const JobReport::Loss& most = report.losses.front();
  row.kind = most.kind;
  row.ranks = most.ranks;
  row.gain_ns = most.gain_ns;
  row.gain_share = most.gain_share;
  row.gain_bound = most.bound;
  return row;
}

}  // namespace skewscope::report
