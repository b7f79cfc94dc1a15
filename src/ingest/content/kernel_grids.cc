#include "kernel_grids.h"

#include <algorithm>
#include <utility>

namespace skewscope::ingest {
namespace {

constexpr size_t kFirstGridSlots = 256;
constexpr uint64_t kMix = 0x9e3779b97f4a7c15;

}  // namespace

void KernelGrids::add(const GpuRow& row) {
  if (row.name.index() >= last_of_name_.size()) last_of_name_.resize(2 * row.name.index() + 1, -1);
  int32_t& last = last_of_name_[row.name.index()];
  if (last < 0 || sums_[static_cast<size_t>(last)].grid != row.grid) last = row_of(row.name, row.grid);
  Sum& sum = sums_[static_cast<size_t>(last)];
  ++sum.rows;
  sum.ns += row.duration_ns;
}

void KernelGrids::add_time(StringId name, int64_t ns) {
  Sum* most = nullptr;
  for (Sum& sum : sums_) {
    if (sum.name == name && (most == nullptr || sum.ns > most->ns)) most = &sum;
  }
  if (most != nullptr) most->ns = std::max<int64_t>(most->ns + ns, 0);
}

int32_t KernelGrids::row_of(StringId name, uint16_t grid) {
  if (2 * (sums_.size() + 1) > slots_.size()) grow();
  int32_t& slot = slots_[slot_of(name, grid)];
  if (slot < 0) {
    slot = static_cast<int32_t>(sums_.size());
    sums_.push_back({name, grid, 0, 0});
  }
  return slot;
}

std::vector<KernelGrid> KernelGrids::sums(const StringTable& strings) const {
  std::vector<KernelGrid> all;
  all.reserve(sums_.size());
  for (const Sum& sum : sums_) all.push_back({kernel_number(strings.view(sum.name)), sum.grid, sum.rows, sum.ns});
  return longest_grids(std::move(all));
}

// The slot of this pair, or the free one where it belongs.
size_t KernelGrids::slot_of(StringId name, uint16_t grid) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = ((static_cast<uint64_t>(name.index()) << 32 | grid) * kMix >> 32) & mask;
  const auto is_other = [&](const Sum& sum) { return sum.name != name || sum.grid != grid; };
  while (slots_[slot] >= 0 && is_other(sums_[static_cast<size_t>(slots_[slot])])) slot = (slot + 1) & mask;
  return slot;
}

void KernelGrids::grow() {
  slots_.assign(std::max(kFirstGridSlots, 2 * slots_.size()), -1);
  for (size_t i = 0; i < sums_.size(); ++i) {
    slots_[slot_of(sums_[i].name, sums_[i].grid)] = static_cast<int32_t>(i);
  }
}

}  // namespace skewscope::ingest
