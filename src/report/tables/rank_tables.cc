// The tables of one trace, column by column: the same names in CSV, SQLite and rank.json.
#include "skewscope/report.h"
#include "src/report/fields/columns.h"
#include "src/report/fields/rank_fields.h"

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
       part<&RankSummary::idle_ns>("idle_ns"), part<&RankSummary::micro_idle_ns>("micro_idle_ns"),
       part<&RankSummary::idle_host_wait_ns>("idle_host_wait_ns"),
       part<&RankSummary::idle_kernel_wait_ns>("idle_kernel_wait_ns"), part<&RankSummary::orphan_rows>("orphan_rows"),
       part<&RankSummary::orphan_ns>("orphan_ns"), ColumnOf<Row>{"place", ColumnType::text, [](const Row& row) {
                                                                   const bool outside = row.place != StepPlace::step;
                                                                   return outside ? to_cell(to_string(row.place))
                                                                                  : Cell();
                                                                 }}});
}

// One row per cause: a stream has three.
struct IdleRow {
  const StreamIdle* stream;
  const char* cause;
  const IdleGaps* gaps;
};

template <auto Member>
Cell sample_cell(const Distribution& sample) {
  return sample.count == 0 ? Cell() : Cell(sample.*Member);
}

template <class Row, const Distribution& (*SampleOf)(const Row&)>
void add_distribution(std::vector<ColumnOf<Row>>& columns, const std::string& unit) {
  const auto add = [&](const char* name, Cell (*cell)(const Row&)) {
    columns.push_back({name + unit, ColumnType::real, cell});
  };
  add("mean", [](const Row& row) { return sample_cell<&Distribution::mean>(SampleOf(row)); });
  add("deviation", [](const Row& row) { return sample_cell<&Distribution::deviation>(SampleOf(row)); });
  add("least", [](const Row& row) { return sample_cell<&Distribution::least>(SampleOf(row)); });
  add("quartile_1", [](const Row& row) { return sample_cell<&Distribution::quartile_1>(SampleOf(row)); });
  add("median", [](const Row& row) { return sample_cell<&Distribution::median>(SampleOf(row)); });
  add("quartile_3", [](const Row& row) { return sample_cell<&Distribution::quartile_3>(SampleOf(row)); });
  add("most", [](const Row& row) { return sample_cell<&Distribution::most>(SampleOf(row)); });
}

const Distribution& gaps_of(const IdleRow& row) { return row.gaps->each_ns; }
const Distribution& depth_of(const QueueDepth& queue) { return queue.depth; }

Table together_table(const std::vector<WorkTogether>& rows) {
  using Row = WorkTogether;
  return make_table<Row>(
      "together", rows,
      {column<&Row::compute>("compute"), column<&Row::communication>("communication"), column<&Row::memcpy>("memcpy"),
       column<&Row::memset>("memset"), column<&Row::time_ns>("time_ns")});
}

Table streams_table(const std::vector<StreamIdle>& rows) {
  using Row = StreamIdle;
  return make_table<Row>(
      "streams", rows,
      {column<&Row::device>("device"), column<&Row::stream>("stream"), column<&Row::gpu_rows>("gpu_rows"),
       column<&Row::busy_ns>("busy_ns"),
       ColumnOf<Row>{"host_wait_ns", ColumnType::integer, [](const Row& r) { return Cell(r.host_wait.total_ns); }},
       ColumnOf<Row>{"kernel_wait_ns", ColumnType::integer, [](const Row& r) { return Cell(r.kernel_wait.total_ns); }},
       ColumnOf<Row>{"other_ns", ColumnType::integer, [](const Row& r) { return Cell(r.other.total_ns); }}});
}

Table gaps_table(const std::vector<StreamIdle>& streams) {
  using Row = IdleRow;
  std::vector<Row> rows;
  for (const StreamIdle& s : streams) {
    rows.insert(rows.end(),
                {{&s, "host_wait", &s.host_wait}, {&s, "kernel_wait", &s.kernel_wait}, {&s, "other", &s.other}});
  }
  std::vector<ColumnOf<Row>> columns = {
      {"device", ColumnType::integer, [](const Row& row) { return to_cell(row.stream->device); }},
      {"stream", ColumnType::integer, [](const Row& row) { return to_cell(row.stream->stream); }},
      {"cause", ColumnType::text, [](const Row& row) { return to_cell(row.cause); }},
      {"count", ColumnType::integer, [](const Row& row) { return Cell(row.gaps->each_ns.count); }},
      {"total_ns", ColumnType::integer, [](const Row& row) { return Cell(row.gaps->total_ns); }}};
  add_distribution<Row, gaps_of>(columns, "_ns");
  return make_table<Row>("gaps", std::move(rows), std::move(columns));
}

