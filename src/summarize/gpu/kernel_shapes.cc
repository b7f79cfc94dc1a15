// GPU rows by what they look like. Variants and copies are sums over rows of one key. Utilization sweeps over starts
// and ends of kernels in the window of the steps: between two edges the sum of blocks per SM of what runs says how much
// of the SMs has work, one block per SM counting as full (tb_plugin's "Est. SM Efficiency").
#include "kernel_shapes.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "rank_tables.h"
#include "spread.h"

namespace skewscope::summarize {
namespace {

bool is_kernel(GpuWork work) { return work == GpuWork::compute || work == GpuWork::communication; }

// Whether no other row of its device runs at the same time.
std::vector<bool> rows_alone(const GpuEvents& gpu) {
  std::vector<bool> alone(gpu.size(), true);
  struct Latest {
    LocalNs end;
    size_t row;
  };
  std::unordered_map<int32_t, Latest> latest;
  for (size_t i = 0; i < gpu.size(); ++i) {
    const LocalNs end = gpu.start[i] + gpu.duration_ns[i];
    const auto [known, first] = latest.try_emplace(gpu.device[i], Latest{end, i});
    if (first) continue;
    Latest& before = known->second;
    if (gpu.start[i] < before.end) alone[i] = alone[before.row] = false;
    if (end > before.end) before = {end, i};
  }
  return alone;
}

struct VariantRows {
  KernelVariant variant;
  std::vector<int64_t> alone_ns;
};

struct CopyRows {
  struct Change {
    LocalNs at;
    double gb_per_s;
  };
  CopyTotals copies;
  std::vector<Change> changes;

  void add_rate(LocalNs start, int64_t duration_ns, double gb_per_s) {
    changes.push_back({start, gb_per_s});
    changes.push_back({start + duration_ns, -gb_per_s});
  }

  Distribution concurrent_rates() {
    std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
    std::vector<double> rates;
    double rate = 0;
    for (const Change& change : changes) {
      rate += change.gb_per_s;
      constexpr double kNothing = 1e-9;  // what rounding leaves of a sum that came back to zero
      if (rate > kNothing) rates.push_back(rate);
    }
    return distribution_of(rates);
  }
};

auto shape_key(const KernelShape& shape) {
  return std::make_tuple(shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1], shape.block[2],
                         shape.registers, shape.shared_memory);
}

struct Window {
  LocalNs start, end;
  bool any = false;
};

// When the first step begins: at its start on the host, or when rows launched outside the steps have ended that ended
// before the first row of the step began.
LocalNs start_of_steps(const RankTrace& trace, const RankDetail& detail,
                       const std::vector<std::vector<int32_t>>& rows) {
  LocalNs start = trace.steps.front().start;
  if (rows.front().empty()) return start;
  start = std::max(start, detail.earlier_end);
  std::vector<bool> in_steps(trace.gpu.size(), false);
  for (const std::vector<int32_t>& step : rows) {
    for (const int32_t row : step) in_steps[static_cast<size_t>(row)] = true;
  }
  const LocalNs first_row = trace.gpu.start[static_cast<size_t>(rows.front().front())];
  for (size_t i = 0; i < trace.gpu.size(); ++i) {
    const LocalNs end = trace.gpu.start[i] + trace.gpu.duration_ns[i];
    if (!in_steps[i] && end < first_row) start = std::max(start, end);
  }
  return start;
}

// tb_plugin: a step ends with the last GPU row launched in it. Steps at the end without rows are left out, and so is
// the last where it has less than 80 % of the rows of the one before.
Window window_of(const RankTrace& trace, const RankDetail& detail) {
  const GpuEvents& gpu = trace.gpu;
  Window window;
  const std::vector<std::vector<int32_t>> rows = rows_by_step(trace);
  size_t steps = rows.size();
  while (steps > 0 && rows[steps - 1].empty()) --steps;
  if (steps > 1 && 10 * rows[steps - 1].size() < 8 * rows[steps - 2].size()) --steps;
  if (steps == 0) {
    for (size_t i = 0; i < gpu.size(); ++i) {
      window.start = gpu.start.front();
      window.end = std::max(i == 0 ? gpu.start[0] : window.end, gpu.start[i] + gpu.duration_ns[i]);
    }
    window.any = gpu.size() > 0;
    return window;
  }
  window.start = window.end = start_of_steps(trace, detail, rows);
  window.any = true;
  for (size_t s = 0; s < steps; ++s) {
    window.end = std::max(window.end, trace.steps[s].start + trace.steps[s].duration_ns);
    for (const int32_t row : rows[s]) {
      const auto i = static_cast<size_t>(row);
      window.end = std::max(window.end, gpu.start[i] + gpu.duration_ns[i]);
    }
  }
  return window;
}

// A kernel begins or ends.
struct WorkEdge {
  LocalNs at;
  int32_t change;
  double blocks_per_sm;
};

std::vector<WorkEdge> edges_in(const Window& window, const GpuEvents& gpu, const RankDetail& detail, int32_t device) {
  std::vector<WorkEdge> edges;
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (gpu.device[i] != device || !is_kernel(gpu.work[i])) continue;
    const LocalNs start = std::max(gpu.start[i], window.start);
    const LocalNs end = std::min(gpu.start[i] + gpu.duration_ns[i], window.end);
    if (start >= end) continue;
    const int32_t shape = detail.gpu.shape[i];
    const double blocks = shape < 0 ? 0 : std::max(0.0, detail.shapes[static_cast<size_t>(shape)].blocks_per_sm);
    edges.push_back({start, 1, blocks});
    edges.push_back({end, -1, -blocks});
  }
  std::stable_sort(edges.begin(), edges.end(), [](const WorkEdge& a, const WorkEdge& b) { return a.at < b.at; });
  return edges;
}

}  // namespace

