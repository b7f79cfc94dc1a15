#include "operation_rows.h"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

#include "figures.h"
#include "group_fields.h"
#include "skewscope/base/human_units.h"
#include "src/report/fields/columns.h"

namespace skewscope::report {
namespace {

using OperationRow = JobReport::WhatIf::Operation;
constexpr double kWorthHiding = 0.02;  // of the job

using OperationPart = OperationRow::Part;

// A row of the table of parts.
struct PartRow {
  const OperationRow* of;
  const OperationPart* part;
};

Cell count_cell(int64_t count) { return count < 0 ? Cell() : to_cell(count); }

template <auto Member>
ColumnOf<PartRow> of_part(const char* name) {
  using Field = std::remove_cvref_t<decltype(std::declval<OperationPart>().*Member)>;
  return {name, type_of<Field>(), [](const PartRow& row) { return to_cell(row.part->*Member); }};
}

double saved_share_of(int64_t saved_ns, int64_t whole_ns) {
  return saved_ns < 0 ? -1 : share(saved_ns, whole_ns).value_or(-1);
}

Json parts_json(const std::vector<OperationPart>& parts) {
  Json out = Json::array();
  for (const OperationPart& part : parts) {
    out.push_back({{"phase", text_or_null(part.phase)},
                   {"module", text_or_null(part.module)},
                   {"calls", part.calls},
                   {"exposed_transfer_ns", part.exposed_transfer_ns},
                   {"hidden_saved_ns", count_or_null(part.hidden_saved_ns)},
                   {"hidden_share", ratio_or_null(part.hidden_share)}});
  }
  return out;
}

}  // namespace

std::vector<OperationRow> operation_rows(const IslandBlame& blame, const GroupKinds& groups,
                                         const std::vector<std::string>& modules) {
  std::vector<OperationRow> rows;
  for (const OperationWhatIf& one : blame.operations) {
    OperationRow row;
    set_group(one.group_kind, groups, row);
    row.op = to_string(one.kind);
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

Table what_if_operations_table(const JobReport& report) {
  using Row = OperationRow;
  return make_table<Row>(
      "what_if_operations", report.what_if.operations,
      {column<&Row::group>("group_kind"), known_column<&Row::size>("size"), known_column<&Row::nodes>("nodes"),
       column<&Row::groups>("groups"), column<&Row::op>("op"), column<&Row::calls>("calls"),
       column<&Row::exposed_transfer_ns>("exposed_transfer_ns"), known_column<&Row::hidden_saved_ns>("hidden_saved_ns"),
       known_column<&Row::hidden_share>("hidden_share"), known_column<&Row::faster_saved_ns>("faster_saved_ns"),
       known_column<&Row::faster_share>("faster_share")});
}

Table what_if_operation_parts_table(const JobReport& report) {
  std::vector<PartRow> rows;
  for (const OperationRow& operation : report.what_if.operations) {
    for (const OperationRow::Part& part : operation.parts) rows.push_back({&operation, &part});
  }
  return make_table<PartRow>(
      "what_if_operation_parts", std::move(rows),
      {{"group_kind", ColumnType::text, [](const PartRow& row) { return to_cell(row.of->group); }},
       {"size", ColumnType::integer, [](const PartRow& row) { return count_cell(row.of->size); }},
       {"nodes", ColumnType::integer, [](const PartRow& row) { return count_cell(row.of->nodes); }},
       {"op", ColumnType::text, [](const PartRow& row) { return to_cell(row.of->op); }},
       of_part<&OperationPart::phase>("phase"),
       of_part<&OperationPart::module>("module"),
       of_part<&OperationPart::calls>("calls"),
       of_part<&OperationPart::exposed_transfer_ns>("exposed_transfer_ns"),
       {"hidden_saved_ns", ColumnType::integer,
        [](const PartRow& row) { return count_cell(row.part->hidden_saved_ns); }},
       {"hidden_share", ColumnType::real,
        [](const PartRow& row) { return row.part->hidden_share < 0 ? Cell() : to_cell(row.part->hidden_share); }}});
}

Json operations_json(const std::vector<OperationRow>& rows) {
  Json out = Json::array();
  for (const OperationRow& row : rows) {
    out.push_back({{"group_kind", text_or_null(row.group)},
                   {"size", count_or_null(row.size)},
                   {"nodes", count_or_null(row.nodes)},
                   {"groups", row.groups},
                   {"op", row.op},
                   {"calls", row.calls},
                   {"exposed_transfer_ns", row.exposed_transfer_ns},
                   {"hidden_saved_ns", count_or_null(row.hidden_saved_ns)},
                   {"hidden_share", ratio_or_null(row.hidden_share)},
                   {"faster_saved_ns", count_or_null(row.faster_saved_ns)},
                   {"faster_share", ratio_or_null(row.faster_share)},
                   {"parts", parts_json(row.parts)}});
  }
  return out;
}

std::string hiding_words(const JobReport::WhatIf& what_if) {
  if (what_if.operations.empty()) return "";
  const OperationRow& most = what_if.operations.front();
  const int64_t balanced_saves_ns = what_if.balanced_ns < 0 ? 0 : what_if.replayed_ns - what_if.balanced_ns;
  if (most.hidden_share < kWorthHiding || most.hidden_saved_ns <= balanced_saves_ns) return "";
  return fmt::format("{} of {} fully hidden: -{} at most", most.op, most.group.empty() ? "unnamed groups" : most.group,
                     human_percent(most.hidden_share));
}

}  // namespace skewscope::report
