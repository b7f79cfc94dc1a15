#include "kernel_uses.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace skewscope::blame {
namespace {

KernelUses count(const GpuEvents& gpu, const KernelSpan& span) {
  const auto begin = std::lower_bound(gpu.start.begin(), gpu.start.end(), span.from) - gpu.start.begin();
  std::unordered_map<StringId, KernelUse> by_name;
  for (auto i = static_cast<size_t>(begin); i < gpu.size() && gpu.start[i] < span.to; ++i) {
    if (gpu.work[i] == GpuWork::communication || gpu.work[i] == GpuWork::memcpy) continue;
    KernelUse& use = by_name[gpu.name[i]];
    use.name = gpu.name[i];
    ++use.rows;
    use.ns += gpu.duration_ns[i];
  }
  KernelUses uses;
  for (const auto& [name, use] : by_name) uses.push_back(use);
  std::sort(uses.begin(), uses.end(), [](const KernelUse& a, const KernelUse& b) { return a.name < b.name; });
  return uses;
}

double mean_ns(const KernelUse& use) { return static_cast<double>(use.ns) / static_cast<double>(use.rows); }

double one_sided_surplus_ns(const KernelUses& of, const KernelUses& other) {
  double surplus = 0;
  auto at = other.begin();
  for (const KernelUse& use : of) {
    while (at != other.end() && at->name < use.name) ++at;
    const int64_t rows = at == other.end() || at->name != use.name ? 0 : at->rows;
    if (use.rows > rows) surplus += mean_ns(use) * static_cast<double>(use.rows - rows);
  }
  return surplus;
}

}  // namespace

std::vector<KernelUses> kernel_uses(const JobTrace& job, std::vector<KernelSpan> spans, Exchange& exchange) {
  follow_first(exchange, spans);
  std::vector<KernelUses> uses(spans.size());
  tbb::parallel_for(size_t{0}, spans.size(), [&](size_t s) {
    if (job.holds(spans[s].trace)) uses[s] = count(job[spans[s].trace].gpu, spans[s]);
  });
  tell_first(
      exchange, uses.size(), [&](size_t s) { return job[spans[s].trace].process; },
      [&](ByteWriter& writer, size_t s) { writer.put(uses[s]); },
      [&](ByteReader& reader, size_t s) { reader.get(uses[s]); });
  return uses;
}

int64_t surplus_ns(const KernelUses& late, const KernelUses& peer) {
  return std::llround(one_sided_surplus_ns(late, peer) - one_sided_surplus_ns(peer, late));
}

}  // namespace skewscope::blame
