// Each table is one pass over the GPU rows or calls, dealt out by what the table is about.
#include "kernel_sums.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "collectives/kernel_names.h"
#include "launching.h"
#include "same_arguments.h"
#include "src/summarize/gpu/shares.h"
#include "src/summarize/gpu/spread.h"

namespace skewscope::summarize {
namespace {

struct KernelKey {
  std::string_view category, launcher;
  StringId name;
  bool kernel;
  int32_t device, stream, shape;

  auto operator<=>(const KernelKey&) const = default;
};

// Copies and fills that the driver makes are no kernels; of kernels that copy or fill the name tells.
bool is_kernel(const OperatorView& view, size_t gpu_row) {
  const GpuWork work = view.gpu().work[gpu_row];
  const bool moves = work == GpuWork::memcpy || work == GpuWork::memset;
  return !moves || moving_kernel(view.gpu_name(gpu_row)) == work;
}

void describe(const OperatorView& view, const KernelKey& key, KernelRow& row) {
  row.category = std::string(key.category);
  row.launcher = std::string(key.launcher);
  row.name = std::string(view.strings.view(key.name));
  row.kernel = key.kernel;
  row.device = key.device;
  row.stream = key.stream;
  if (key.shape < 0) return;
  const KernelShape& shape = view.detail.shapes[static_cast<size_t>(key.shape)];
  std::copy(std::begin(shape.grid), std::end(shape.grid), std::begin(row.grid));
  std::copy(std::begin(shape.block), std::end(shape.block), std::begin(row.block));
  row.registers = shape.registers;
  row.shared_memory = shape.shared_memory;
}

// Per host row: a call that launches, right after a question how many blocks fit on an SM, of the same operator.
std::vector<bool> after_occupancy_queries(const OperatorView& view) {
  const HostEvents& host = view.host();
  std::vector<int8_t> asks(view.strings.size(), -1);  // by name; looked at once
  const auto is_query = [&](size_t row) {
    int8_t& known = asks[host.name[row].index()];
    if (known < 0) known = view.strings.view(host.name[row]).find("Occupancy") != std::string_view::npos ? 1 : 0;
    return known == 1;
  };
  std::vector<bool> launches(host.size()), after(host.size());
  for (const int32_t caller : view.detail.gpu.caller) {
    if (caller >= 0) launches[static_cast<size_t>(caller)] = true;
  }
  size_t asked = host.size();  // the last question, until a launch follows
  for (size_t i = 0; i < host.size(); ++i) {
    if (host.kind[i] != HostKind::call) continue;
    if (is_query(i)) {
      asked = i;
    } else if (launches[i] && asked < i) {
      after[i] = view.tree.parent[asked] == view.tree.parent[i] && host.thread[asked] == host.thread[i];
      asked = host.size();
    }
  }
  return after;
}

}  // namespace

void add_kernels(const OperatorView& view, OperatorTables& tables) {
  const std::vector<bool> after_query = after_occupancy_queries(view);
  const std::vector<std::string_view> categories = launcher_categories(view);
  const GpuEvents& gpu = view.gpu();
  std::map<KernelKey, KernelRow> rows;
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (!view.counts(i)) continue;
    const int32_t launcher = view.launcher[i];
    const KernelKey key{categories[i],
                        launcher >= 0 ? view.name(launcher) : std::string_view(),
                        gpu.name[i],
                        is_kernel(view, i),
                        gpu.device[i],
                        gpu.stream[i],
                        view.detail.gpu.shape[i]};
    KernelRow& row = rows[key];
    if (row.count == 0) {
      describe(view, key, row);
      row.work = gpu.work[i];
      row.min_ns = gpu.duration_ns[i];
    }
    ++row.count;
    const int32_t caller = view.detail.gpu.caller[i];
    if (caller >= 0 && after_query[static_cast<size_t>(caller)]) ++row.after_occupancy_query;
    row.sum_ns += gpu.duration_ns[i];
    row.min_ns = std::min(row.min_ns, gpu.duration_ns[i]);
    row.max_ns = std::max(row.max_ns, gpu.duration_ns[i]);
  }
  for (auto& [key, row] : rows) tables.kernels.push_back(std::move(row));
  fill_shares(tables.kernels, [](const KernelRow& row) { return row.sum_ns; });
  std::stable_sort(tables.kernels.begin(), tables.kernels.end(), [](const KernelRow& a, const KernelRow& b) {
    return std::tie(b.sum_ns, a.name, a.launcher, a.device, a.stream) <
           std::tie(a.sum_ns, b.name, b.launcher, b.device, b.stream);
  });
}

namespace {

struct ShortKey {
  SameArguments arguments;
  StringId name;

