#include "operation_rows.h"

#include <fmt/format.h>

#include <utility>

#include "figures.h"
#include "group_fields.h"
#include "skewscope/base/human_units.h"

namespace skewscope::report {
namespace {

using OperationRow = JobReport::WhatIf::Operation;
constexpr double kWorthHiding = 0.02;  // of the job

double saved_share_of(int64_t saved_ns, int64_t whole_ns) {
  return saved_ns < 0 ? -1 : share(saved_ns, whole_ns).value_or(-1);
}

}  // namespace

std::vector<OperationRow> operation_rows(const IslandBlame& blame, const GroupKinds& groups,
                                         const std::vector<std::string>& modules) {
  std::vector<OperationRow> rows;
  for (const OperationWhatIf& one : blame.operations) {
    OperationRow row;
    set_group(one.group_kind, groups, row);
    row.op = one.kind;
    row.calls = one.calls;
    row.exposed_transfer_ns = one.exposed_transfer_ns;
    row.hidden_saved_ns = one.hidden_saved_ns;
    row.faster_saved_ns = one.faster_saved_ns;
    row.hidden_share = saved_share_of(one.hidden_saved_ns, blame.replay.replayed_ns);
    row.faster_share = saved_share_of(one.faster_saved_ns, blame.replay.replayed_ns);
    for (const OperationWhatIf::Part& part : one.parts) {
      row.parts.push_back({to_string(part.phase), part.module < 0 ? "" : modules[static_cast<size_t>(part.module)],
                           part.calls, part.exposed_transfer_ns, part.hidden_saved_ns,
                           saved_share_of(part.hidden_saved_ns, blame.replay.replayed_ns)});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string hiding_words(const JobReport::WhatIf& what_if) {
  if (what_if.operations.empty()) return "";
  const OperationRow& most = what_if.operations.front();
  const int64_t balanced_saves_ns = what_if.balanced_ns < 0 ? 0 : what_if.replayed_ns - what_if.balanced_ns;
  if (most.hidden_share < kWorthHiding || most.hidden_saved_ns <= balanced_saves_ns) return "";
  return fmt::format("With {} of {} fully overlapped: at most {} less.", to_string(most.op),
                     most.group.empty() ? "unnamed groups" : most.group, human_percent(most.hidden_share));
}

}  // namespace skewscope::report