std::vector<KernelVariant> kernel_variants(const GpuEvents& gpu, const RankDetail& detail, const StringTable& strings) {
  const std::vector<bool> alone = rows_alone(gpu);
  std::map<std::pair<int32_t, int32_t>, VariantRows> variants;
  for (size_t i = 0; i < gpu.size(); ++i) {
    const int32_t shape = detail.gpu.shape[i];
    if (!is_kernel(gpu.work[i]) || shape < 0) continue;
    VariantRows& rows = variants[{gpu.name[i].value, shape}];
    KernelVariant& v = rows.variant;
    const int64_t ns = gpu.duration_ns[i];
    v.work = gpu.work[i];
    v.shortest_ns = v.count == 0 ? ns : std::min(v.shortest_ns, ns);
    v.longest_ns = std::max(v.longest_ns, ns);
    v.total_ns += ns;
    ++v.count;
    if (alone[i]) rows.alone_ns.push_back(ns);
  }
  std::vector<KernelVariant> sorted;
  for (auto& [key, rows] : variants) {
    KernelVariant& v = rows.variant;
    v.name = strings.view(StringId(key.first));
    v.shape = detail.shapes[static_cast<size_t>(key.second)];
    v.alone = static_cast<int64_t>(rows.alone_ns.size());
    if (v.alone > 0) {
      std::sort(rows.alone_ns.begin(), rows.alone_ns.end());
      v.alone_median_ns = percentile(rows.alone_ns, 50);
      v.alone_p95_ns = percentile(rows.alone_ns, 95);
    }
    sorted.push_back(std::move(v));
  }
  std::sort(sorted.begin(), sorted.end(), [](const KernelVariant& a, const KernelVariant& b) {
    if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
    return a.name != b.name ? a.name < b.name : shape_key(a.shape) < shape_key(b.shape);
  });
  return sorted;
}

std::vector<CopyTotals> copy_totals(const GpuEvents& gpu, const GpuDetails& details, const StringTable& strings) {
  std::unordered_map<StringId, CopyRows> by_name;
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (is_kernel(gpu.work[i])) continue;
    CopyRows& rows = by_name[gpu.name[i]];
    CopyTotals& copies = rows.copies;
    ++copies.count;
    copies.total_ns += gpu.duration_ns[i];
    if (details.gb_per_s[i] >= 0) rows.add_rate(gpu.start[i], gpu.duration_ns[i], details.gb_per_s[i]);
    if (details.bytes[i] < 0) continue;
    ++copies.sized;
    if (__builtin_add_overflow(copies.bytes, details.bytes[i], &copies.bytes)) copies.bytes = INT64_MAX;
    copies.timed_ns += gpu.duration_ns[i];
  }
  std::vector<CopyTotals> sorted;
  for (auto& [name, rows] : by_name) {
    rows.copies.name = strings.view(name);
    rows.copies.concurrent_gb_per_s = rows.concurrent_rates();
    sorted.push_back(std::move(rows.copies));
  }
  std::sort(sorted.begin(), sorted.end(), [](const CopyTotals& a, const CopyTotals& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
  });
  return sorted;
}

Utilization utilization_of(const RankTrace& trace, const RankDetail& detail) {
  Utilization u;
  const Window window = window_of(trace, detail);
  if (!window.any || window.end <= window.start) return u;
  u.window_ns = window.end - window.start;
  const std::set<int32_t> devices(trace.gpu.device.begin(), trace.gpu.device.end());
  double filled_ns = 0;
  for (const int32_t device : devices) {
    int32_t running = 0;
    double blocks = 0;
    LocalNs at = window.start;
    for (const WorkEdge& edge : edges_in(window, trace.gpu, detail, device)) {
      const int64_t span = edge.at - at;
      if (running > 0) u.kernel_ns += span;
      filled_ns += std::min(blocks, 1.0) * static_cast<double>(span);
      running += edge.change;
      blocks = running == 0 ? 0 : blocks + edge.blocks_per_sm;
      at = edge.at;
    }
  }
  u.kernel_ns /= std::max<int64_t>(1, std::ssize(devices));
  filled_ns /= static_cast<double>(std::max<size_t>(1, devices.size()));
  u.gpu = static_cast<double>(u.kernel_ns) / static_cast<double>(u.window_ns);
  double occupied_ns = 0, told_ns = 0;
  bool blocks_told = false;
  for (size_t i = 0; i < trace.gpu.size(); ++i) {
    const int32_t shape = detail.gpu.shape[i];
    if (shape < 0 || !is_kernel(trace.gpu.work[i])) continue;
    const KernelShape& look = detail.shapes[static_cast<size_t>(shape)];
    blocks_told |= look.blocks_per_sm >= 0;
    if (look.occupancy_percent < 0) continue;
    occupied_ns += look.occupancy_percent / 100 * static_cast<double>(trace.gpu.duration_ns[i]);
    told_ns += static_cast<double>(trace.gpu.duration_ns[i]);
  }
  if (blocks_told) u.sm_efficiency = filled_ns / static_cast<double>(u.window_ns);
  if (told_ns > 0) u.occupancy = occupied_ns / told_ns;
  return u;
}

}  // namespace skewscope::summarize
