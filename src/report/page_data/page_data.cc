#include "page_data.h"

#include <algorithm>

#include "clock_residuals.h"
#include "lane_data.h"
#include "lateness_map.h"
#include "packed_numbers.h"
#include "page_tables.h"
#include "pair_matrix.h"
#include "rank_grid.h"
#include "skewscope/base/human_units.h"
#include "src/report/fields/json_values.h"
#include "src/report/rows/efficiency_rows.h"
#include "src/report/rows/figures.h"
#include "src/report/rows/islands.h"
#include "src/report/rows/pipeline_words.h"
#include "src/report/rows/straggler_chain.h"
#include "src/report/words/data_quality.h"
#include "src/report/words/verdict.h"
#include "trend_map.h"

namespace skewscope::report {
namespace {

Json page_job(const JobReport::Job& job) {
  return {{"name", page_text(job.name)},
          {"world_size", job.world_size},
          {"ranks", job.ranks_present.size()},
          {"ranks_missing", page_text(human_ranks(job.ranks_missing))},
          {"hosts", job.hosts.size()},
          {"steps", job.steps.size()},
          {"first_step", job.steps.empty() ? Json() : exact(job.steps.front())},
          {"last_step", job.steps.empty() ? Json() : exact(job.steps.back())},
          {"window_start_ns", exact(job.window_start_ns)},
          {"window_ns", exact(job.window_ns)},
          {"vendor", page_text(to_string(job.vendor))},
          {"sessions", job.sessions}};
}

Json verdict_json(const JobReport& report, const std::vector<QualityPoint>& points) {
  const Verdict verdict = verdict_of(report, figures_of(report));
  return {{"verdict", verdict.verdict},
          {"why", verdict.why},
          {"next", verdict.next},
          {"severeness", to_string(verdict.severeness)},
          {"confidence", confidence_of(points)}};
}

Json quality_json(const std::vector<QualityPoint>& points) {
  Json out = Json::array();
  for (const QualityPoint& p : points) {
    out.push_back({{"label", p.label}, {"value", page_text(p.value)}, {"trust", to_string(p.trust)}});
  }
  return out;
}

// POP and TALP efficiencies, and what they are shares of: all ranks' GPUs for as long as the longest timeline; of a job
// of several components, those of the longest.
Json page_efficiency(const JobReport& whole) {
  const JobReport longest = whole.islands.empty() ? JobReport() : report_of(whole, whole.islands.front());
  const JobReport& report = whole.islands.empty() ? whole : longest;
  const auto ranks =
      std::count_if(report.ranks.begin(), report.ranks.end(), [](const auto& row) { return row.total_ns > 0; });
  const JobReport::Efficiency& e = report.efficiency;
  return {{"gpus", ranks},
          {"elapsed_ns", exact(elapsed_ns(report))},
          {"parallel", ratio_or_null(e.parallel)},
          {"load_balance", ratio_or_null(e.load_balance)},
          {"communication", ratio_or_null(e.communication)},
          {"serialization", ratio_or_null(e.serialization)},
          {"transfer", ratio_or_null(e.transfer)},
          {"gpu_communication", ratio_or_null(e.gpu_communication)},
          {"orchestration", ratio_or_null(e.orchestration)},
          {"bubble", ratio_or_null(e.bubble)}};
}

Json page_what_if(const JobReport::WhatIf& w) {
  const auto length = [](int64_t ns) { return ns < 0 ? Json() : exact(ns); };
  return {{"recorded_ns", length(w.recorded_ns)},
          {"replayed_ns", length(w.replayed_ns)},
          {"balanced_ns", length(w.balanced_ns)},
          {"no_transfer_ns", length(w.no_transfer_ns)},
          {"saved_at_least", w.saved_at_least}};
}

// What is to be known of ranks whose clocks nobody compared; null where all are.
Json page_components(const JobReport& report) {
  const std::string words = component_words(report);
  if (words.empty()) return {};
  const JobReport::Component* const longest = longest_component(report);
  return {{"words", words}, {"longest", longest == nullptr ? "" : human_ranks(longest->ranks)}};
}

Json page_pipeline(const JobReport& report) {
  const JobReport::Pipeline& p = report.pipeline;
  if (p.stages == 0) return {};
  const std::optional<PipelineWords> words = pipeline_words(report);
  return {{"stages", p.stages},
          {"micro_batches", p.micro_batches},
          {"virtual_stages", p.virtual_stages},
          {"schedule", to_string(p.schedule)},
          {"window_ns", exact(p.window_ns)},
          {"bubble_share", ratio_or_null(p.bubble_share)},
          {"schedule_share", ratio_or_null(p.schedule_share)},
          {"imbalance_share", ratio_or_null(p.imbalance_share)},
          {"with_twice_micro_batches_share", ratio_or_null(p.with_twice_micro_batches_share)},
          {"sentence", words ? words->sentence : ""},
          {"next", words ? words->next : ""}};
}

// `one_clock`: a column is one moment of all ranks.
Json map_json(const LatenessMap& map, bool one_clock) {
  Json columns = Json::array(), rows = Json::array();
  for (const LatenessMap::Column& c : map.columns) {
    columns.push_back({exact(c.first), exact(c.last), one_clock ? exact(c.start_ns) : Json()});
  }
  for (const auto& cells : map.mean) {
    PackedNumbers row;
    for (const std::optional<int64_t>& cell : cells) {
      if (cell) {
        row.put(*cell);
      } else {
        row.put_none();
      }
    }
    rows.push_back(row.take());
  }
  return {{"by_step", map.by_step},
          {"columns", std::move(columns)},  // first and last label, first arrival; null: several
          {"ranks", map.ranks},
          {"mean_ns", std::move(rows)}};  // packed, a rank each
}

// Row by row and window by window what each rank waited and caused, and how often it was last.
Json trend_json(const TrendMap& map) {
  Json columns = Json::array(), rows = Json::array();
  for (const TrendMap::Column& c : map.columns) columns.push_back({exact(c.start_ns), exact(c.duration_ns), c.session});
  for (const auto& cells : map.cells) {
    PackedNumbers caused, waited, late, candidates;
    for (const std::optional<TrendRow>& cell : cells) {
      if (cell) {
        caused.put(cell->wait_caused_ns);
        waited.put(cell->wait_ns);
        late.put(cell->late_count);
        candidates.put(cell->late_candidates);
      } else {
        for (PackedNumbers* numbers : {&caused, &waited, &late, &candidates}) numbers->put_none();
      }
    }
    rows.push_back({caused.take(), waited.take(), late.take(), candidates.take()});
  }
  return {{"columns", std::move(columns)},  // start, length, session
          {"ranks", map.ranks},
          {"rows", std::move(rows)}};  // packed, four of each rank
}

Json chain_json(const StragglerChain& chain) {
  Json hops = Json::array(), calls = Json::array();
  for (const StragglerChain::Hop& h : chain.hops) {
    hops.push_back({{"late", h.late},
                    {"victim", h.victim},
                    {"communicator", h.communicator},
                    {"arrival_ns", exact(h.arrival_ns)},
                    {"wait_ns", exact(h.wait_ns)}});
  }
  for (const JobReport::CallRow* c : chain.calls) {
    calls.push_back(
        {c->rank, c->communicator, c->op, exact(c->bytes), exact(c->start_ns), exact(c->end_ns), exact(c->wait_ns)});
  }
  return {{"step", chain.step < 0 ? Json() : exact(chain.step)},
          {"hops", std::move(hops)},
          {"ranks", chain.ranks},
          {"calls", std::move(calls)},  // rank, communicator, op, bytes, start, end, wait
          {"left_out", chain.left_out}};
}

// What `skewscope merge --excerpt` can cut out of the traces: a name once per place in time that shows it.
Json excerpts_json(const JobReport& report) {
  Json out = Json::array();
  for (const TimedFinding& finding : timed_findings(report)) {
    out.push_back({{"finding", finding.finding},
                   {"words", page_text(finding.words)},
                   {"ranks", page_text(human_ranks(finding.ranks))},
                   {"instance", finding.instance < 0 ? Json() : Json(finding.instance)},
                   {"start_ns", exact(finding.start_ns)},
                   {"length_ns", exact(finding.end_ns - finding.start_ns)}});
  }
  return out;
}

Json residuals_json(const ClockResiduals& residuals, const JobReport& report) {
  PackedNumbers ranks;
  for (const ClockResiduals::Of& of : residuals.ranks) {
    for (const int64_t value :
         {int64_t{of.rank}, of.count, of.sum_ns / of.count, of.absolute_ns / of.count, of.largest_ns}) {
      ranks.put(value);
    }
  }
  return {{"edges_ns", kResidualEdges},
          {"before", residuals.before},
          {"after", residuals.after},
          {"ranks", ranks.take()},  // packed: rank, ends, mean, mean size, largest size, of each
          {"end_spread_before_ns", report.end_spread_before_ns},
          {"end_spread_after_ns", report.end_spread_after_ns}};
}

// Coordinates of every rank of the world, packed, by axis.
Json grid_json(const RankGrid& grid) {
  constexpr const char* kSources[] = {"none", "groups", "nodes"};
  Json axes = Json::array();
  for (const RankGrid::Axis& axis : grid.axes) {
    PackedNumbers coordinates;
    for (const int32_t place : axis.coordinate) coordinates.put(place);
    axes.push_back({{"name", page_text(axis.name)}, {"size", axis.size}, {"at", coordinates.take()}});
  }
  return {{"source", kSources[static_cast<size_t>(grid.source)]}, {"ambiguous", grid.ambiguous}, {"axes", axes}};
}

Json matrix_json(const PairMatrix& matrix) {
  Json names = Json::array();
  for (const std::string& name : matrix.names) names.push_back(page_text(name));
  PackedNumbers cells;
  for (const PairMatrix::Cell& cell : matrix.cells) {
    cells.put(cell.from);
    cells.put(cell.to);
    for (const int64_t value : {cell.wait_ns, cell.bytes, cell.timed_bytes, cell.transfer_ns}) cells.put(value);
  }
  return {{"unit", matrix.unit == PairMatrix::Unit::node ? "node" : "rank"},
          {"joined", matrix.joined},
          {"names", std::move(names)},
          {"cells", cells.take()}};  // packed: from, to, wait, bytes, bytes that were timed, their time; of each
}

}  // namespace

std::string page_data(const JobReport& report, const ReportStamp& stamp) {
  const std::vector<TimedInstance> instances = timed_instances(report.calls);
  const std::vector<QualityPoint> points = data_quality(report);
  const Json data = {
      {"schema", "skewscope.page/1"},
      {"tool_version", stamp.tool_version},
      {"command", page_text(stamp.command)},
      {"created_utc", stamp.created_utc},
      {"job", page_job(report.job)},
      {"verdict", verdict_json(report, points)},
      {"quality", quality_json(points)},
      {"efficiency", page_efficiency(report)},
      {"components", page_components(report)},
      {"what_if", page_what_if(report.what_if)},
      {"pipeline", page_pipeline(report)},
      {"map", map_json(lateness_map(report.ranks, instances, report.pipeline), component_count(report) < 2)},
      {"trend", trend_json(trend_map(report.trend))},
      {"timeline", lane_data(report)},
      {"grid", grid_json(rank_grid(report))},
      {"matrix", matrix_json(pair_matrix(report))},
      {"chain", chain_json(straggler_chain(report.stragglers, instances))},
      {"excerpts", excerpts_json(report)},
      {"residuals", residuals_json(clock_residuals(instances), report)},
      {"tables", page_tables(tables_of(report))}};
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace skewscope::report
