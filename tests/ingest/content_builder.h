// Builds FileContent by hand: one line per row of a trace, times in microseconds since `kEpoch`.
#pragma once

#include <deque>
#include <string>
#include <utility>

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

constexpr int64_t kEpoch = 1'700'000'000'000'000'000;
inline LocalNs at_us(int64_t us) { return {kEpoch + us * 1000}; }

class ContentBuilder {
 public:
  explicit ContentBuilder(std::string file = "trace.json") {
    content_.file = std::move(file);
    content_.kind = ContentKind::rank_trace;
    content_.has_cpu_ops = true;
  }

  StringId text(const std::string& s) { return content_.strings.intern(s); }

  CommArgs args(const std::string& operation, const std::string& dtype, int64_t in, int64_t out,
                const std::string& group, const std::string& ranks, int64_t size) {
    CommArgs a;
    a.collective_name = text(operation);
    a.dtype = text(dtype);
    a.in_elements = in;
    a.out_elements = out;
    a.group_name = text(group);
    a.group_description = text(group == "0" ? "default_pg" : "undefined");
    a.group_ranks = text(ranks);
    a.group_size = size;
    return a;
  }

  int32_t add(const CommArgs& a) {
    content_.comm_args.push_back(a);
    return static_cast<int32_t>(content_.comm_args.size()) - 1;
  }

  GpuRow& kernel(const std::string& name, int64_t start_us, int64_t duration_us, int64_t correlation,
                 int32_t stream = 7) {
    GpuRow row;
    row.start = at_us(start_us);
    row.duration_ns = duration_us * 1000;
    row.correlation = correlation;
    row.name = text(name);
    row.device = 0;
    row.stream = stream;
    row.work = KernelTable::built_in().work_of(name);
    return kernels_.emplace_back(row);
  }

  LaunchRow& launch(int64_t start_us, int64_t correlation, int64_t thread = 1) {
    return launches_.emplace_back(LaunchRow{at_us(start_us), 5000, correlation, thread});
  }

  CommOpRow& op(const std::string& name, int64_t start_us, int64_t duration_us, int64_t thread = 1) {
    CommOpRow row;
    row.start = at_us(start_us);
    row.duration_ns = duration_us * 1000;
    row.thread = thread;
    row.name = text(name);
    content_.comm_ops.push_back(row);
    return content_.comm_ops.back();
  }

  CommOpRow& shaped_op(const std::string& name, int64_t start_us, int64_t duration_us, int64_t elements,
                       const std::string& type, int64_t thread = 1) {
    CommOpRow& row = op(name, start_us, duration_us, thread);
    row.input_elements = elements;
    row.input_type = text(type);
    return row;
  }

  void gpu_range(const std::string& name, int64_t start_us, int64_t duration_us, int32_t stream = 7) {
    content_.gpu_annotations.push_back({{at_us(start_us).ns - 1}, duration_us * 1000 + 2, text(name), 0, stream});
  }

  void step(int64_t number, int64_t start_us, int64_t duration_us) {
    content_.steps.push_back({at_us(start_us), duration_us * 1000, number});
  }

  // cudaDeviceSynchronize.
  void sync(int64_t start_us, int64_t duration_us) {
    content_.syncs.push_back({at_us(start_us), duration_us * 1000, false});
  }

  void recording_ends(int64_t at) { content_.syncs.push_back({at_us(at), 0, true}); }

  void distributed(int64_t rank, int64_t world) {
    content_.distributed.present = true;
    content_.distributed.rank = rank;
    content_.distributed.world_size = world;
    content_.distributed.backend = "nccl";
  }

  void group(const std::string& name, const std::vector<int64_t>& ranks) {
    const int64_t size = static_cast<int64_t>(ranks.size());
    content_.distributed.groups.push_back(
        {name, name == "0" ? "default_pg" : "undefined", size, RankRuns(ranks), -1, ""});
  }

  // With all that was added. Rows that kernel() and launch() gave can be changed until then.
  FileContent& content() {
    content_.gpu.append({kernels_.begin(), kernels_.end()});
    content_.launches.append({launches_.begin(), launches_.end()});
    kernels_.clear();
    launches_.clear();
    return content_;
  }

 private:
  FileContent content_;
  std::deque<GpuRow> kernels_;
  std::deque<LaunchRow> launches_;
};

}  // namespace skewscope::ingest
