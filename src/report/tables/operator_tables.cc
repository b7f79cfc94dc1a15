// The tables of one trace's operators, column by column: the same names in CSV, SQLite and JSON.
#include <memory>

#include "skewscope/report.h"
#include "src/report/fields/columns.h"
#include "src/report/fields/rank_fields.h"

namespace skewscope::report {
namespace {

// Durations of a spread member: "<name>_sum_ns", … .
template <auto Set, auto Figure, class Row>
Cell spread_cell(const Row& row) {
  return (row.*Set).count == 0 ? Cell() : to_cell((row.*Set).*Figure);
}

template <auto Set, class Row>
Cell mean_cell(const Row& row) {
  return (row.*Set).count == 0 ? Cell() : Cell((row.*Set).mean_ns());
}

template <auto Set, class Row>
void add_spread(std::vector<ColumnOf<Row>>& columns, const std::string& name) {
  columns.push_back({name + "_sum_ns", ColumnType::integer, &spread_cell<Set, &TimeSpread::sum_ns, Row>});
  columns.push_back({name + "_mean_ns", ColumnType::real, &mean_cell<Set, Row>});
  columns.push_back({name + "_median_ns", ColumnType::real, &spread_cell<Set, &TimeSpread::median_ns, Row>});
  columns.push_back({name + "_deviation_ns", ColumnType::real, &spread_cell<Set, &TimeSpread::deviation_ns, Row>});
  columns.push_back({name + "_min_ns", ColumnType::integer, &spread_cell<Set, &TimeSpread::min_ns, Row>});
  columns.push_back({name + "_max_ns", ColumnType::integer, &spread_cell<Set, &TimeSpread::max_ns, Row>});
}

template <auto Set, class Row>
Cell count_cell(const Row& row) {
  return (row.*Set).count;
}

template <class Row>
void add_arguments(std::vector<ColumnOf<Row>>& columns) {
  columns.push_back({"dims", ColumnType::text, [](const Row& row) { return to_cell(row.arguments.dims); }});
  columns.push_back({"types", ColumnType::text, [](const Row& row) { return to_cell(row.arguments.types); }});
  columns.push_back({"strides", ColumnType::text, [](const Row& row) { return to_cell(row.arguments.strides); }});
  columns.push_back({"values", ColumnType::text, [](const Row& row) { return to_cell(row.arguments.values); }});
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

// "1024x1x1"; "" where not recorded.
std::string extents(const int64_t (&size)[3]) {
  if (size[0] < 0) return "";
  return std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" + std::to_string(size[2]);
}

Table categories_table(const std::vector<CategoryRow>& rows) {
  using Row = CategoryRow;
  return make_table<Row>("operator_categories", rows,
                         {column<&Row::category>("category"), column<&Row::recompute>("recompute"),
                          column<&Row::count>("count"), column<&Row::direct_ns>("direct_ns"),
                          column<&Row::share>("share"), column<&Row::cumulative_share>("cumulative_share")});
}

Table operators_table(const std::vector<OperatorRow>& rows) {
  using Row = OperatorRow;
  return make_table<Row>(
      "operators", rows,
      {column<&Row::name>("name"), column<&Row::recompute>("recompute"),
       ColumnOf<Row>{"categories", ColumnType::text, [](const Row& row) { return to_cell(joined(row.categories)); }},
       column<&Row::calls>("calls"), column<&Row::launches>("launches"), column<&Row::direct_ns>("direct_ns"),
       column<&Row::subtree_ns>("subtree_ns"), column<&Row::host_self_ns>("host_self_ns"),
       column<&Row::host_total_ns>("host_total_ns"), column<&Row::device_self_ns>("device_self_ns"),
       column<&Row::device_total_ns>("device_total_ns"), column<&Row::share>("share"),
       column<&Row::cumulative_share>("cumulative_share"),
       column<&Row::host_memory_self_bytes>("host_memory_self_bytes"),
       column<&Row::host_memory_bytes>("host_memory_bytes"),
       column<&Row::gpu_memory_self_bytes>("gpu_memory_self_bytes"),
       column<&Row::gpu_memory_bytes>("gpu_memory_bytes")});
}

Table arguments_table(const std::vector<ArgumentsRow>& rows) {
  using Row = ArgumentsRow;
  std::vector<ColumnOf<Row>> columns = {
      column<&Row::name>("name"),
      column<&Row::category>("category"),
      column<&Row::recompute>("recompute"),
      column<&Row::process_name>("process_name"),
      column<&Row::process_label>("process_label"),
      column<&Row::thread_name>("thread_name"),
  };
  add_arguments(columns);
  columns.push_back(column<&Row::first_place>("first_place"));
  columns.push_back({"count", ColumnType::integer, &count_cell<&Row::direct, Row>});
  add_spread<&Row::direct>(columns, "direct");
  add_spread<&Row::subtree>(columns, "subtree");
  columns.push_back(column<&Row::share>("share"));
  return make_table<Row>("operator_arguments", rows, std::move(columns));
}

// Position `position` of row `row` of the table it belongs to.
struct PositionRow {
  int64_t row, position;
  const KernelPosition* kernel;
};

// One row per kernel position; the rows they belong to must outlive the table.
template <class Row>
Table positions_table(const char* name, const std::vector<Row>& rows) {
  const auto positions = std::make_shared<std::vector<PositionRow>>();
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t p = 0; p < rows[r].kernels.size(); ++p) {
      positions->push_back({static_cast<int64_t>(r), static_cast<int64_t>(p), &rows[r].kernels[p]});
    }
  }
  using P = PositionRow;
  Table table = make_table<P>(
      name, *positions,
      {column<&P::row>("row"), column<&P::position>("position"),
       ColumnOf<P>{"name", ColumnType::text, [](const P& p) { return to_cell(p.kernel->name); }},
       ColumnOf<P>{"stream", ColumnType::integer, [](const P& p) { return to_cell(p.kernel->stream); }},
       ColumnOf<P>{"count", ColumnType::integer, [](const P& p) { return to_cell(p.kernel->time.count); }},
       ColumnOf<P>{"sum_ns", ColumnType::integer, [](const P& p) { return to_cell(p.kernel->time.sum_ns); }},
       ColumnOf<P>{"mean_ns", ColumnType::real, [](const P& p) { return to_cell(p.kernel->time.mean_ns()); }},
       ColumnOf<P>{"median_ns", ColumnType::real, [](const P& p) { return to_cell(p.kernel->time.median_ns); }},
       ColumnOf<P>{"deviation_ns", ColumnType::real, [](const P& p) { return to_cell(p.kernel->time.deviation_ns); }},
       ColumnOf<P>{"min_ns", ColumnType::integer, [](const P& p) { return to_cell(p.kernel->time.min_ns); }},
       ColumnOf<P>{"max_ns", ColumnType::integer, [](const P& p) { return to_cell(p.kernel->time.max_ns); }}});
  table.fill = [positions, fill = std::move(table.fill)](size_t row, std::vector<Cell>& cells) { fill(row, cells); };
  return table;
}

Table kernels_table(const std::vector<KernelRow>& rows) {
  using Row = KernelRow;
  return make_table<Row>(
      "launched_kernels", rows,
      {column<&Row::category>("category"), column<&Row::launcher>("launcher"), column<&Row::name>("name"),
       ColumnOf<Row>{"work", ColumnType::text, [](const Row& row) { return to_cell(to_string(row.work)); }},
       column<&Row::kernel>("kernel"), column<&Row::device>("device"), column<&Row::stream>("stream"),
       ColumnOf<Row>{"grid", ColumnType::text, [](const Row& row) { return to_cell(extents(row.grid)); }},
       ColumnOf<Row>{"block", ColumnType::text, [](const Row& row) { return to_cell(extents(row.block)); }},
       known_column<&Row::registers>("registers_per_thread"), known_column<&Row::shared_memory>("shared_memory_bytes"),
       column<&Row::count>("count"), column<&Row::sum_ns>("sum_ns"),
       ColumnOf<Row>{"mean_ns", ColumnType::real, [](const Row& row) { return Cell(row.mean_ns()); }},
       column<&Row::min_ns>("min_ns"), column<&Row::max_ns>("max_ns"), column<&Row::share>("share"),
       column<&Row::after_occupancy_query>("after_occupancy_query")});
}

Table short_bins_table(const std::vector<ShortBin>& rows) {
  using Row = ShortBin;
  return make_table<Row>(
      "short_kernel_bins", rows,
      {column<&Row::from_ns>("from_ns"), column<&Row::to_ns>("to_ns"), column<&Row::count>("count")});
}

Table short_kernels_table(const std::vector<ShortKernelRow>& rows) {
  using Row = ShortKernelRow;
  std::vector<ColumnOf<Row>> columns = {column<&Row::launcher>("launcher")};
  add_arguments(columns);
  columns.push_back(column<&Row::name>("name"));
  columns.push_back(column<&Row::count>("count"));
  columns.push_back(column<&Row::sum_ns>("sum_ns"));
  return make_table<Row>("short_kernels", rows, std::move(columns));
}

Table collectives_table(const std::vector<OwnCollectiveRow>& rows) {
  using Row = OwnCollectiveRow;
  std::vector<ColumnOf<Row>> columns = {
      column<&Row::group_name>("group_name"),
      column<&Row::group_ranks>("group_ranks"),
      column<&Row::name>("name"),
      column<&Row::dtype>("dtype"),
      known_column<&Row::group_size>("group_size"),
      known_column<&Row::in_elements>("in_elements"),
      known_column<&Row::out_elements>("out_elements"),
      known_column<&Row::in_bytes>("in_bytes"),
      known_column<&Row::out_bytes>("out_bytes"),
      column<&Row::in_split>("in_split"),
      column<&Row::out_split>("out_split"),
      known_column<&Row::stream>("stream"),
      {"count", ColumnType::integer, &count_cell<&Row::time, Row>},
  };
  add_spread<&Row::time>(columns, "duration");
  return make_table<Row>("own_collectives", rows, std::move(columns));
}

// Speed of the instances: what one does, times 1 / GPU time; empty where either is not known.
template <auto Done, auto Figure>
Cell rate_cell(const WorkRow& row) {
  if (row.*Done < 0 || row.per_second.max == 0) return {};
  return static_cast<double>(row.*Done) * (row.per_second.*Figure);
}

template <auto Done>
void add_rates(std::vector<ColumnOf<WorkRow>>& columns, const std::string& name) {
  columns.push_back({name + "_mean", ColumnType::real, &rate_cell<Done, &RateSpread::mean>});
  columns.push_back({name + "_median", ColumnType::real, &rate_cell<Done, &RateSpread::median>});
  columns.push_back({name + "_deviation", ColumnType::real, &rate_cell<Done, &RateSpread::deviation>});
  columns.push_back({name + "_min", ColumnType::real, &rate_cell<Done, &RateSpread::min>});
  columns.push_back({name + "_max", ColumnType::real, &rate_cell<Done, &RateSpread::max>});
}

Cell intensity_cell(const WorkRow& row) {
  if (row.flops < 0 || row.bytes <= 0) return {};
  return static_cast<double>(row.flops) / static_cast<double>(row.bytes);
}

// The share that the mean instance reaches.
Cell roofline_share_cell(const WorkRow& row) {
  if (row.roofline_ns <= 0 || row.gpu.sum_ns <= 0) return {};
  return row.roofline_ns / row.gpu.mean_ns();
}

Table work_table(const std::vector<WorkRow>& rows) {
  using Row = WorkRow;
  std::vector<ColumnOf<Row>> columns = {
      column<&Row::name>("name"),
      column<&Row::category>("category"),
      column<&Row::recompute>("recompute"),
      column<&Row::process_name>("process_name"),
      column<&Row::process_label>("process_label"),
      column<&Row::thread_name>("thread_name"),
  };
  add_arguments(columns);
  columns.push_back(column<&Row::first_place>("first_place"));
  columns.push_back(column<&Row::known_operator>("known_operator"));
  columns.push_back({"count", ColumnType::integer, &count_cell<&Row::gpu, Row>});
  columns.push_back(known_column<&Row::flops>("flops"));
  columns.push_back(known_column<&Row::bytes>("bytes"));
  columns.push_back({"flops_per_byte", ColumnType::real, &intensity_cell});
  columns.push_back(column<&Row::compute>("compute"));
  columns.push_back(column<&Row::precision>("precision"));
  add_rates<&Row::flops>(columns, "flops_per_s");
  add_rates<&Row::bytes>(columns, "bytes_per_s");
  columns.push_back(column<&Row::bound>("bound"));
  columns.push_back({"roofline_share", ColumnType::real, &roofline_share_cell});
  add_spread<&Row::gpu>(columns, "gpu");
  add_spread<&Row::host>(columns, "host");
  columns.push_back(column<&Row::parameters>("parameters"));
  columns.push_back(column<&Row::unknown>("unknown"));
  columns.push_back(column<&Row::share>("share"));
  return make_table<Row>("work", rows, std::move(columns));
}

Table modules_table(const std::vector<ModuleRow>& rows) {
  using Row = ModuleRow;
  return make_table<Row>("modules", rows,
                         {column<&Row::name>("name"), column<&Row::parent>("parent"), column<&Row::calls>("calls"),
                          column<&Row::host_self_ns>("host_self_ns"), column<&Row::host_total_ns>("host_total_ns"),
                          column<&Row::gpu_ns>("gpu_ns"), column<&Row::backward_gpu_ns>("backward_gpu_ns")});
}

Table annotations_table(const std::vector<AnnotationRow>& rows) {
  using Row = AnnotationRow;
  return make_table<Row>("annotations", rows,
                         {column<&Row::name>("name"), column<&Row::on_gpu>("on_gpu"), column<&Row::count>("count"),
                          column<&Row::total_ns>("total_ns"), column<&Row::gpu_ns>("gpu_ns"),
                          ColumnOf<Row>{"mean_before_first_operator_ns", ColumnType::real, [](const Row& row) {
                                          return row.with_operators == 0
                                                     ? Cell()
                                                     : Cell(static_cast<double>(row.before_first_operator_ns) /
                                                            static_cast<double>(row.with_operators));
                                        }}});
}

Table regions_table(const std::vector<CompiledRegionRow>& rows) {
  using Row = CompiledRegionRow;
  return make_table<Row>(
      "compiled_regions", rows,
      {column<&Row::name>("name"), known_column<&Row::frame>("frame"), known_column<&Row::compile>("compile"),
       column<&Row::calls>("calls"), column<&Row::nested>("nested"),
       ColumnOf<Row>{"outer", ColumnType::text, [](const Row& row) { return to_cell(joined(row.outer)); }},
       column<&Row::host_ns>("host_ns"), column<&Row::gpu_ns>("gpu_ns"),
       column<&Row::cache_lookup_ns>("cache_lookup_ns"), column<&Row::prologue_ns>("prologue_ns"),
       column<&Row::recompiled>("recompiled")});
}

Table compile_events_table(const std::vector<CompileEventRow>& rows) {
  using Row = CompileEventRow;
  return make_table<Row>(
      "compile_events", rows,
      {ColumnOf<Row>{"event", ColumnType::text, [](const Row& row) { return to_cell(to_string(row.event)); }},
       column<&Row::name>("name"), column<&Row::count>("count"), column<&Row::host_ns>("host_ns"),
       column<&Row::gpu_ns>("gpu_ns")});
}

Table triton_table(const std::vector<TritonRow>& rows) {
  using Row = TritonRow;
  return make_table<Row>("triton_kernels", rows,
                         {column<&Row::name>("name"), column<&Row::by_compiler>("by_compiler"),
                          column<&Row::file>("file"), column<&Row::count>("count"), column<&Row::sum_ns>("sum_ns")});
}

Table graphs_table(const std::vector<GraphLaunchRow>& rows) {
  using Row = GraphLaunchRow;
  return make_table<Row>(
      "graph_launches", rows,
      {column<&Row::name>("name"), column<&Row::gpu_rows>("gpu_rows"), column<&Row::launches>("launches"),
       column<&Row::host_ns>("host_ns"), column<&Row::sum_ns>("sum_ns"), column<&Row::busy_ns>("busy_ns")});
}

template <class Row>
ColumnOf<Row> path_kind_column() {
  return {"kind", ColumnType::text, [](const Row& row) { return to_cell(to_string(row.kind)); }};
}

Table path_kinds_table(const std::vector<PathKindRow>& rows) {
  using Row = PathKindRow;
  return make_table<Row>(
      "critical_path", rows,
      {known_column<&Row::step>("step"), column<&Row::start_ns>("start_ns"), column<&Row::length_ns>("length_ns"),
       path_kind_column<Row>(), column<&Row::time_ns>("time_ns"), column<&Row::share>("share")});
}

Table path_names_table(const std::vector<PathNameRow>& rows) {
  using Row = PathNameRow;
  return make_table<Row>("critical_path_names", rows,
                         {path_kind_column<Row>(), column<&Row::name>("name"), column<&Row::count>("count"),
                          column<&Row::time_ns>("time_ns"), column<&Row::share>("share")});
}

}  // namespace

std::vector<Table> tables_of(const OperatorTables& tables) {
  return {categories_table(tables.categories),
          operators_table(tables.operators),
          arguments_table(tables.arguments),
          positions_table("operator_argument_kernels", tables.arguments),
          kernels_table(tables.kernels),
          short_bins_table(tables.short_bins),
          short_kernels_table(tables.short_kernels),
          collectives_table(tables.collectives),
          work_table(tables.work),
          positions_table("work_kernels", tables.work),
          modules_table(tables.modules),
          annotations_table(tables.annotations),
          regions_table(tables.regions),
          compile_events_table(tables.compile_events),
          triton_table(tables.triton),
          graphs_table(tables.graphs),
          path_kinds_table(tables.critical_path.kinds),
          path_names_table(tables.critical_path.names),
          table_of<OperatorPassFields>(tables.passes),
          table_of<CallStackFields>(tables.stacks),
          table_of<MemoryFields>(tables.memory.devices),
          table_of<MemoryBinFields>(tables.memory.over_time),
          table_of<MemoryAtPeakFields>(tables.memory.at_peaks)};
}

}  // namespace skewscope::report
