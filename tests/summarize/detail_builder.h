// Hand-made traces with host rows, in microseconds, so that inputs are visible where they are used.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "skewscope/base/string_table.h"
#include "skewscope/model/rank_detail.h"

namespace skewscope::test {

struct DetailBuilder {
  StringTable strings;
  RankTrace trace;
  RankDetail detail;

  // A row of a host thread; the number that names it from now on, whatever the order of rows.
  int32_t op(const std::string& name, double start_us, double end_us, int32_t thread = 0) {
    return host_row(HostKind::op, name, start_us, end_us, thread);
  }
  int32_t call(const std::string& name, double start_us, double end_us, int32_t thread = 0) {
    return host_row(HostKind::call, name, start_us, end_us, thread);
  }
  int32_t python(const std::string& name, double start_us, double end_us, int32_t thread = 0) {
    detail.has_python = true;
    return host_row(HostKind::python, name, start_us, end_us, thread);
  }
  int32_t annotation(const std::string& name, double start_us, double end_us, int32_t thread = 0) {
    return host_row(HostKind::annotation, name, start_us, end_us, thread);
  }

  // Arguments of an op, as JSON texts.
  void arguments(int32_t op, const std::string& dims, const std::string& types = "", const std::string& strides = "",
                 const std::string& values = "") {
    detail.has_arguments = true;
    ArgumentSet set;
    set.dims = strings.intern(dims);
    if (!types.empty()) set.types = strings.intern(types);
    if (!strides.empty()) set.strides = strings.intern(strides);
    if (!values.empty()) set.values = strings.intern(values);
    detail.host.arguments[row(op)] = static_cast<int32_t>(detail.arguments.size());
    detail.arguments.push_back(set);
  }

  void sequence(int32_t op, int32_t number, int32_t forward_thread = 0) {
    detail.host.sequence[row(op)] = number;
    detail.host.forward_thread[row(op)] = forward_thread;
  }

  // A GPU row that `caller` launched; -1: launched before recording began.
  void gpu(int32_t caller, const std::string& name, double start_us, double end_us, GpuWork work = GpuWork::compute,
           int32_t stream = 7) {
    gpu_rows_.push_back(
        {ns(start_us), ns(end_us) - ns(start_us), work, strings.intern(name), stream, caller, place_++});
  }

  // Sorts the rows; to be called after the last one was added.
  void finish() {
    sort_host();
    std::sort(gpu_rows_.begin(), gpu_rows_.end(), [](const GpuRow& a, const GpuRow& b) {
      return std::tie(a.start_ns, b.duration_ns, a.place) < std::tie(b.start_ns, a.duration_ns, b.place);
    });
    for (const GpuRow& g : gpu_rows_) {
      trace.gpu.start.push_back(LocalNs{g.start_ns});
      trace.gpu.duration_ns.push_back(g.duration_ns);
      trace.gpu.work.push_back(g.work);
      trace.gpu.name.push_back(g.name);
      trace.gpu.device.push_back(0);
      trace.gpu.stream.push_back(g.stream);
      trace.gpu.launch.push_back(g.caller < 0 ? -1 : launch(row(g.caller)));
      detail.gpu.caller.push_back(g.caller < 0 ? -1 : static_cast<int32_t>(row(g.caller)));
      detail.gpu.place.push_back(g.place);
      detail.gpu.shape.push_back(-1);
      detail.gpu.operation.push_back(-1);
      detail.gpu.bytes.push_back(-1);
      detail.gpu.gb_per_s.push_back(-1);
    }
  }

  size_t row(int32_t number) const { return static_cast<size_t>(row_of_[static_cast<size_t>(number)]); }

 private:
  struct GpuRow {
    int64_t start_ns, duration_ns;
    GpuWork work;
    StringId name;
    int32_t stream, caller, place;
  };

  static int64_t ns(double us) { return static_cast<int64_t>(us * 1000); }

  int32_t host_row(HostKind kind, const std::string& name, double start_us, double end_us, int32_t thread) {
    while (static_cast<int32_t>(detail.threads.size()) <= thread) {
      detail.threads.push_back({1, static_cast<int64_t>(detail.threads.size()), "python3", "CPU", "thread"});
    }
    HostEvents& host = detail.host;
    host.start.push_back(LocalNs{ns(start_us)});
    host.duration_ns.push_back(ns(end_us) - ns(start_us));
    host.name.push_back(strings.intern(name));
    host.kind.push_back(kind);
    host.thread.push_back(thread);
    host.place.push_back(place_++);
    host.arguments.push_back(-1);
    host.sequence.push_back(-1);
    host.forward_thread.push_back(0);
    row_of_.push_back(static_cast<int32_t>(host.size()) - 1);
    return row_of_.back();
  }

  int32_t launch(size_t host_row) {
    trace.launches.start.push_back(detail.host.start[host_row]);
    trace.launches.duration_ns.push_back(detail.host.duration_ns[host_row]);
    trace.launches.thread.push_back(detail.host.thread[host_row]);
    return static_cast<int32_t>(trace.launches.size()) - 1;
  }

  void sort_host() {
    HostEvents& host = detail.host;
    std::vector<size_t> order(host.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::make_tuple(host.thread[a], host.start[a], -host.duration_ns[a], host.place[a]) <
             std::make_tuple(host.thread[b], host.start[b], -host.duration_ns[b], host.place[b]);
    });
    for (size_t i = 0; i < order.size(); ++i) row_of_[order[i]] = static_cast<int32_t>(i);
    const auto permute = [&](auto& column) {
      const auto before = column;
      for (size_t i = 0; i < order.size(); ++i) column[i] = before[order[i]];
    };
    permute(host.start);
    permute(host.duration_ns);
    permute(host.name);
    permute(host.kind);
    permute(host.thread);
    permute(host.place);
    permute(host.arguments);
    permute(host.sequence);
    permute(host.forward_thread);
  }

  std::vector<int32_t> row_of_;  // number -> row in HostEvents
  std::vector<GpuRow> gpu_rows_;
  int32_t place_ = 0;
};

}  // namespace skewscope::test
