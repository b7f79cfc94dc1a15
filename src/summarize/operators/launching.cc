// Problem: per run of a launcher, the union of the GPU rows it launched itself and of those launched anywhere below it.
//
// Idea: launchers get a slot each; GPU rows, which are sorted by start, widen the union of their launcher; the unions
// over subtrees are SlotTimes'.
//
// Why it is right: a union of intervals that come in the order of their starts needs only its last end.
//
// Cost: that of SlotTimes, and 4 bytes per host row.
#include "launching.h"

#include <algorithm>
#include <unordered_map>

#include "slot_times.h"

namespace skewscope::summarize {
namespace {

bool stands_for_launcher(const OperatorView& view, size_t gpu_row) {
  return view.counts(gpu_row) && view.gpu().work[gpu_row] != GpuWork::communication;
}

// Host row -> instance, and instances with their host row.
std::vector<int32_t> take_slots(const OperatorView& view, LaunchingInstances& instances) {
  std::vector<int32_t> slot(view.host().size(), -1);
  for (size_t row = 0; row < view.gpu().size(); ++row) {
    const int32_t launcher = view.launcher[row];
    if (!stands_for_launcher(view, row) || launcher < 0 || slot[static_cast<size_t>(launcher)] >= 0) continue;
    slot[static_cast<size_t>(launcher)] = static_cast<int32_t>(instances.items.size());
    instances.items.emplace_back().host_row = launcher;
  }
  return slot;
}

void add_times(const OperatorView& view, const std::vector<int32_t>& slot, LaunchingInstances& instances) {
  std::vector<BusyTime> direct(instances.items.size());
  SlotTimes subtree(view.tree, slot, instances.items.size());
  const GpuEvents& gpu = view.gpu();
  for (size_t row = 0; row < gpu.size(); ++row) {
    subtree.add(view.detail.gpu.caller[row], gpu.start[row], gpu.duration_ns[row]);
    if (!stands_for_launcher(view, row) || view.launcher[row] < 0) continue;
    const auto at = static_cast<size_t>(slot[static_cast<size_t>(view.launcher[row])]);
    direct[at].add(gpu.start[row], gpu.duration_ns[row]);
    ++instances.items[at].count;
  }
  subtree.finish();
  for (size_t i = 0; i < instances.items.size(); ++i) {
    instances.items[i].direct_ns = direct[i].ns();
    instances.items[i].subtree_ns = subtree.ns(i);
  }
}

void deal_out_rows(const OperatorView& view, const std::vector<int32_t>& slot, LaunchingInstances& instances) {
  size_t rows = 0;
  for (LaunchingInstance& item : instances.items) {
    item.first = rows;
    rows += item.count;
    item.count = 0;
  }
  instances.gpu_rows.resize(rows);
  for (size_t row = 0; row < view.gpu().size(); ++row) {
    if (!stands_for_launcher(view, row)) continue;
    const int32_t launcher = view.launcher[row];
    if (launcher < 0) {
      const int64_t ns = view.gpu().duration_ns[row];
      instances.items.push_back({-1, ns, ns, instances.gpu_rows.size(), 1, {}});
      instances.gpu_rows.push_back(static_cast<int32_t>(row));
      continue;
    }
    LaunchingInstance& item = instances.items[static_cast<size_t>(slot[static_cast<size_t>(launcher)])];
    instances.gpu_rows[item.first + item.count++] = static_cast<int32_t>(row);
  }
}

}  // namespace

std::vector<std::string_view> launcher_categories(const OperatorView& view) {
  const std::vector<int32_t>& place = view.detail.gpu.place;
  std::unordered_map<int32_t, size_t> first;  // launcher -> GPU row
  for (size_t row = 0; row < view.gpu().size(); ++row) {
    if (view.launcher[row] < 0) continue;
    size_t& known = first.try_emplace(view.launcher[row], row).first->second;
    if (place[row] < place[known]) known = row;
  }
  std::vector<std::string_view> categories(view.gpu().size());
  for (size_t row = 0; row < categories.size(); ++row) {
    const int32_t launcher = view.launcher[row];
    const size_t told_by = launcher < 0 ? row : first[launcher];
    // Rows of one launcher share its category: asked for once, at the first of them.
    const std::string_view name = launcher < 0 ? std::string_view() : view.name(launcher);
    categories[row] = told_by < row ? categories[told_by] : view.category(name, view.gpu_name(told_by));
  }
  return categories;
}

LaunchingInstances launching_instances(const OperatorView& view) {
  LaunchingInstances instances;
  const std::vector<int32_t> slot = take_slots(view, instances);
  add_times(view, slot, instances);
  deal_out_rows(view, slot, instances);
  const std::vector<std::string_view> categories = launcher_categories(view);
  const std::vector<int32_t>& place = view.detail.gpu.place;
  for (LaunchingInstance& item : instances.items) {
    const auto begin = instances.gpu_rows.begin() + static_cast<std::ptrdiff_t>(item.first);
    std::sort(begin, begin + static_cast<std::ptrdiff_t>(item.count),
              [&](int32_t a, int32_t b) { return place[static_cast<size_t>(a)] < place[static_cast<size_t>(b)]; });
    item.category = categories[static_cast<size_t>(*begin)];
  }
  const auto key = [&](const LaunchingInstance& item) {
    if (item.host_row >= 0) {
      const auto row = static_cast<size_t>(item.host_row);
      return std::make_pair(view.host().start[row], view.host().place[row]);
    }
    const auto row = static_cast<size_t>(instances.gpu_rows[item.first]);
    return std::make_pair(view.gpu().start[row], place[row]);
  };
  std::sort(instances.items.begin(), instances.items.end(),
            [&](const LaunchingInstance& a, const LaunchingInstance& b) { return key(a) < key(b); });
  return instances;
}

}  // namespace skewscope::summarize
