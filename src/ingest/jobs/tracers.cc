#include "tracers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "recorded_together.h"
#include "skewscope/base/disjoint_sets.h"

namespace skewscope::ingest {
namespace {

// The files of one tracer, and what they have in common.
struct Tracer {
  Rows rows;
  std::set<size_t> clusters;  // by time
  std::set<std::pair<std::string, int64_t>> processes;
  std::set<GpuVendor> vendors;
  bool timed = true;  // all of them
};

template <class Set>
bool share(const Set& a, const Set& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& x) { return b.count(x) > 0; });
}

bool may_be_of_one_job(const Tracer& a, const Tracer& b) {
  if (!a.vendors.empty() && !b.vendors.empty() && !share(a.vendors, b.vendors)) return false;
  return !a.timed || !b.timed || share(a.clusters, b.clusters) || share(a.processes, b.processes);
}

}  // namespace

Parts parts_by_tracers(const std::vector<JobClues>& files, const Rows& rows) {
  std::map<std::string, Tracer> by_format;
  for (const size_t i : rows) by_format[files[i].file->format].rows.push_back(i);
  if (by_format.size() < 2) return {rows};
  const std::map<size_t, size_t> cluster = clusters_of(files, rows, kApart_ns);
  std::vector<Tracer> tracers;
  for (auto& [format, tracer] : by_format) {
    for (const size_t i : tracer.rows) {
      const RankEvidence& file = files[i].evidence();
      const RankTrace& trace = files[i].file->linked.trace;
      if (files[i].timed()) tracer.clusters.insert(cluster.at(i));
      tracer.timed = tracer.timed && files[i].timed();
      if (!file.host.empty() && file.process_id >= 0) tracer.processes.emplace(file.host, file.process_id);
      if (trace.gpu.size() > 0 && trace.vendor != GpuVendor::other) tracer.vendors.insert(trace.vendor);
    }
    tracers.push_back(std::move(tracer));
  }
  DisjointSets sets(tracers.size());
  for (size_t a = 0; a < tracers.size(); ++a) {
    for (size_t b = a + 1; b < tracers.size(); ++b) {
      if (may_be_of_one_job(tracers[a], tracers[b])) sets.unite(a, b);
    }
  }
  std::map<size_t, Rows> parts;
  for (size_t a = 0; a < tracers.size(); ++a) {
    Rows& part = parts[sets.root(a)];
    part.insert(part.end(), tracers[a].rows.begin(), tracers[a].rows.end());
  }
  Parts result;
  for (auto& [root, part] : parts) {
    std::sort(part.begin(), part.end());
    result.push_back(std::move(part));
  }
  return result;
}

}  // namespace skewscope::ingest
