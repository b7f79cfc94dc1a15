// The tables of a job's report, column by column.
#include <cmath>

#include "component_rows.h"
#include "src/report/fields/columns.h"
#include "src/report/rows/all_to_all_rows.h"
#include "src/report/rows/losses.h"
#include "src/report/rows/operation_rows.h"
#include "src/report/rows/overlap_rows.h"

namespace skewscope::report {
namespace {

template <auto Set, auto Figure, bool kWhole>
Cell figure_cell(const JobReport::CollectiveRow& row) {
  const Statistics& set = row.*Set;
  if (set.count == 0) return {};
  if constexpr (kWhole) return int64_t{std::llround(set.*Figure)};
  return set.*Figure;
}

// wait_sum_ns, wait_mean_ns, …: one column per figure of a statistics member; whole numbers for times.
template <auto Set, bool kWhole>
void add_figures(std::vector<ColumnOf<JobReport::CollectiveRow>>& columns, const std::string& name,
                 const std::string& unit) {
  const ColumnType type = kWhole ? ColumnType::integer : ColumnType::real;
  columns.push_back({name + "_sum" + unit, type, &figure_cell<Set, &Statistics::sum, kWhole>});
  columns.push_back({name + "_mean" + unit, type, &figure_cell<Set, &Statistics::mean, kWhole>});
  columns.push_back({name + "_median" + unit, type, &figure_cell<Set, &Statistics::median, kWhole>});
  columns.push_back({name + "_p99" + unit, type, &figure_cell<Set, &Statistics::p99, kWhole>});
  columns.push_back({name + "_min" + unit, type, &figure_cell<Set, &Statistics::min, kWhole>});
  columns.push_back({name + "_max" + unit, type, &figure_cell<Set, &Statistics::max, kWhole>});
}

Table ranks_table(const JobReport& report) {
  using Row = JobReport::RankRow;
  return make_table<Row>("ranks", report.ranks,
                         {column<&Row::rank>("rank"),
                          column<&Row::host>("host"),
                          known_column<&Row::device>("device"),
                          column<&Row::device_name>("device_name"),
                          column<&Row::total_ns>("total_ns"),
                          column<&Row::compute_ns>("compute_ns"),
                          column<&Row::communication_ns>("communication_ns"),
                          column<&Row::exposed_communication_ns>("exposed_communication_ns"),
                          column<&Row::blocking_communication_ns>("blocking_communication_ns"),
                          column<&Row::coincided_communication_ns>("coincided_communication_ns"),
                          column<&Row::unknown_communication_ns>("unknown_communication_ns"),
                          known_column<&Row::instant_calls_saved_ns>("instant_calls_saved_ns"),
                          column<&Row::exposed_memcpy_ns>("exposed_memcpy_ns"),
                          column<&Row::busy_ns>("busy_ns"),
                          column<&Row::idle_ns>("idle_ns"),
                          column<&Row::idle_host_wait_ns>("idle_host_wait_ns"),
                          column<&Row::idle_kernel_wait_ns>("idle_kernel_wait_ns"),
                          column<&Row::idle_other_ns>("idle_other_ns"),
                          column<&Row::collectives>("collectives"),
                          column<&Row::wait_ns>("wait_ns"),
                          column<&Row::transfer_ns>("transfer_ns"),
                          column<&Row::unattributed_ns>("unattributed_ns"),
                          column<&Row::exposed_wait_ns>("exposed_wait_ns"),
                          column<&Row::exposed_transfer_ns>("exposed_transfer_ns"),
                          column<&Row::late_count>("late_count"),
                          column<&Row::delay_caused_ns>("delay_caused_ns")});
}

Table clocks_table(const JobReport& report) {
  using Row = JobReport::Clock;
  return make_table<Row>("clocks", report.clocks,
                         {column<&Row::rank>("rank"), column<&Row::session>("session"), column<&Row::domain>("domain"),
                          column<&Row::offset_ns>("offset_ns"), column<&Row::drift_ppb>("drift_ppb"),
                          known_column<&Row::uncertainty_ns>("uncertainty_ns"), column<&Row::method>("method"),
                          column<&Row::aligned>("aligned"), column<&Row::component>("component"),
                          column<&Row::bend_ns>("bend_ns"), known_column<&Row::proven_ns>("proven_ns")});
}

Table components_table(const JobReport& report) {
  using Row = ComponentRow;
  return make_table<Row>(
      "components", component_rows(report),
      {column<&Row::component>("component"), column<&Row::session>("session"), column<&Row::ranks>("ranks"),
       column<&Row::window_ns>("window_ns"), known_column<&Row::steps>("steps"), known_column<&Row::step_ns>("step_ns"),
       known_column<&Row::wait_ns>("wait_ns"), known_column<&Row::transfer_ns>("transfer_ns"),
       known_column<&Row::exposed_wait_ns>("exposed_wait_ns"),
       known_column<&Row::exposed_transfer_ns>("exposed_transfer_ns"), known_column<&Row::parallel>("parallel"),
       known_column<&Row::replayed_ns>("replayed_ns"), known_column<&Row::balanced_ns>("balanced_ns"),
       known_column<&Row::no_transfer_ns>("no_transfer_ns"), column<&Row::why>("why"), column<&Row::next>("next")});
}

Table component_steps_table(const JobReport& report) {
  using Row = JobReport::StepRow;
  return make_table<Row>(
      "component_steps", component_steps(report),
      {column<&Row::component>("component"), column<&Row::session>("session"), column<&Row::step>("step"),
       column<&Row::start_ns>("start_ns"), column<&Row::duration_ns>("duration_ns"), column<&Row::ranks>("ranks"),
       column<&Row::gpu_rows>("gpu_rows"), column<&Row::collectives>("collectives"),
       column<&Row::blocking_wait_ns>("blocking_wait_ns"), column<&Row::blocking_transfer_ns>("blocking_transfer_ns"),
       column<&Row::blocking_unattributed_ns>("blocking_unattributed_ns"), column<&Row::blocked_by>("blocked_by")});
}

Table communicators_table(const JobReport& report) {
  using Row = JobReport::CommunicatorRow;
  return make_table<Row>(
      "communicators", report.communicators,
      {column<&Row::id>("id"), column<&Row::name>("name"), column<&Row::desc>("desc"), column<&Row::ranks>("ranks"),
       column<&Row::size>("size"), known_column<&Row::nodes>("nodes"), column<&Row::collectives>("collectives"),
       column<&Row::link>("link"), known_column<&Row::link_peak_gb_per_s>("link_peak_gb_per_s")});
}

Table jobs_found_table(const JobReport& report) {
  using Row = FoundJob;
  return make_table<Row>(
      "jobs_found", report.jobs_found,
      {column<&Row::name>("name"), column<&Row::files>("files"), column<&Row::first_file>("first_file"),
       column<&Row::ranks>("ranks"),
       ColumnOf<Row>{"world_size", ColumnType::integer,
                     [](const Row& row) { return row.world_size > 0 ? Cell(int64_t{row.world_size}) : Cell(); }},
       ColumnOf<Row>{"hosts", ColumnType::text,
                     [](const Row& row) {
                       std::string hosts;
                       for (const std::string& host : row.hosts) hosts += (hosts.empty() ? "" : " ") + host;
                       return to_cell(std::move(hosts));
                     }},
       ColumnOf<Row>{"start_ns", ColumnType::integer,
                     [](const Row& row) { return row.start_ns > 0 ? Cell(row.start_ns) : Cell(); }},
       column<&Row::duration_ns>("duration_ns"), column<&Row::reported>("reported")});
}

Table baseline_table(const JobReport& report) {
  using Row = JobReport::BaselinePoint;
  return make_table<Row>("baseline", report.baseline,
                         {column<&Row::op>("op"), column<&Row::source>("source"), column<&Row::bytes>("bytes"),
                          column<&Row::bus_bandwidth_gb_per_s>("bus_bandwidth_gb_per_s")});
}

Table collectives_table(const JobReport& report) {
  using Row = JobReport::CollectiveRow;
  std::vector<ColumnOf<Row>> columns = {column<&Row::communicator>("communicator"),
                                        column<&Row::op>("op"),
                                        column<&Row::dtype>("dtype"),
                                        column<&Row::bytes>("bytes"),
                                        column<&Row::count>("count"),
                                        column<&Row::exposed_wait_ns>("exposed_wait_ns"),
                                        column<&Row::exposed_transfer_ns>("exposed_transfer_ns")};
  add_figures<&Row::wait_ns, true>(columns, "wait", "_ns");
  add_figures<&Row::transfer_ns, true>(columns, "transfer", "_ns");
  add_figures<&Row::start_skew_ns, true>(columns, "start_skew", "_ns");
  add_figures<&Row::end_skew_ns, true>(columns, "end_skew", "_ns");
  add_figures<&Row::algo_bandwidth_gb_per_s, false>(columns, "algo_bandwidth", "_gb_per_s");
  add_figures<&Row::bus_bandwidth_gb_per_s, false>(columns, "bus_bandwidth", "_gb_per_s");
  return make_table<Row>("collectives", report.collectives, std::move(columns));
}

Table steps_table(const JobReport& report) {
  using Row = JobReport::StepRow;
  return make_table<Row>(
      "steps", report.steps,
      {column<&Row::session>("session"), column<&Row::step>("step"), column<&Row::start_ns>("start_ns"),
       column<&Row::duration_ns>("duration_ns"), column<&Row::ranks>("ranks"), column<&Row::gpu_rows>("gpu_rows"),
       column<&Row::collectives>("collectives"), column<&Row::host_start_ns>("host_start_ns"),
       column<&Row::host_duration_ns>("host_duration_ns"), column<&Row::blocking_wait_ns>("blocking_wait_ns"),
       column<&Row::blocking_transfer_ns>("blocking_transfer_ns"),
       column<&Row::blocking_unattributed_ns>("blocking_unattributed_ns"), column<&Row::blocked_by>("blocked_by")});
}

Table stragglers_table(const JobReport& report) {
  using Row = JobReport::Straggler;
  return make_table<Row>(
      "stragglers", report.stragglers,
      {column<&Row::rank>("rank"), column<&Row::component>("component"), column<&Row::late_count>("late_count"),
       column<&Row::late_candidates>("late_candidates"), column<&Row::late_share>("late_share"),
       column<&Row::wait_caused_ns>("wait_caused_ns"), column<&Row::cause>("cause"),
       ColumnOf<Row>{"cause_share", ColumnType::real,
                     [](const Row& row) { return row.cause.empty() ? Cell() : Cell(row.cause_share); }},
       column<&Row::standing>("standing"), column<&Row::wait_originated_ns>("wait_originated_ns"),
       ColumnOf<Row>{"saved_ns", ColumnType::integer,
                     [](const Row& row) { return row.standing.empty() ? Cell() : Cell(row.saved_ns); }},
       ColumnOf<Row>{"saved_at_least", ColumnType::integer,
                     [](const Row& row) { return row.standing.empty() ? Cell() : Cell(int64_t{row.saved_at_least}); }},
       ColumnOf<Row>{"saved_share", ColumnType::real,
                     [](const Row& row) { return row.standing.empty() ? Cell() : Cell(row.saved_share); }},
       column<&Row::pattern>("pattern")});
}

Table causes_table(const JobReport& report) {
  using Row = JobReport::CauseRow;
  return make_table<Row>(
      "causes", report.causes,
      {column<&Row::rank>("rank"), column<&Row::cause>("cause"), column<&Row::lateness_ns>("lateness_ns"),
       column<&Row::wait_originated_ns>("wait_originated_ns")});
}

Table blame_flows_table(const JobReport& report) {
  using Row = JobReport::FlowRow;
  return make_table<Row>("blame_flows", report.flows,
                         {column<&Row::rank>("rank"), column<&Row::late_in>("late_in"),
                          column<&Row::waited_in>("waited_in"), column<&Row::moved_ns>("moved_ns")});
}

Table losses_table(const JobReport& report) {
  using Row = JobReport::Loss;
  return make_table<Row>(
      "losses", report.losses,
      {column<&Row::kind>("kind"), column<&Row::component>("component"), column<&Row::ranks>("ranks"),
       ColumnOf<Row>{"weight", ColumnType::real, [](const Row& row) { return Cell(weight_of(row)); }},
       column<&Row::gain_ns>("gain_ns"), column<&Row::gain_share>("gain_share"), column<&Row::bound>("bound"),
       column<&Row::why>("why"), column<&Row::next>("next")});
}

Table collective_ranks_table(const JobReport& report) {
  using Row = JobReport::CallRow;
  return make_table<Row>(
      "collective_ranks", report.calls,
      {column<&Row::instance>("instance"), column<&Row::communicator>("communicator"), column<&Row::seq>("seq"),
       column<&Row::op>("op"), column<&Row::dtype>("dtype"), column<&Row::bytes>("bytes"), column<&Row::rank>("rank"),
       column<&Row::start_ns>("start_ns"), column<&Row::end_ns>("end_ns"), known_column<&Row::wait_ns>("wait_ns"),
       known_column<&Row::transfer_ns>("transfer_ns"), column<&Row::exposed_ns>("exposed_ns"),
       column<&Row::complete>("complete"), column<&Row::note>("note"), known_column<&Row::wait_bar_ns>("wait_bar_ns"),
       column<&Row::basis>("basis"), known_column<&Row::step>("step")});
}

Table unmatched_table(const JobReport& report) {
  using Row = JobReport::UnmatchedRow;
  return make_table<Row>(
      "unmatched", report.unmatched,
      {column<&Row::rank>("rank"), known_column<&Row::communicator>("communicator"), column<&Row::op>("op"),
       column<&Row::dtype>("dtype"), column<&Row::reason>("reason"), column<&Row::kernel>("kernel"),
       column<&Row::start_ns>("start_ns"), column<&Row::duration_ns>("duration_ns")});
}

std::vector<Table> pipeline_tables(const JobReport& report) {
  using Row = JobReport::Pipeline;
  using Stage = Row::Stage;
  const size_t count = report.pipeline.stages > 0 ? 1 : 0;
  return {make_table<Row>(
              "pipeline", &report.pipeline, count,
              {column<&Row::stages>("stages"), column<&Row::micro_batches>("micro_batches"),
               column<&Row::virtual_stages>("virtual_stages"), column<&Row::schedule>("schedule"),
               column<&Row::window_ns>("window_ns"), known_column<&Row::bubble_ns>("bubble_ns"),
               known_column<&Row::bubble_share>("bubble_share"), known_column<&Row::schedule_share>("schedule_share"),
               known_column<&Row::imbalance_share>("imbalance_share"),
               known_column<&Row::with_twice_micro_batches_share>("with_twice_micro_batches_share"),
               known_column<&Row::with_twice_micro_batches_saved_ns>("with_twice_micro_batches_saved_ns")}),
          make_table<Stage>("pipeline_stages", report.pipeline.by_stage,
                            {column<&Stage::stage>("stage"), column<&Stage::ranks>("ranks"),
                             known_column<&Stage::work_ns>("work_ns"), known_column<&Stage::bubble_ns>("bubble_ns")})};
}

Table rank_statistics_table(const JobReport& report) {
  using Row = JobReport::RankStatistic;
  return make_table<Row>("rank_statistics", report.rank_statistics,
                         {column<&Row::table>("table"), column<&Row::key>("key"), column<&Row::metric>("metric"),
                          column<&Row::component>("component"), column<&Row::ranks>("ranks"), column<&Row::min>("min"),
                          column<&Row::median>("median"), column<&Row::max>("max"), column<&Row::min_rank>("min_rank"),
                          column<&Row::max_rank>("max_rank"), column<&Row::outliers>("outliers")});
}

Table rank_steps_table(const JobReport& report) {
  using Row = JobReport::RankStep;
  return make_table<Row>(
      "rank_steps", report.rank_steps,
      {column<&Row::rank>("rank"), column<&Row::session>("session"), column<&Row::step>("step"),
       column<&Row::compute_ns>("compute_ns"), column<&Row::exposed_transfer_ns>("exposed_transfer_ns"),
       column<&Row::exposed_wait_ns>("exposed_wait_ns"),
       column<&Row::exposed_unattributed_ns>("exposed_unattributed_ns"),
       column<&Row::exposed_memcpy_ns>("exposed_memcpy_ns"), column<&Row::idle_ns>("idle_ns"),
       column<&Row::start_ns>("start_ns"), column<&Row::gpu_rows>("gpu_rows"), column<&Row::collectives>("collectives"),
       column<&Row::host_start_ns>("host_start_ns"), column<&Row::host_duration_ns>("host_duration_ns")});
}

Table outside_steps_table(const JobReport& report) {
  using Row = JobReport::OutsideSteps;
  return make_table<Row>(
      "outside_steps", report.outside_steps,
      {column<&Row::rank>("rank"), column<&Row::session>("session"), column<&Row::place>("place"),
       column<&Row::gpu_rows>("gpu_rows"), column<&Row::compute_ns>("compute_ns"),
       column<&Row::exposed_transfer_ns>("exposed_transfer_ns"), column<&Row::exposed_wait_ns>("exposed_wait_ns"),
       column<&Row::exposed_unattributed_ns>("exposed_unattributed_ns"),
       column<&Row::exposed_memcpy_ns>("exposed_memcpy_ns"), column<&Row::idle_ns>("idle_ns")});
}

Table collective_steps_table(const JobReport& report) {
  using Row = JobReport::CollectiveStep;
  return make_table<Row>(
      "collective_steps", report.collective_steps,
      {column<&Row::communicator>("communicator"), column<&Row::op>("op"), column<&Row::dtype>("dtype"),
       column<&Row::bytes>("bytes"), column<&Row::session>("session"), column<&Row::step>("step"),
       column<&Row::calls>("calls"), column<&Row::wait_ns>("wait_ns"), column<&Row::transfer_ns>("transfer_ns"),
       column<&Row::exposed_wait_ns>("exposed_wait_ns"), column<&Row::exposed_transfer_ns>("exposed_transfer_ns")});
}

}  // namespace

Table diagnostics_table(const Findings& findings) {
  return make_table<Finding>(
      "diagnostics", findings,
      {column<&Finding::severity>("severity"), column<&Finding::code>("code"), column<&Finding::rank>("rank"),
       column<&Finding::file>("file"), known_column<&Finding::byte_offset>("byte_offset"),
       column<&Finding::count>("count"), column<&Finding::message>("message")});
}

std::vector<Table> tables_of(const JobReport& report) {
  std::vector<Table> tables = {ranks_table(report),
                               clocks_table(report),
                               communicators_table(report),
                               collectives_table(report),
                               stragglers_table(report),
                               causes_table(report),
                               blame_flows_table(report),
                               collective_ranks_table(report),
                               unmatched_table(report),
                               diagnostics_table(report.diagnostics),
                               rank_statistics_table(report),
                               steps_table(report),
                               rank_steps_table(report),
                               collective_steps_table(report),
                               baseline_table(report),
                               losses_table(report),
                               jobs_found_table(report),
                               outside_steps_table(report),
                               what_if_operations_table(report),
                               what_if_operation_parts_table(report),
                               components_table(report),
                               component_steps_table(report)};
  for (Table& table : overlap_tables(report)) tables.push_back(std::move(table));
  for (Table& table : all_to_all_tables(report)) tables.push_back(std::move(table));
  for (Table& table : pipeline_tables(report)) tables.push_back(std::move(table));
  return tables;
}

}  // namespace skewscope::report