Table queues_table(const std::vector<QueueDepth>& rows) {
  using Row = QueueDepth;
  std::vector<ColumnOf<Row>> columns = {
      column<&Row::device>("device"), column<&Row::stream>("stream"),
      ColumnOf<Row>{"changes", ColumnType::integer, [](const Row& row) { return Cell(row.depth.count); }}};
  add_distribution<Row, depth_of>(columns, "_depth");
  columns.push_back(column<&Row::full_ns>("full_ns"));
  return make_table<Row>("queues", rows, std::move(columns));
}

Table queues_over_time_table(const std::vector<QueueBin>& rows) {
  using Row = QueueBin;
  return make_table<Row>(
      "queues_over_time", rows,
      {column<&Row::device>("device"), column<&Row::stream>("stream"), column<&Row::start_ns>("start_ns"),
       column<&Row::length_ns>("length_ns"),
       ColumnOf<Row>{
           "mean_depth", ColumnType::real,
           [](const Row& row) { return Cell(static_cast<double>(row.depth_ns) / static_cast<double>(row.length_ns)); }},
       column<&Row::deepest>("most_depth")});
}

Table launch_bound_table(const std::vector<LaunchBound>& rows) {
  using Row = LaunchBound;
  return make_table<Row>("launch_bound", rows,
                         {column<&Row::device>("device"), column<&Row::rows>("rows"), column<&Row::idle_ns>("idle_ns"),
                          column<&Row::stretches>("stretches"), column<&Row::longest_rows>("longest_rows"),
                          column<&Row::longest_ns>("longest_ns"),
                          ColumnOf<Row>{"longest_start_ns", ColumnType::integer, [](const Row& row) {
                                          return row.stretches == 0 ? Cell() : Cell(row.longest_start.ns);
                                        }}});
}

Table launches_table(const LaunchTotals& launches) {
  using Row = LaunchTotals;
  return make_table<Row>("launches", &launches, 1,
                         {column<&Row::rows>("rows"), column<&Row::host_ns>("host_ns"), column<&Row::gpu_ns>("gpu_ns"),
                          column<&Row::delay_ns>("delay_ns"), column<&Row::longest_delay_ns>("longest_delay_ns"),
                          column<&Row::short_rows>("short_rows"), column<&Row::slow_calls>("slow_calls"),
                          column<&Row::late_starts>("late_starts"), column<&Row::covered_rows>("covered_rows")});
}

Table kernels_table(const std::vector<KernelTotals>& rows) {
  using Row = KernelTotals;
  return make_table<Row>(
      "kernels", rows,
      {column<&Row::name>("name"),
       ColumnOf<Row>{"work", ColumnType::text, [](const Row& row) { return to_cell(to_string(row.work)); }},
       column<&Row::count>("count"), column<&Row::total_ns>("total_ns"),
       ColumnOf<Row>{"mean_ns", ColumnType::real, [](const Row& row) { return Cell(row.mean_ns()); }},
       column<&Row::shortest_ns>("shortest_ns"), column<&Row::longest_ns>("longest_ns"),
       column<&Row::deviation_ns>("deviation_ns"), column<&Row::median_ns>("median_ns"), column<&Row::share>("share"),
       column<&Row::cumulative_share>("cumulative_share")});
}

template <size_t kAxis, int64_t (KernelShape::*Sizes)[3]>
Cell size_cell(const KernelVariant& row) {
  const int64_t size = (row.shape.*Sizes)[kAxis];
  return size < 0 ? Cell() : Cell(size);
}

template <auto Member>
Cell shape_cell(const KernelVariant& row) {
  return row.shape.*Member < 0 ? Cell() : to_cell(row.shape.*Member);
}

Table variants_table(const std::vector<KernelVariant>& rows) {
  using Row = KernelVariant;
  return make_table<Row>("kernel_shapes", rows,
                         {column<&Row::name>("name"),
                          {"grid_x", ColumnType::integer, &size_cell<0, &KernelShape::grid>},
                          {"grid_y", ColumnType::integer, &size_cell<1, &KernelShape::grid>},
                          {"grid_z", ColumnType::integer, &size_cell<2, &KernelShape::grid>},
                          {"block_x", ColumnType::integer, &size_cell<0, &KernelShape::block>},
                          {"block_y", ColumnType::integer, &size_cell<1, &KernelShape::block>},
                          {"block_z", ColumnType::integer, &size_cell<2, &KernelShape::block>},
                          {"registers_per_thread", ColumnType::integer, &shape_cell<&KernelShape::registers>},
                          {"shared_memory_bytes", ColumnType::integer, &shape_cell<&KernelShape::shared_memory>},
                          {"blocks_per_sm", ColumnType::real, &shape_cell<&KernelShape::blocks_per_sm>},
                          {"warps_per_sm", ColumnType::real, &shape_cell<&KernelShape::warps_per_sm>},
                          {"occupancy_percent", ColumnType::real, &shape_cell<&KernelShape::occupancy_percent>},
                          column<&Row::count>("count"),
                          column<&Row::total_ns>("total_ns"),
                          column<&Row::shortest_ns>("shortest_ns"),
                          column<&Row::longest_ns>("longest_ns"),
                          column<&Row::alone>("alone"),
                          column<&Row::alone_median_ns>("alone_median_ns"),
                          column<&Row::alone_p95_ns>("alone_p95_ns")});
}

