#include "keep_steps.h"

#include <algorithm>

#include "describe_rows.h"

namespace skewscope::ingest {
namespace {

class Filter {
 public:
  Filter(LinkedTrace& linked, const StepNumbers& steps) : linked_(linked), steps_(steps) {}

  void apply() {
    RankTrace& trace = linked_.trace;
    const std::vector<bool> rows = gpu_rows_of_steps(trace, steps_);
    if (linked_.detail) linked_.detail->earlier_end = earlier_end(rows);
    std::vector<bool> calls(trace.calls.size()), messages(trace.messages.size());
    for (size_t i = 0; i < calls.size(); ++i) calls[i] = wanted(trace.calls[i].step);
    for (size_t i = 0; i < messages.size(); ++i) messages[i] = calls[static_cast<size_t>(trace.messages[i].call)];
    keep_rows(calls, linked_.open_calls);
    keep_rows(messages, linked_.open_peers);
    if (linked_.detail) for_each_column(linked_.detail->calls, [&](auto& column) { keep_rows(calls, column); });
    const std::vector<StepRange> all_steps = trace.steps;
    skewscope::keep_steps(rows, calls, steps_, trace);
    if (linked_.detail) keep_details(rows, all_steps, *linked_.detail);
    keep_mentioned_groups();
    if (!wanted(-1)) std::erase_if(linked_.findings, [](const Finding& f) { return f.code == "orphan-kernels"; });
    describe_rows(linked_);
  }

 private:
  bool wanted(int64_t step) const { return has_step(steps_, step); }

  LocalNs earlier_end(const std::vector<bool>& keep) const {
    const GpuEvents& gpu = linked_.trace.gpu;
    const auto first = static_cast<size_t>(std::find(keep.begin(), keep.end(), true) - keep.begin());
    LocalNs end;
    for (size_t i = 0; i < first && first < keep.size(); ++i) {
      const LocalNs own = gpu.start[i] + gpu.duration_ns[i];
      if (own < gpu.start[first]) end = std::max(end, own);
    }
    return end;
  }

  // A launch lies in a step that is kept, and with it its host row.
  void keep_details(const std::vector<bool>& gpu_rows, const std::vector<StepRange>& steps, RankDetail& detail) const {
    std::vector<bool> host(detail.host.size());
    for (size_t i = 0; i < host.size(); ++i) host[i] = wanted(step_number_at(steps, detail.host.start[i]));
    const std::vector<int32_t> new_row = numbers_of(host);
    for_each_column(detail.host, [&](auto& column) { keep_rows(host, column); });
    for_each_column(detail.gpu, [&](auto& column) { keep_rows(gpu_rows, column); });
    for (int32_t& caller : detail.gpu.caller) {
      if (caller >= 0) caller = new_row[static_cast<size_t>(caller)];
    }
    keep_annotations(detail.gpu_annotations);
    std::vector<bool> memory(detail.memory.size());
    for (size_t i = 0; i < memory.size(); ++i) memory[i] = wanted(step_number_at(steps, detail.memory.at[i]));
    for_each_column(detail.memory, [&](auto& column) { keep_rows(memory, column); });
  }

  // After the GPU rows.
  void keep_annotations(GpuAnnotations& annotations) const {
    const GpuEvents& gpu = linked_.trace.gpu;
    LocalNs last;
    for (size_t i = 0; i < gpu.size(); ++i) {
      const LocalNs end = gpu.start[i] + gpu.duration_ns[i];
      last = i == 0 ? end : std::max(last, end);
    }
    std::vector<bool> keep(annotations.size());
    for (size_t i = 0; i < keep.size(); ++i) {
      const LocalNs end = annotations.start[i] + annotations.duration_ns[i];
      keep[i] = gpu.size() > 0 && annotations.start[i] < last && end > gpu.start.front();
    }
    for_each_column(annotations, [&](auto& column) { keep_rows(keep, column); });
  }

  void keep_mentioned_groups() {
    std::vector<bool> keep(linked_.groups.size());
    for (const OpenCall& call : linked_.open_calls) {
      if (call.group >= 0) keep[static_cast<size_t>(call.group)] = true;
    }
    const std::vector<int32_t> new_group = numbers_of(keep);
    for (OpenCall& call : linked_.open_calls) {
      if (call.group >= 0) call.group = new_group[static_cast<size_t>(call.group)];
    }
    keep_rows(keep, linked_.groups);
  }

  LinkedTrace& linked_;
  StepNumbers steps_;
};

}  // namespace

void keep_steps(TraceFile& file, const StepNumbers& steps) {
  file.steps_before_filter.emplace();
  for (const StepRange& step : file.linked.trace.steps) file.steps_before_filter->push_back(step.number);
  Filter(file.linked, steps).apply();
  file.evidence.first_event = file.linked.trace.first_event;
  file.evidence.last_event = file.linked.trace.last_event;
}

}  // namespace skewscope::ingest
