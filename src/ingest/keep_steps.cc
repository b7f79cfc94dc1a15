#include "keep_steps.h"

#include <algorithm>

#include "link_calls.h"

namespace skewscope::ingest {
namespace {

// Keeps the rows whose entry of `keep` is set.
template <class Rows>
void keep_rows(const std::vector<bool>& keep, Rows& rows) {
  size_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!keep[i]) continue;
    if (kept != i) rows[kept] = std::move(rows[i]);
    ++kept;
  }
  rows.resize(kept);
}

// New number of each kept row; -1 for the others.
std::vector<int32_t> numbers_of(const std::vector<bool>& keep) {
  std::vector<int32_t> numbers(keep.size(), -1);
  int32_t next = 0;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i]) numbers[i] = next++;
  }
  return numbers;
}

class Filter {
 public:
  Filter(LinkedTrace& linked, std::pair<int64_t, int64_t> steps) : linked_(linked), steps_(steps) {}

  void apply() {
    const std::vector<bool> rows = wanted_gpu_rows();
    const LocalNs earlier = earlier_end(rows);
    const std::vector<bool> launches = launches_of(rows);
    keep_gpu_rows(rows, numbers_of(launches));
    for_each_column(linked_.trace.launches, [&](auto& column) { keep_rows(launches, column); });
    keep_calls(numbers_of(rows));
    if (linked_.detail) {
      linked_.detail->earlier_end = earlier;
      keep_details(rows, *linked_.detail);
    }
    keep_mentioned_groups();
    std::erase_if(linked_.trace.steps, [&](const StepRange& step) { return !wanted(step.number); });
    if (!wanted(-1)) std::erase_if(linked_.findings, [](const Finding& f) { return f.code == "orphan-kernels"; });
    describe_rows(linked_);
  }

 private:
  bool wanted(int64_t step) const { return step >= steps_.first && step < steps_.second; }

  std::vector<bool> wanted_gpu_rows() const {
    const RankTrace& trace = linked_.trace;
    std::vector<bool> keep(trace.gpu.size());
    for (size_t i = 0; i < keep.size(); ++i) {
      const int32_t launch = trace.gpu.launch[i];
      keep[i] =
          wanted(launch < 0 ? -1 : step_number_at(trace.steps, trace.launches.start[static_cast<size_t>(launch)]));
    }
    return keep;
  }

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

  std::vector<bool> launches_of(const std::vector<bool>& rows) const {
    std::vector<bool> keep(linked_.trace.launches.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const int32_t launch = linked_.trace.gpu.launch[i];
      if (rows[i] && launch >= 0) keep[static_cast<size_t>(launch)] = true;
    }
    return keep;
  }

  void keep_gpu_rows(const std::vector<bool>& rows, const std::vector<int32_t>& new_launch) {
    GpuEvents& gpu = linked_.trace.gpu;
    for (int32_t& launch : gpu.launch) {
      if (launch >= 0) launch = new_launch[static_cast<size_t>(launch)];
    }
    for_each_column(gpu, [&](auto& column) { keep_rows(rows, column); });
  }

  void keep_calls(const std::vector<int32_t>& new_gpu_row) {
    Column<CollectiveCall>& calls = linked_.trace.calls;
    std::vector<bool> keep(calls.size());
    for (size_t i = 0; i < calls.size(); ++i) {
      keep[i] = wanted(calls[i].step);
      if (calls[i].gpu_row >= 0) calls[i].gpu_row = new_gpu_row[static_cast<size_t>(calls[i].gpu_row)];
    }
    keep_messages(keep);
    keep_rows(keep, calls);
    keep_rows(keep, linked_.open_calls);
    if (linked_.detail) for_each_column(linked_.detail->calls, [&](auto& column) { keep_rows(keep, column); });
  }

  void keep_messages(const std::vector<bool>& calls) {
    Column<BatchMessage>& messages = linked_.trace.messages;
    const std::vector<int32_t> new_call = numbers_of(calls);
    std::vector<bool> keep(messages.size());
    for (size_t i = 0; i < messages.size(); ++i) {
      keep[i] = calls[static_cast<size_t>(messages[i].call)];
      messages[i].call = new_call[static_cast<size_t>(messages[i].call)];
    }
    keep_rows(keep, messages);
    keep_rows(keep, linked_.open_peers);
  }

  // A launch lies in a step that is kept, and with it its host row.
  void keep_details(const std::vector<bool>& gpu_rows, RankDetail& detail) const {
    std::vector<bool> host(detail.host.size());
    for (size_t i = 0; i < host.size(); ++i)
      host[i] = wanted(step_number_at(linked_.trace.steps, detail.host.start[i]));
    const std::vector<int32_t> new_row = numbers_of(host);
    for_each_column(detail.host, [&](auto& column) { keep_rows(host, column); });
    for_each_column(detail.gpu, [&](auto& column) { keep_rows(gpu_rows, column); });
    for (int32_t& caller : detail.gpu.caller) {
      if (caller >= 0) caller = new_row[static_cast<size_t>(caller)];
    }
    keep_annotations(detail.gpu_annotations);
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
  std::pair<int64_t, int64_t> steps_;
};

}  // namespace

void keep_steps(TraceFile& file, std::pair<int64_t, int64_t> steps) {
  file.steps_before_filter.emplace();
  for (const StepRange& step : file.linked.trace.steps) file.steps_before_filter->push_back(step.number);
  Filter(file.linked, steps).apply();
  file.evidence.first_event = file.linked.trace.first_event;
  file.evidence.last_event = file.linked.trace.last_event;
}

}  // namespace skewscope::ingest
