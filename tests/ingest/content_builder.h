// Builds FileContent by hand: one line per row of a trace, times in microseconds since `kEpoch`.
#pragma once

#include <string>

#include "src/ingest/file_content.h"

namespace skewscope::ingest {

constexpr int64_t kEpoch = 1'700'000'000'000'000'000;
inline LocalNs at_us(int64_t us) { return {kEpoch + us * 1000}; }

class ContentBuilder {
 public:
  explicit ContentBuilder(std::string file = "trace.json") {
    content.file = std::move(file);
    content.kind = ContentKind::rank_trace;
    content.has_cpu_ops = true;
  }

  StringId text(const std::string& s) { return content.strings.intern(s); }

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
    content.comm_args.push_back(a);
    return static_cast<int32_t>(content.comm_args.size()) - 1;
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
    row.work = work_of_kernel(name);
    content.gpu.push_back(row);
    return content.gpu.back();
  }

  LaunchRow& launch(int64_t start_us, int64_t correlation, int64_t thread = 1) {
    content.launches.push_back({at_us(start_us), 5000, correlation, -1, thread});
    return content.launches.back();
  }

  CommOpRow& op(const std::string& name, int64_t start_us, int64_t duration_us, int64_t thread = 1) {
    CommOpRow row;
    row.start = at_us(start_us);
    row.duration_ns = duration_us * 1000;
    row.thread = thread;
    row.name = text(name);
    content.comm_ops.push_back(row);
    return content.comm_ops.back();
  }

  CommOpRow& shaped_op(const std::string& name, int64_t start_us, int64_t duration_us, int64_t elements,
                       const std::string& type, int64_t thread = 1) {
    CommOpRow& row = op(name, start_us, duration_us, thread);
    row.input_elements = elements;
    row.input_type = text(type);
    return row;
  }

  void gpu_range(const std::string& name, int64_t start_us, int64_t duration_us, int32_t stream = 7) {
    content.gpu_annotations.push_back({{at_us(start_us).ns - 1}, duration_us * 1000 + 2, text(name), 0, stream});
  }

  void step(int64_t number, int64_t start_us, int64_t duration_us) {
    content.steps.push_back({at_us(start_us), duration_us * 1000, number});
  }

  void distributed(int64_t rank, int64_t world) {
    content.distributed.present = true;
    content.distributed.rank = rank;
    content.distributed.world_size = world;
    content.distributed.backend = "nccl";
  }

  void group(const std::string& name, std::vector<int64_t> ranks) {
    const int64_t size = static_cast<int64_t>(ranks.size());
    content.distributed.groups.push_back({name, name == "0" ? "default_pg" : "undefined", size, std::move(ranks), ""});
  }

  FileContent content;
};

}  // namespace skewscope::ingest
