// report.json field by field, in the order of its schema. "Not determined" is null. Bytes that are not UTF-8 in names
// from traces become U+FFFD. Doubles print with the fewest digits that read back as the same number.
#include "json_text.h"

#include <cmath>

#include "src/report/fields/json_values.h"
#include "src/report/rows/all_to_all_rows.h"
#include "src/report/rows/figures.h"
#include "src/report/rows/islands.h"
#include "src/report/rows/losses.h"
#include "src/report/rows/operation_rows.h"
#include "src/report/rows/overlap_rows.h"
#include "src/report/rows/step_rows.h"
#include "src/report/words/data_quality.h"
#include "src/report/words/verdict.h"

namespace skewscope {
namespace report {
namespace {

template <class Make>
Json statistics_json(const Statistics& s, Make make) {
  if (s.count == 0) return {};
  return {{"sum", make(s.sum)}, {"mean", make(s.mean)}, {"median", make(s.median)},
          {"p99", make(s.p99)}, {"min", make(s.min)},   {"max", make(s.max)}};
}

// Times are whole nanoseconds, also where a mean is not.
Json times(const Statistics& s) {
  return statistics_json(s, [](double ns) { return std::llround(ns); });
}

Json rates(const Statistics& s) {
  return statistics_json(s, [](double rate) { return rate; });
}

Json job_json(const JobReport::Job& job) {
  return {{"name", job.name},
          {"world_size", job.world_size},
          {"ranks_present", job.ranks_present},
          {"ranks_missing", job.ranks_missing},
          {"hosts", job.hosts},
          {"steps", job.steps},
          {"step_basis", text_or_null(job.step_basis)},
          {"window_start_ns", job.window_start_ns},
          {"window_ns", job.window_ns},
          {"vendor", job.vendor}};
}

Json row_json(const FoundJob& j) {
  return {{"name", j.name},
          {"files", j.files},
          {"first_file", j.first_file},
          {"ranks", j.ranks},
          {"world_size", j.world_size > 0 ? Json(j.world_size) : Json()},
          {"hosts", j.hosts},
          {"start_ns", j.start_ns > 0 ? Json(j.start_ns) : Json()},
          {"duration_ns", j.duration_ns},
          {"reported", j.reported}};
}

Json row_json(const JobReport::Clock& c) {
  return {{"rank", c.rank},
          {"domain", c.domain},
          {"offset_ns", c.offset_ns},
          {"drift_ppb", c.drift_ppb},
          {"uncertainty_ns", c.uncertainty_ns < 0 ? Json() : Json(c.uncertainty_ns)},
          {"method", c.method},
          {"aligned", c.aligned},
          {"component", c.component},
          {"bend_ns", c.bend_ns},
          {"proven_ns", c.proven_ns < 0 ? Json() : Json(c.proven_ns)}};
}

Json row_json(const JobReport::CommunicatorRow& c) {
  return {{"id", c.id},
          {"name", c.name},
          {"desc", c.desc},
          {"ranks", c.ranks},
          {"size", c.size},
          {"nodes", c.nodes < 0 ? Json() : Json(c.nodes)},
          {"collectives", c.collectives},
          {"link", text_or_null(c.link)},
          {"link_peak_gb_per_s", ratio_or_null(c.link_peak_gb_per_s)}};
}

Json row_json(const JobReport::RankRow& r) {
  return {{"rank", r.rank},
          {"host", text_or_null(r.host)},
          {"device", r.device < 0 ? Json() : Json(r.device)},
          {"device_name", text_or_null(r.device_name)},
          {"total_ns", r.total_ns},
          {"compute_ns", r.compute_ns},
          {"communication_ns", r.communication_ns},
          {"exposed_communication_ns", r.exposed_communication_ns},
          {"blocking_communication_ns", r.blocking_communication_ns},
          {"coincided_communication_ns", r.coincided_communication_ns},
          {"unknown_communication_ns", r.unknown_communication_ns},
          {"instant_calls_saved_ns", count_or_null(r.instant_calls_saved_ns)},
          {"exposed_memcpy_ns", r.exposed_memcpy_ns},
          {"busy_ns", r.busy_ns},
          {"idle_ns", r.idle_ns},
          {"idle_host_wait_ns", r.idle_host_wait_ns},
          {"idle_kernel_wait_ns", r.idle_kernel_wait_ns},
          {"idle_other_ns", r.idle_other_ns},
          {"collectives", r.collectives},
          {"wait_ns", r.wait_ns},
          {"transfer_ns", r.transfer_ns},
          {"exposed_wait_ns", r.exposed_wait_ns},
          {"exposed_transfer_ns", r.exposed_transfer_ns},
          {"late_count", r.late_count},
          {"delay_caused_ns", r.delay_caused_ns}};
}

Json row_json(const JobReport::CollectiveRow& c) {
  return {{"communicator", c.communicator},
          {"op", c.op},
          {"dtype", c.dtype},
          {"bytes", c.bytes},
          {"count", c.count},
          {"exposed_wait_ns", c.exposed_wait_ns},
          {"exposed_transfer_ns", c.exposed_transfer_ns},
          {"wait_ns", times(c.wait_ns)},
          {"transfer_ns", times(c.transfer_ns)},
          {"start_skew_ns", times(c.start_skew_ns)},
          {"end_skew_ns", times(c.end_skew_ns)},
          {"algo_bandwidth_gb_per_s", rates(c.algo_bandwidth_gb_per_s)},
          {"bus_bandwidth_gb_per_s", rates(c.bus_bandwidth_gb_per_s)}};
}

Json row_json(const JobReport::StepRow& s) {
  return {{"session", s.session},
          {"step", s.step},
          {"start_ns", s.start_ns},
          {"duration_ns", s.duration_ns},
          {"ranks", s.ranks},
          {"gpu_rows", s.gpu_rows},
          {"collectives", s.collectives},
          {"host_start_ns", s.host_start_ns},
          {"host_duration_ns", s.host_duration_ns},
          {"blocking_wait_ns", s.blocking_wait_ns},
          {"blocking_transfer_ns", s.blocking_transfer_ns},
          {"blocking_unattributed_ns", s.blocking_unattributed_ns},
          {"blocked_by", text_or_null(s.blocked_by)}};
}

Json row_json(const JobReport::Straggler& s) {
  return {{"rank", s.rank},
          {"component", s.component},
          {"late_count", s.late_count},
          {"late_share", s.late_share},
          {"wait_caused_ns", s.wait_caused_ns},
          {"cause", text_or_null(s.cause)},
          {"cause_share", s.cause.empty() ? Json() : Json(s.cause_share)},
          {"pattern", text_or_null(s.pattern)},
          {"standing", text_or_null(s.standing)},
          {"wait_originated_ns", s.wait_originated_ns},
          {"saved_ns", s.standing.empty() ? Json() : Json(s.saved_ns)},
          {"saved_at_least", s.standing.empty() ? Json() : Json(s.saved_at_least)},
          {"saved_share", s.standing.empty() ? Json() : Json(s.saved_share)}};
}

Json row_json(const JobReport::Loss& l) {
  return {{"kind", to_string(l.kind)},
          {"component", l.component},
          {"ranks", l.ranks},
          {"weight", weight_of(l)},
          {"gain_ns", l.gain_ns},
          {"gain_share", l.gain_share},
          {"bound", to_string(l.bound)},
          {"why", l.why},
          {"next", l.next}};
}

// `confidence`: what the input of the whole job allows.
Json verdict_json(const JobReport& report, const char* confidence) {
  const Verdict verdict = verdict_of(report, figures_of(report));
  const JobReport::Loss* const most = report.losses.empty() ? nullptr : &report.losses.front();
  return {{"sentence", verdict.verdict},
          {"why", verdict.why},
          {"next", verdict.next},
          {"severity", to_string(verdict.severeness)},
          {"confidence", confidence},
          {"gain_ns", most == nullptr ? Json() : Json(most->gain_ns)},
          {"gain_share", most == nullptr ? Json() : Json(most->gain_share)},
          {"gain_bound", most == nullptr ? Json() : Json(to_string(most->bound))}};
}

Json what_if_json(const JobReport::WhatIf& w) {
  const auto length = [](int64_t ns) { return ns < 0 ? Json() : Json(ns); };
  Json programs = Json::array();
  for (const JobReport::WhatIf::Program& p : w.programs) {
    programs.push_back(
        {{"ranks", p.ranks}, {"work_ns", p.work_ns}, {"saved_ns", p.saved_ns}, {"saved_at_least", p.saved_at_least}});
  }
  return {{"recorded_ns", length(w.recorded_ns)},
          {"replayed_ns", length(w.replayed_ns)},
          {"balanced_ns", length(w.balanced_ns)},
          {"no_transfer_ns", length(w.no_transfer_ns)},
          {"even_experts_ns", length(w.even_experts_ns)},
          {"saved_at_least", w.saved_at_least},
          {"steps", w.steps == 0 ? Json() : Json(w.steps)},
          {"together", {{"ranks", w.together}, {"saved_ns", w.together_saved_ns}}},
          {"programs", std::move(programs)},
          {"operations", operations_json(w.operations)}};
}

Json pipeline_json(const JobReport::Pipeline& p) {
  if (p.stages == 0) return {};
  Json stages = Json::array();
  for (const JobReport::Pipeline::Stage& s : p.by_stage) {
    stages.push_back({{"stage", s.stage},
                      {"ranks", s.ranks},
                      {"work_ns", count_or_null(s.work_ns)},
                      {"bubble_ns", count_or_null(s.bubble_ns)}});
  }
  return {{"stages", p.stages},
          {"micro_batches", p.micro_batches},
          {"virtual_stages", p.virtual_stages},
          {"schedule", p.schedule},
          {"window_ns", p.window_ns},
          {"bubble_ns", count_or_null(p.bubble_ns)},
          {"bubble_share", ratio_or_null(p.bubble_share)},
          {"schedule_share", ratio_or_null(p.schedule_share)},
          {"imbalance_share", ratio_or_null(p.imbalance_share)},
          {"with_twice_micro_batches_share", ratio_or_null(p.with_twice_micro_batches_share)},
          {"with_twice_micro_batches_saved_ns", count_or_null(p.with_twice_micro_batches_saved_ns)},
          {"by_stage", std::move(stages)}};
}

Json whole_efficiency_json(const JobReport::Efficiency& e) {
  Json json = efficiency_json(e);
  json["bubble"] = ratio_or_null(e.bubble);
  return json;
}

Json matching_json(const JobReport::Matching& m) {
  return {{"calls", m.calls},
          {"matched", m.matched},
          {"unmatched", m.unmatched},
          {"incomplete_instances", m.incomplete_instances},
          {"mismatched_instances", m.mismatched_instances},
          {"method", text_or_null(m.method)}};
}

template <class Row>
Json array_of(const std::vector<Row>& rows) {
  Json array = Json::array();
  for (const Row& row : rows) array.push_back(row_json(row));
  return array;
}

// What is said of the ranks of a component alone.
Json told_json(const JobReport& told, const char* confidence) {
  const Figures f = figures_of(told);
  const int64_t step_ns = mean_step_ns(told);
  return {{"step_ns", step_ns > 0 ? Json(step_ns) : Json()},
          {"steps", array_of(told.steps)},
          {"total_ns", f.total_ns},
          {"compute_ns", f.compute_ns},
          {"wait_ns", f.wait_ns},
          {"transfer_ns", f.transfer_ns},
          {"exposed_wait_ns", f.exposed_wait_ns},
          {"exposed_transfer_ns", f.exposed_transfer_ns},
          {"efficiency", whole_efficiency_json(told.efficiency)},
          {"what_if", what_if_json(told.what_if)},
          {"pipeline", pipeline_json(told.pipeline)},
          {"verdict", verdict_json(told, confidence)}};
}

Json components_json(const JobReport& report) {
  const char* const confidence = confidence_of(data_quality(report));
  Json rows = Json::array();
  for (const JobReport::Component& c : report.components) {
    const JobReport::Island* const island = island_of(report, c.ranks.front());
    rows.push_back({{"session", c.session},
                    {"ranks", c.ranks},
                    {"window_ns", c.window_ns},
                    {"told", island == nullptr ? Json() : told_json(report_of(report, *island), confidence)}});
  }
  return rows;
}

}  // namespace

Json efficiency_json(const JobReport::Efficiency& e) {
  return {{"parallel", ratio_or_null(e.parallel)},           {"load_balance", ratio_or_null(e.load_balance)},
          {"communication", ratio_or_null(e.communication)}, {"serialization", ratio_or_null(e.serialization)},
          {"transfer", ratio_or_null(e.transfer)},           {"gpu_communication", ratio_or_null(e.gpu_communication)},
          {"orchestration", ratio_or_null(e.orchestration)}};
}

std::string diagnostics_json(const Findings& findings) {
  Json rows = Json::array();
  for (const Finding& f : findings) {
    Json row = finding_json(f);
    row["byte_offset"] = f.byte_offset < 0 ? Json() : Json(f.byte_offset);
    row["count"] = f.count;
    rows.push_back(std::move(row));
  }
  return text_of({{"schema", "skewscope.diagnostics/1"}, {"diagnostics", std::move(rows)}});
}

}  // namespace report

std::string to_json(const JobReport& r, const ReportStamp& stamp) {
  using report::array_of;
  return report::text_of({{"schema", "skewscope.report/1"},
                          {"tool_version", stamp.tool_version},
                          {"command", stamp.command},
                          {"created_utc", stamp.created_utc},
                          {"job", report::job_json(r.job)},
                          {"clocks", array_of(r.clocks)},
                          {"components", report::components_json(r)},
                          {"communicators", array_of(r.communicators)},
                          {"ranks", array_of(r.ranks)},
                          {"collectives", array_of(r.collectives)},
                          {"stragglers", array_of(r.stragglers)},
                          {"efficiency", report::whole_efficiency_json(r.efficiency)},
                          {"matching", report::matching_json(r.matching)},
                          {"diagnostics", report::findings_json(r.diagnostics)},
                          {"what_if", report::what_if_json(r.what_if)},
                          {"pipeline", report::pipeline_json(r.pipeline)},
                          {"steps", array_of(r.steps)},
                          {"verdict", report::verdict_json(r, report::confidence_of(report::data_quality(r)))},
                          {"losses", array_of(r.losses)},
                          {"jobs_found", array_of(r.jobs_found)},
                          {"overlap", report::overlap_json(r.overlap)},
                          {"overlap_modules", report::overlap_modules_json(r.overlap_modules)},
                          {"all_to_all", report::all_to_all_json(r.all_to_all)}});
}

std::string jobs_found_json(const std::vector<FoundJob>& jobs, const std::string& tool_version) {
  return report::text_of(
      {{"schema", "skewscope.jobs_found/1"}, {"tool_version", tool_version}, {"jobs_found", report::array_of(jobs)}});
}

}  // namespace skewscope
