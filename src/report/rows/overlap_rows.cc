#include "overlap_rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "group_fields.h"
#include "src/report/fields/columns.h"

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
  row.op = to_string(totals.of.kind);
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

// Both tables: what calls are told apart by, then their times.
Table table_of(const char* name, const std::vector<OverlapRow>& rows, const ColumnOf<OverlapRow>& size_or_module) {
  using Row = OverlapRow;
  return make_table<Row>(
      name, rows,
      {column<&Row::group>("group_kind"), known_column<&Row::size>("size"), known_column<&Row::nodes>("nodes"),
       column<&Row::groups>("groups"), column<&Row::op>("op"), size_or_module, column<&Row::phase>("phase"),
       column<&Row::calls>("calls"), column<&Row::time_ns>("time_ns"), column<&Row::wait_ns>("wait_ns"),
       column<&Row::transfer_ns>("transfer_ns"), column<&Row::unattributed_ns>("unattributed_ns"),
       known_column<&Row::hidden_ns>("hidden_ns"),
       ColumnOf<Row>{"hidden_share", ColumnType::real,
                     [](const Row& row) { return row.hidden_share() < 0 ? Cell() : Cell(row.hidden_share()); }},
       column<&Row::exposed_wait_ns>("exposed_wait_ns"), column<&Row::exposed_transfer_ns>("exposed_transfer_ns"),
       column<&Row::exposed_unattributed_ns>("exposed_unattributed_ns")});
}

Json json_of(const OverlapRow& row, const char* size_or_module, Json value) {
  return {{"group_kind", text_or_null(row.group)},
          {"size", count_or_null(row.size)},
          {"nodes", count_or_null(row.nodes)},
          {"groups", row.groups},
          {"op", row.op},
          {size_or_module, std::move(value)},
          {"phase", text_or_null(row.phase)},
          {"calls", row.calls},
          {"time_ns", row.time_ns},
          {"wait_ns", row.wait_ns},
          {"transfer_ns", row.transfer_ns},
          {"unattributed_ns", row.unattributed_ns},
          {"hidden_ns", count_or_null(row.hidden_ns)},
          {"hidden_share", ratio_or_null(row.hidden_share())},
          {"exposed_wait_ns", row.exposed_wait_ns},
          {"exposed_transfer_ns", row.exposed_transfer_ns},
          {"exposed_unattributed_ns", row.exposed_unattributed_ns}};
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

std::vector<Table> overlap_tables(const JobReport& report) {
  return {table_of("overlap", report.overlap, known_column<&OverlapRow::bytes_up_to>("bytes_up_to")),
          table_of("overlap_modules", report.overlap_modules, column<&OverlapRow::module>("module"))};
}

Json overlap_json(const std::vector<OverlapRow>& rows) {
  Json out = Json::array();
  for (const OverlapRow& row : rows) out.push_back(json_of(row, "bytes_up_to", count_or_null(row.bytes_up_to)));
  return out;
}

Json overlap_modules_json(const std::vector<OverlapRow>& rows) {
  Json out = Json::array();
  for (const OverlapRow& row : rows) out.push_back(json_of(row, "module", text_or_null(row.module)));
  return out;
}

}  // namespace skewscope::report
