// The tables of one trace, column by column: the same names in CSV, SQLite and rank.json.
#include "columns.h"
#include "skewscope/report.h"

namespace skewscope::report {
namespace {

template <auto Member>
Cell part_cell(const TimelineRow& row) {
  return row.timeline.*Member;
}

template <auto Member>
ColumnOf<TimelineRow> part(const char* name) {
  return {name, ColumnType::integer, &part_cell<Member>};
}

Table timeline_table(const std::vector<TimelineRow>& rows) {
  using Row = TimelineRow;
  return make_table<Row>(
      "timeline", rows,
      {known_column<&Row::device>("device"), known_column<&Row::step>("step"), known_column<&Row::host_ns>("host_ns"),
       column<&Row::gpu_rows>("gpu_rows"), part<&RankSummary::total_ns>("total_ns"),
       part<&RankSummary::compute_ns>("compute_ns"), part<&RankSummary::communication_ns>("communication_ns"),
       part<&RankSummary::memcpy_ns>("memcpy_ns"),
       part<&RankSummary::exposed_communication_ns>("exposed_communication_ns"),
       part<&RankSummary::exposed_memcpy_ns>("exposed_memcpy_ns"), part<&RankSummary::busy_ns>("busy_ns"),
       part<&RankSummary::idle_ns>("idle_ns"), part<&RankSummary::orphan_rows>("orphan_rows"),
       part<&RankSummary::orphan_ns>("orphan_ns")});
}

Table streams_table(const std::vector<StreamIdle>& rows) {
  using Row = StreamIdle;
  return make_table<Row>(
      "streams", rows,
      {column<&Row::device>("device"), column<&Row::stream>("stream"), column<&Row::gpu_rows>("gpu_rows"),
       column<&Row::busy_ns>("busy_ns"), column<&Row::host_wait_ns>("host_wait_ns"),
       column<&Row::kernel_wait_ns>("kernel_wait_ns"), column<&Row::other_ns>("other_ns")});
}

Table queues_table(const std::vector<QueueDepth>& rows) {
  using Row = QueueDepth;
  return make_table<Row>(
      "queues", rows,
      {column<&Row::device>("device"), column<&Row::stream>("stream"), column<&Row::changes>("changes"),
       ColumnOf<Row>{"mean_depth", ColumnType::real,
                     [](const Row& row) {
                       return row.changes == 0
                                  ? Cell()
                                  : Cell(static_cast<double>(row.depth_sum) / static_cast<double>(row.changes));
                     }},
       column<&Row::deepest>("deepest"), column<&Row::full_ns>("full_ns")});
}

Table launches_table(const LaunchTotals& launches) {
  using Row = LaunchTotals;
  return make_table<Row>("launches", &launches, 1,
                         {column<&Row::rows>("rows"), column<&Row::host_ns>("host_ns"), column<&Row::gpu_ns>("gpu_ns"),
                          column<&Row::delay_ns>("delay_ns"), column<&Row::longest_delay_ns>("longest_delay_ns"),
                          column<&Row::short_rows>("short_rows"), column<&Row::slow_calls>("slow_calls"),
                          column<&Row::late_starts>("late_starts")});
}

Table kernels_table(const std::vector<KernelTotals>& rows) {
  using Row = KernelTotals;
  return make_table<Row>(
      "kernels", rows,
      {column<&Row::name>("name"),
       ColumnOf<Row>{"work", ColumnType::text, [](const Row& row) { return Cell(std::string(to_string(row.work))); }},
       column<&Row::count>("count"), column<&Row::total_ns>("total_ns"),
       ColumnOf<Row>{"mean_ns", ColumnType::real, [](const Row& row) { return Cell(row.mean_ns()); }},
       column<&Row::shortest_ns>("shortest_ns"), column<&Row::longest_ns>("longest_ns"),
       column<&Row::deviation_ns>("deviation_ns")});
}

}  // namespace

std::vector<Table> tables_of(const RankTables& tables) {
  return {timeline_table(tables.timeline), streams_table(tables.streams), queues_table(tables.queues),
          launches_table(tables.launches), kernels_table(tables.kernels)};
}

}  // namespace skewscope::report
