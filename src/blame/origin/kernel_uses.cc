#include "kernel_uses.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

namespace skewscope::blame {
namespace {

struct Rows {
  const GpuEvents& gpu;
  size_t begin, end;
};

Rows rows_of(const KernelSpan& span, const JobTrace& job) {
  const GpuEvents& gpu = job[span.trace].gpu;
  const auto first = std::lower_bound(gpu.start.begin(), gpu.start.end(), span.from);
  const auto last = std::lower_bound(first, gpu.start.end(), std::max(span.from, span.to));
  return {gpu, static_cast<size_t>(first - gpu.start.begin()), static_cast<size_t>(last - gpu.start.begin())};
}

bool counts(GpuWork work) { return work != GpuWork::communication && work != GpuWork::memcpy; }

// The same kernels in the same order, whatever is copied or communicated between them.
bool run_the_same(const Rows& a, const Rows& b) {
  const auto skip = [](const Rows& rows, size_t row) {
    while (row < rows.end && !counts(rows.gpu.work[row])) ++row;
    return row;
  };
  size_t x = skip(a, a.begin), y = skip(b, b.begin);
  while (x < a.end && y < b.end && a.gpu.name[x] == b.gpu.name[y]) {
    x = skip(a, x + 1);
    y = skip(b, y + 1);
  }
  return x == a.end && y == b.end;
}

// `place`: per name -1, before and after.
KernelUses count(const Rows& rows, std::vector<int32_t>& place) {
  const GpuEvents& gpu = rows.gpu;
  KernelUses uses;
  for (size_t i = rows.begin; i < rows.end; ++i) {
    if (!counts(gpu.work[i])) continue;
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

std::vector<std::array<KernelUses, 2>> uses_of(const JobTrace& job, std::vector<std::array<KernelSpan, 2>> pairs,
                                               bool even_if_same, Exchange& exchange) {
  follow_first(exchange, pairs);
  std::vector<std::array<KernelUses, 2>> uses(pairs.size());
  tbb::enumerable_thread_specific<std::vector<int32_t>> places(job.strings.size(), -1);
  tbb::parallel_for(size_t{0}, pairs.size(), [&](size_t p) {
    const auto& [a, b] = pairs[p];
    const bool both = !even_if_same && job.holds(a.trace) && job.holds(b.trace);
    if (both && run_the_same(rows_of(a, job), rows_of(b, job))) return;
    for (const size_t side : {0, 1}) {
      if (job.holds(pairs[p][side].trace)) uses[p][side] = count(rows_of(pairs[p][side], job), places.local());
    }
  });
  for (const size_t side : {0, 1}) {
    tell_first(
        exchange, uses.size(), [&](size_t p) { return job[pairs[p][side].trace].process; },
        [&](ByteWriter& writer, size_t p) { writer.put(uses[p][side]); },
        [&](ByteReader& reader, size_t p) { reader.get(uses[p][side]); });
  }
  return uses;
}

}  // namespace

std::vector<std::array<KernelUses, 2>> kernel_uses(const JobTrace& job, std::vector<std::array<KernelSpan, 2>> pairs,
                                                   Exchange& exchange) {
  return uses_of(job, std::move(pairs), false, exchange);
}

std::vector<std::array<KernelUses, 2>> all_kernel_uses(const JobTrace& job,
                                                       std::vector<std::array<KernelSpan, 2>> pairs,
                                                       Exchange& exchange) {
  return uses_of(job, std::move(pairs), true, exchange);
}

int64_t surplus_ns(const KernelUses& late, const KernelUses& peer) {
  return std::llround(one_sided_surplus_ns(late, peer) - one_sided_surplus_ns(peer, late));
}

}  // namespace skewscope::blame