  auto operator<=>(const ShortKey&) const = default;
};

void add_bins(const OperatorView& view, const std::vector<size_t>& rows, std::vector<ShortBin>& bins) {
  if (rows.empty() || view.options.short_kernel_bins < 1) return;
  const Column<int64_t>& ns = view.gpu().duration_ns;
  int64_t least_ns = ns[rows.front()], most_ns = least_ns;
  for (const size_t i : rows) {
    least_ns = std::min(least_ns, ns[i]);
    most_ns = std::max(most_ns, ns[i]);
  }
  const int64_t span_ns = std::max<int64_t>(1, most_ns - least_ns), count = view.options.short_kernel_bins;
  bins.resize(static_cast<size_t>(count));
  for (int64_t b = 0; b < count; ++b) {
    const auto edge = [&](int64_t at) {
      return static_cast<double>(least_ns) + static_cast<double>(span_ns * at) / static_cast<double>(count);
    };
    bins[static_cast<size_t>(b)] = {edge(b), edge(b + 1), 0};
  }
  for (const size_t i : rows) {
    ++bins[static_cast<size_t>(std::min(count - 1, (ns[i] - least_ns) * count / span_ns))].count;
  }
}

}  // namespace

void add_short_kernels(const OperatorView& view, OperatorTables& tables) {
  std::vector<size_t> rows;
  for (size_t i = 0; i < view.gpu().size(); ++i) {
    if (view.gpu().duration_ns[i] < view.options.short_kernel_ns && is_kernel(view, i)) rows.push_back(i);
  }
  add_bins(view, rows, tables.short_bins);
  std::map<ShortKey, ShortKernelRow> by_operator;
  for (const size_t i : rows) {
    const int32_t launcher = view.launcher[i];
    if (launcher < 0 || view.host().kind[static_cast<size_t>(launcher)] != HostKind::op) continue;
    SameArguments arguments = same_arguments(view, launcher, {});
    arguments.recompute = false;
    arguments.thread = -1;
    ShortKernelRow& row = by_operator[{arguments, view.gpu().name[i]}];
    if (row.count == 0) {
      row.launcher = std::string(view.name(launcher));
      row.arguments = view.arguments(launcher);
      row.name = std::string(view.gpu_name(i));
    }
    ++row.count;
    row.sum_ns += view.gpu().duration_ns[i];
  }
  for (auto& [key, row] : by_operator) tables.short_kernels.push_back(std::move(row));
  std::stable_sort(tables.short_kernels.begin(), tables.short_kernels.end(),
                   [](const ShortKernelRow& a, const ShortKernelRow& b) {
                     return std::tie(b.sum_ns, a.name, a.launcher) < std::tie(a.sum_ns, b.name, b.launcher);
                   });
}

namespace {

struct CollectiveKey {
  StringId group_name, group_ranks, name, dtype, in_split, out_split;
  int64_t group_size, in_elements, out_elements;
  int32_t stream;

  auto operator<=>(const CollectiveKey&) const = default;
};

int64_t bytes_of(int64_t elements, DType type) {
  const int64_t size = element_bytes(type);
  return elements < 0 || size == 0 ? -1 : elements * size;
}

OwnCollectiveRow describe(const OperatorView& view, const CollectiveKey& key, const CollectiveCall& call) {
  const auto text = [&](StringId id) { return std::string(view.strings.view(id)); };
  OwnCollectiveRow row;
  row.group_name = text(key.group_name);
  row.group_ranks = text(key.group_ranks);
  row.name = key.name.known() ? text(key.name) : std::string(to_string(call.kind));
  row.dtype = text(key.dtype);
  row.group_size = key.group_size;
  row.in_elements = key.in_elements;
  row.out_elements = key.out_elements;
  row.in_bytes = bytes_of(key.in_elements, call.dtype);
  row.out_bytes = bytes_of(key.out_elements, call.dtype);
  row.in_split = text(key.in_split);
  row.out_split = text(key.out_split);
  row.stream = key.stream;
  return row;
}

}  // namespace

void add_collectives(const OperatorView& view, OperatorTables& tables) {
  std::map<CollectiveKey, std::vector<size_t>> groups;
  const CallDetails& details = view.detail.calls;
  for (size_t i = 0; i < view.trace.calls.size(); ++i) {
    const CollectiveCall& call = view.trace.calls[i];
    if (view.options.linked_only && !call.launched) continue;
    groups[{details.group_name[i], details.group_ranks[i], details.name[i], details.dtype[i], details.in_split[i],
            details.out_split[i], details.group_size[i], call.in_elements, call.out_elements, call.stream}]
        .push_back(i);
  }
  std::vector<int64_t> durations_ns;
  for (const auto& [key, calls] : groups) {
    durations_ns.clear();
    for (const size_t i : calls) durations_ns.push_back(view.trace.calls[i].duration_ns);
    OwnCollectiveRow& row = tables.collectives.emplace_back(describe(view, key, view.trace.calls[calls.front()]));
    row.time = spread_of(durations_ns);
  }
  std::stable_sort(tables.collectives.begin(), tables.collectives.end(),
                   [](const OwnCollectiveRow& a, const OwnCollectiveRow& b) { return a.time.sum_ns > b.time.sum_ns; });
}

}  // namespace skewscope::summarize
