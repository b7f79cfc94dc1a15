// The verdict as a row: what leads the summary, and how much can be won, for scripts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skewscope/model/job_report.h"
#include "src/report/fields/field.h"
#include "verdict.h"

namespace skewscope::report {

struct VerdictRow {
  std::string sentence, why, next, confidence;
  Severeness severity = Severeness::small;
  // Of the largest loss; none, -1: nothing is lost.
  std::optional<LossKind> kind;
  std::vector<int32_t> ranks;
  int64_t gain_ns = -1;
  double gain_share = -1;
  std::optional<GainBound> gain_bound;
};
struct VerdictFields {
  using Row = VerdictRow;
  static constexpr About kAbout = {"verdict", "verdict", "what leads the summary; one row"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::sentence>("sentence", "where communication time went, and how much can be won"),
      field<&Row::why>("why", "the largest loss, and those next to it"), field<&Row::next>("next", "what to do first"),
      field<&Row::severity>("severity",
                            "of what can be won: below 5 %, 10 %, 20 % of the job's length, and more; a gain of which "
                            "only the most is known counts half"),
      field<&Row::confidence>("confidence", "what the input's quality allows"),
      unless_none<&Row::kind>("kind", "of the largest loss, as in losses[]; null: no loss is worth listing"),
      field<&Row::ranks>("ranks", "that cause the largest loss; empty: all, nobody in particular, or there is none"),
      known<&Row::gain_ns>("gain_ns", "of the largest loss, as in losses[]; null: there is none"),
      known<&Row::gain_share>("gain_share", "the same, of the job's length"),
      unless_none<&Row::gain_bound>("gain_bound", "how the gain is meant, as in losses[]"));
};

// `report` with its losses; `confidence`: what the input of the whole job allows.
VerdictRow verdict_row(const JobReport& report, const char* confidence);

}  // namespace skewscope::report
