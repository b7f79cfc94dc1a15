#include "kernel_uses.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

namespace skewscope::blame {
namespace {

// `place`: per name -1, before and after.
KernelUses count(const GpuEvents& gpu, const KernelSpan& span, std::vector<int32_t>& place) {
  const auto begin = std::lower_bound(gpu.start.begin(), gpu.start.end(), span.from) - gpu.start.begin();
  KernelUses uses;
  for (auto i = static_cast<size_t>(begin); i < gpu.size() && gpu.start[i] < span.to; ++i) {
    if (gpu.work[i] == GpuWork::communication || gpu.work[i] == GpuWork::memcpy) continue;
    int32_t& at = place[gpu.name[i].index()];
    if (at < 0) {
      at = static_cast<int32_t>(uses.size());
      uses.push_back({gpu.name[i], 0, 0});
    }
    KernelUse& use = uses[static_cast<size_t>(at)];
    ++use.rows;
    use.ns += gpu.duration_ns[i];
  }
  for (const KernelUse& use : uses) place[use.name.index()] = -1;
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
  tbb::enumerable_thread_specific<std::vector<int32_t>> places(job.strings.size(), -1);
  tbb::parallel_for(size_t{0}, spans.size(), [&](size_t s) {
    if (job.holds(spans[s].trace)) uses[s] = count(job[spans[s].trace].gpu, spans[s], places.local());
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
