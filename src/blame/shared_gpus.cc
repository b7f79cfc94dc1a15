#include "shared_gpus.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace skewscope::blame {
namespace {

using Gpu = std::tuple<int32_t, std::string, int32_t>;  // session, host, device

// Traces by GPU, where it has several.
std::map<Gpu, std::vector<size_t>> shared_gpus(const std::vector<RankTrace>& traces) {
  std::map<Gpu, std::vector<size_t>> gpus;
  std::set<int32_t> devices;
  bool any_host = false, all_on_gpus = true;
  for (size_t t = 0; t < traces.size(); ++t) {
    const RankTrace& trace = traces[t];
    any_host = any_host || !trace.host.empty();
    all_on_gpus = all_on_gpus && trace.device >= 0;
    devices.insert(trace.device);
    if (trace.device >= 0) gpus[{trace.session.value, trace.host, trace.device}].push_back(t);
  }
  const bool told_by_device = !any_host && all_on_gpus && devices.size() == 1;
  std::erase_if(gpus, [&](const auto& gpu) {
    return gpu.second.size() < 2 || (std::get<1>(gpu.first).empty() && !told_by_device);
  });
  return gpus;
}

// On the common clock, in order, alternating begin and end.
std::vector<int64_t> busy_edges(const JobView& view, TraceIndex trace) {
  const GpuEvents& gpu = view.job[trace].gpu;
  std::vector<int64_t> edges;
  LocalNs until{INT64_MIN};
  for (size_t i = 0; i < gpu.size(); ++i) {
    const LocalNs end = gpu.start[i] + gpu.duration_ns[i];
    if (gpu.work[i] != GpuWork::compute || end <= until) continue;
    if (gpu.start[i] > until) {
      edges.push_back(view.clocks.to_job(trace, gpu.start[i]).ns);
      edges.push_back(0);
    }
    until = end;
    edges.back() = view.clocks.to_job(trace, end).ns;
  }
  return edges;
}

int64_t at_once_ns(const std::vector<size_t>& traces, const std::vector<std::vector<int64_t>>& edges) {
  std::vector<std::pair<int64_t, int>> changes;  // when, and by how many that compute
  for (const size_t t : traces) {
    for (size_t i = 0; i < edges[t].size(); ++i) changes.emplace_back(edges[t][i], i % 2 == 0 ? 1 : -1);
  }
  std::sort(changes.begin(), changes.end());
  int64_t ns = 0;
  int computing = 0;
  for (size_t i = 0; i + 1 < changes.size(); ++i) {
    computing += changes[i].second;
    if (computing > 1) ns += changes[i + 1].first - changes[i].first;
  }
  return ns;
}

}  // namespace

int64_t computing_at_once_ns(const JobView& view, Exchange& exchange) {
  const std::vector<RankTrace>& traces = view.job.traces;
  const std::map<Gpu, std::vector<size_t>> gpus = shared_gpus(traces);
  if (gpus.empty()) return 0;
  std::vector<std::vector<int64_t>> edges(traces.size());
  for (const auto& [gpu, on_it] : gpus) {
    for (const size_t t : on_it) {
      const TraceIndex trace(static_cast<int64_t>(t));
      if (view.job.holds(trace)) edges[t] = busy_edges(view, trace);
    }
  }
  tell_first(
      exchange, edges.size(), [&](size_t t) { return traces[t].process; },
      [&](ByteWriter& writer, size_t t) { writer.put(edges[t]); },
      [&](ByteReader& reader, size_t t) { reader.get(edges[t]); });
  std::map<int32_t, int64_t> most;  // by session
  for (const auto& [gpu, on_it] : gpus) {
    int64_t& of_session = most[std::get<0>(gpu)];
    of_session = std::max(of_session, at_once_ns(on_it, edges));
  }
  int64_t sum = 0;
  for (const auto& [session, ns] : most) sum += ns;
  return sum;
}

}  // namespace skewscope::blame
