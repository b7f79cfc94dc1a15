#include "overlap_rows.h"

#include <algorithm>

#include "columns.h"
#include "group_fields.h"

namespace skewscope::report {
namespace {

using OverlapRow = JobReport::OverlapRow;

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

}  // namespace

std::vector<OverlapRow> overlap_rows(const Decomposition& decomposition) {
  std::vector<OverlapRow> rows;
  for (const ClassTotals& totals : decomposition.classes) {
    rows.push_back(overlap_row(totals, decomposition.group_kinds));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const OverlapRow& a, const OverlapRow& b) { return a.exposed_ns() > b.exposed_ns(); });
  return rows;
}

Table overlap_table(const JobReport& report) {
  using Row = OverlapRow;
  return make_table<Row>(
      "overlap", report.overlap,
      {column<&Row::group>("group_kind"), known_column<&Row::size>("size"), known_column<&Row::nodes>("nodes"),
       column<&Row::groups>("groups"), column<&Row::op>("op"), known_column<&Row::bytes_up_to>("bytes_up_to"),
       column<&Row::phase>("phase"), column<&Row::calls>("calls"), column<&Row::time_ns>("time_ns"),
       column<&Row::wait_ns>("wait_ns"), column<&Row::transfer_ns>("transfer_ns"),
       column<&Row::unattributed_ns>("unattributed_ns"), known_column<&Row::hidden_ns>("hidden_ns"),
       ColumnOf<Row>{"hidden_share", ColumnType::real,
                     [](const Row& row) { return row.hidden_share() < 0 ? Cell() : Cell(row.hidden_share()); }},
       column<&Row::exposed_wait_ns>("exposed_wait_ns"), column<&Row::exposed_transfer_ns>("exposed_transfer_ns"),
       column<&Row::exposed_unattributed_ns>("exposed_unattributed_ns")});
}

Json overlap_json(const std::vector<OverlapRow>& rows) {
  Json out = Json::array();
  for (const OverlapRow& row : rows) {
    out.push_back({{"group_kind", text_or_null(row.group)},
                   {"size", count_or_null(row.size)},
                   {"nodes", count_or_null(row.nodes)},
                   {"groups", row.groups},
                   {"op", row.op},
                   {"bytes_up_to", count_or_null(row.bytes_up_to)},
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
                   {"exposed_unattributed_ns", row.exposed_unattributed_ns}});
  }
  return out;
}

}  // namespace skewscope::report