const Distribution& rates_of(const CopyTotals& copies) { return copies.concurrent_gb_per_s; }

Table copies_table(const std::vector<CopyTotals>& rows) {
  using Row = CopyTotals;
  std::vector<ColumnOf<Row>> columns = {column<&Row::name>("name"),
                                        column<&Row::count>("count"),
                                        column<&Row::total_ns>("total_ns"),
                                        column<&Row::sized>("sized"),
                                        column<&Row::bytes>("bytes"),
                                        ColumnOf<Row>{"gb_per_s", ColumnType::real, [](const Row& row) {
                                                        return row.timed_ns == 0 ? Cell() : Cell(row.gb_per_s());
                                                      }}};
  add_distribution<Row, rates_of>(columns, "_concurrent_gb_per_s");
  return make_table<Row>("copies", rows, std::move(columns));
}

Table calls_table(const std::vector<HostCallTotals>& rows) {
  using Row = HostCallTotals;
  return make_table<Row>("host_calls", rows,
                         {column<&Row::name>("name"), column<&Row::count>("count"), column<&Row::total_ns>("total_ns"),
                          column<&Row::longest_ns>("longest_ns"), column<&Row::waits>("waits_for_gpu"),
                          column<&Row::covered_ns>("covered_ns"), column<&Row::idle_after_ns>("idle_after_ns"),
                          column<&Row::in_steps>("in_steps"), column<&Row::in_steps_ns>("in_steps_ns"),
                          column<&Row::in_steps_idle_after_ns>("in_steps_idle_after_ns")});
}

Table overheads_table(const std::vector<HostCallTotals>& rows) {
  using Row = HostCallTotals;
  return make_table<Row>("profiler_overhead", rows,
                         {column<&Row::name>("name"), column<&Row::count>("count"), column<&Row::total_ns>("total_ns"),
                          column<&Row::longest_ns>("longest_ns"), column<&Row::in_steps>("in_steps")});
}

Table utilization_table(const RankTables& tables) {
  using Row = Utilization;
  return make_table<Row>(
      "utilization", &tables.utilization, tables.detailed ? 1 : 0,
      {column<&Row::window_ns>("window_ns"), column<&Row::kernel_ns>("kernel_ns"),
       known_column<&Row::gpu>("gpu_utilization"), known_column<&Row::sm_efficiency>("estimated_sm_efficiency"),
       known_column<&Row::occupancy>("estimated_achieved_occupancy")});
}

Table advice_table(const std::vector<Advice>& rows) {
  using Row = Advice;
  return make_table<Row>(
      "findings", rows,
      {column<&Row::code>("code"), column<&Row::sign>("sign"), column<&Row::threshold>("threshold"),
       column<&Row::meaning>("meaning"), column<&Row::action>("action"), column<&Row::information>("information"),
       known_column<&Row::saves_at_most_ns>("saves_at_most_ns")});
}

struct EvidenceRow {
  const Advice* advice;
  const Evidence* evidence;
};

Table evidence_table(const std::vector<Advice>& advice) {
  using Row = EvidenceRow;
  std::vector<Row> rows;
  for (const Advice& a : advice) {
    for (const Evidence& e : a.evidence) rows.push_back({&a, &e});
  }
  return make_table<Row>(
      "finding_evidence", std::move(rows),
      {{"code", ColumnType::text, [](const Row& row) { return Cell(row.advice->code); }},
       {"what", ColumnType::text, [](const Row& row) { return Cell(row.evidence->what); }},
       {"count", ColumnType::integer, [](const Row& row) { return Cell(row.evidence->count); }},
       {"time_ns", ColumnType::integer, [](const Row& row) { return Cell(row.evidence->time_ns); }}});
}

}  // namespace

std::vector<Table> tables_of(const RankTables& tables) {
  std::vector<Table> all = {timeline_table(tables.timeline),
                            table_of<TimelineBinFields>(tables.over_time),
                            together_table(tables.together),
                            streams_table(tables.streams),
                            gaps_table(tables.streams),
                            queues_table(tables.queues),
                            queues_over_time_table(tables.queues_over_time),
                            launch_bound_table(tables.launch_bound),
                            launches_table(tables.launches),
                            kernels_table(tables.kernels)};
  if (!tables.detailed) return all;
  all.insert(all.end(), {variants_table(tables.variants), copies_table(tables.copies), calls_table(tables.calls),
                         overheads_table(tables.overheads), utilization_table(tables)});
  return all;
}

std::vector<Table> tables_of(const RankReport& report) {
  std::vector<Table> all = tables_of(report.tables);
  if (report.tables.detailed) {
    for (Table& table : tables_of(report.operators)) all.push_back(std::move(table));
  }
  all.push_back(advice_table(report.advice));
  all.push_back(evidence_table(report.advice));
  return all;
}

}  // namespace skewscope::report
