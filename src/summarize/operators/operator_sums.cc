// Each table is one pass over the instances, dealt out by what the table is about; the table of names also passes over
// all host rows, for the times of the profiler's own table.
#include "operator_sums.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "kernel_positions.h"
#include "memory_sums.h"
#include "same_arguments.h"
#include "src/summarize/gpu/shares.h"
#include "src/summarize/gpu/spread.h"

namespace skewscope::summarize {

void add_categories(const OperatorView& view, const LaunchingInstances& instances, OperatorTables& tables) {
  std::map<std::pair<std::string_view, bool>, CategoryRow> rows;
  for (const LaunchingInstance& item : instances.items) {
    const bool recompute = view.is_recompute(item.host_row);
    CategoryRow& row = rows[{item.category, recompute}];
    row.category = std::string(item.category);
    row.recompute = recompute;
    ++row.count;
    row.direct_ns += item.direct_ns;
  }
  for (auto& [key, row] : rows) tables.categories.push_back(std::move(row));
  fill_shares(tables.categories, [](const CategoryRow& row) { return row.direct_ns; });
  std::stable_sort(tables.categories.begin(), tables.categories.end(),
                   [](const CategoryRow& a, const CategoryRow& b) { return a.direct_ns > b.direct_ns; });
  add_up_shares(tables.categories);
}

namespace {

// Per host row: the GPU time of what has this row as innermost operator (call, where none is above).
std::vector<int64_t> device_self_times(const OperatorView& view) {
  std::vector<int64_t> self(view.host().size(), 0);
  const auto is_op = [&](size_t host_row) { return view.host().kind[host_row] == HostKind::op; };
  const std::vector<int32_t> around = next_around(view.tree, is_op);
  for (size_t row = 0; row < view.gpu().size(); ++row) {
    if (view.detail.gpu.caller[row] < 0) continue;
    const auto caller = static_cast<size_t>(view.detail.gpu.caller[row]);
    const bool itself = is_op(caller) || around[caller] < 0;
    self[itself ? caller : static_cast<size_t>(around[caller])] += view.gpu().duration_ns[row];
  }
  return self;
}

struct OperatorKey {
  StringId name;
  bool recompute;

  auto operator<=>(const OperatorKey&) const = default;
};

OperatorKey operator_key(const OperatorView& view, int32_t host_row) {
  return {view.host().name[static_cast<size_t>(host_row)], view.is_recompute(host_row)};
}

using OperatorRows = std::map<OperatorKey, OperatorRow>;

void add_host_rows(const OperatorView& view, OperatorRows& rows) {
  const HostEvents& host = view.host();
  const std::vector<int64_t> host_self = self_times(host, view.tree);
  const std::vector<int64_t> device_self = device_self_times(view);
  const std::vector<int64_t> device_total = subtree_sums(view.tree, device_self);
  const MemoryChanges memory = memory_changes(view);
  for (size_t i = 0; i < host.size(); ++i) {
    if (host.kind[i] != HostKind::op && host.kind[i] != HostKind::call) continue;
    OperatorRow& row = rows[operator_key(view, static_cast<int32_t>(i))];
    ++row.calls;
    row.host_self_ns += host_self[i];
    row.host_total_ns += host.duration_ns[i];
    row.device_self_ns += device_self[i];
    row.device_total_ns += device_total[i];
    if (memory.none()) continue;
    row.host_memory_self_bytes += memory.host_self[i];
    row.host_memory_bytes += memory.host_total[i];
    row.gpu_memory_self_bytes += memory.gpu_self[i];
    row.gpu_memory_bytes += memory.gpu_total[i];
  }
}

}  // namespace

void add_operators(const OperatorView& view, const LaunchingInstances& instances, OperatorTables& tables) {
  OperatorRows rows;
  add_host_rows(view, rows);
  std::map<OperatorKey, std::set<std::string_view>> categories;
  for (const LaunchingInstance& item : instances.items) {
    if (item.host_row < 0) continue;
    const OperatorKey key = operator_key(view, item.host_row);
    OperatorRow& row = rows[key];
    ++row.launches;
    row.direct_ns += item.direct_ns;
    row.subtree_ns += item.subtree_ns;
    categories[key].insert(item.category);
  }
  for (auto& [key, row] : rows) {
    row.name = std::string(view.strings.view(key.name));
    row.recompute = key.recompute;
    for (const std::string_view category : categories[key]) row.categories.emplace_back(category);
    tables.operators.push_back(std::move(row));
  }
  fill_shares(tables.operators, [](const OperatorRow& row) { return row.direct_ns; });
  std::sort(tables.operators.begin(), tables.operators.end(), [](const OperatorRow& a, const OperatorRow& b) {
    return std::tie(b.direct_ns, b.host_total_ns, a.name, a.recompute) <
           std::tie(a.direct_ns, a.host_total_ns, b.name, b.recompute);
  });
  add_up_shares(tables.operators);
}

namespace {

struct ArgumentsGroup {
  int32_t first_row = -1;
  std::vector<int64_t> direct_ns, subtree_ns;
  KernelPositions kernels;
};

// Rows of one instance, as a range.
struct RowRange {
  const int32_t* rows;
  size_t count;

  const int32_t* begin() const { return rows; }
  const int32_t* end() const { return rows + count; }
  size_t size() const { return count; }
};

}  // namespace

void add_arguments(const OperatorView& view, const LaunchingInstances& instances, OperatorTables& tables) {
  std::map<SameArguments, ArgumentsGroup> groups;
  for (const LaunchingInstance& item : instances.items) {
    if (item.host_row < 0) continue;
    ArgumentsGroup& group = groups[same_arguments(view, item.host_row, item.category)];
    if (group.first_row < 0) group.first_row = item.host_row;
    group.direct_ns.push_back(item.direct_ns);
    group.subtree_ns.push_back(item.subtree_ns);
    group.kernels.add(view, RowRange{instances.gpu_rows.data() + item.first, item.count});
  }
  for (auto& [key, group] : groups) {
    ArgumentsRow& row = tables.arguments.emplace_back();
    describe(view, group.first_row, key, row);
    row.direct = spread_of(group.direct_ns);
    row.subtree = spread_of(group.subtree_ns);
    row.kernels = group.kernels.finish(view);
  }
  fill_shares(tables.arguments, [](const ArgumentsRow& row) { return row.direct.sum_ns; });
  std::sort(tables.arguments.begin(), tables.arguments.end(), [](const ArgumentsRow& a, const ArgumentsRow& b) {
    return std::tie(b.direct.sum_ns, a.first_place) < std::tie(a.direct.sum_ns, b.first_place);
  });
}

}  // namespace skewscope::summarize
