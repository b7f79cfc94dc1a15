#include "overlap_rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "group_fields.h"

namespace skewscope::report {
namespace {

using OverlapRow = JobReport::OverlapRow;

std::string module_of(const CallClass& of, const std::vector<std::string>& modules) {
  return of.module < 0 ? "" : modules[static_cast<size_t>(of.module)];
}

// Classes that are equal but for what is left out, together.
template <class LeaveOut>
std::vector<ClassTotals> rolled_up(const std::vector<ClassTotals>& classes, const LeaveOut& leave_out) {
  std::map<CallClass, ClassTotals> sums;
  for (const ClassTotals& totals : classes) {
    CallClass of = totals.of;
    leave_out(of);
    ClassTotals& sum = sums[of];
    sum.of = of;
    sum.calls += totals.calls;
    sum.gpu_calls += totals.gpu_calls;
    sum.hidden_ns += totals.hidden_ns;
    sum.parts += totals.parts;
  }
  std::vector<ClassTotals> rows;
  for (const auto& [of, sum] : sums) rows.push_back(sum);
  return rows;
}

OverlapRow overlap_row(const ClassTotals& totals, const GroupKinds& groups) {
  OverlapRow row;
  set_group(totals.of.group_kind, groups, row);
  row.op = totals.of.kind;
  row.bytes_up_to = totals.of.bytes_up_to;
  row.phase = to_string(totals.of.phase);
  row.calls = totals.calls;
  const CallParts& parts = totals.parts;
  row.time_ns = parts.duration_ns();
  row.wait_ns = parts.wait_ns;
  row.transfer_ns = parts.transfer_ns;
  row.unattributed_ns = parts.unattributed_ns;
  row.hidden_ns = totals.gpu_calls > 0 ? totals.hidden_ns : -1;
  row.exposed_wait_ns = parts.exposed_wait_ns;
  row.exposed_transfer_ns = parts.exposed_transfer_ns;
  row.exposed_unattributed_ns = parts.exposed_unattributed_ns;
  return row;
}

std::vector<OverlapRow> rows_of(const std::vector<ClassTotals>& classes, const GroupKinds& groups,
                                const std::vector<std::string>& modules) {
  std::vector<OverlapRow> rows;
  for (const ClassTotals& totals : classes) {
    rows.push_back(overlap_row(totals, groups));
    rows.back().module = module_of(totals.of, modules);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const OverlapRow& a, const OverlapRow& b) { return a.exposed_ns() > b.exposed_ns(); });
  return rows;
}

}  // namespace

std::vector<OverlapRow> overlap_rows(const Decomposition& decomposition) {
  return rows_of(rolled_up(decomposition.classes, [](CallClass& of) { of.module = -1; }), decomposition.group_kinds,
                 {});
}

std::vector<OverlapRow> overlap_module_rows(const Decomposition& decomposition,
                                            const std::vector<std::string>& modules) {
  const auto named = [](const ClassTotals& totals) { return totals.of.module >= 0; };
  if (std::none_of(decomposition.classes.begin(), decomposition.classes.end(), named)) return {};
  return rows_of(rolled_up(decomposition.classes, [](CallClass& of) { of.bytes_up_to = -1; }),
                 decomposition.group_kinds, modules);
}

}  // namespace skewscope::report
