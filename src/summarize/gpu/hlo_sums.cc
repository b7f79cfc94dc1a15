#include "hlo_sums.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include "shares.h"

namespace skewscope::summarize {
namespace {

struct OperationSums {
  HloOperationRow row;
  std::unordered_map<StringId, int64_t> kernels;  // rows by name
};

// Texts that may be missing.
std::string text_of(StringId id, const StringTable& strings) {
  return id.known() ? std::string(strings.view(id)) : std::string();
}

// The sum and `each` of all executions; -1 where one of them is not known, or it is too large.
int64_t plus_executions(int64_t sum, int64_t each, int64_t executions) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (sum < 0 || each < 0 || executions <= 0) return -1;
  return each > kMost / executions || each * executions > kMost - sum ? -1 : sum + each * executions;
}

// One operation may have several rows in the details: they differ in what is told of them.
using OperationKey = std::tuple<StringId, StringId, StringId>;

std::map<OperationKey, OperationSums> sums_of(const GpuEvents& gpu, const RankDetail& detail,
                                              const StringTable& strings) {
  std::map<OperationKey, OperationSums> by_operation;
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (detail.gpu.operation[i] < 0) continue;
    const DeviceOperation& of = detail.operations[static_cast<size_t>(detail.gpu.operation[i])];
    const auto [found, added] = by_operation.try_emplace({of.name, of.module, of.program});
    HloOperationRow& row = found->second.row;
    const int64_t ns = gpu.duration_ns[i];
    if (added) {
      row.name = text_of(of.name, strings);
      row.module = text_of(of.module, strings);
      row.program = text_of(of.program, strings);
      row.category = text_of(of.category, strings);
      row.shortest_ns = row.longest_ns = ns;
    }
    row.flops = std::max(row.flops, of.flops);
    row.bytes = std::max(row.bytes, of.bytes);
    row.input_bytes = std::max(row.input_bytes, of.input_bytes);
    ++row.gpu_rows;
    row.total_ns += ns;
    row.shortest_ns = std::min(row.shortest_ns, ns);
    row.longest_ns = std::max(row.longest_ns, ns);
    row.executions = std::max(row.executions, ++found->second.kernels[gpu.name[i]]);
  }
  return by_operation;
}

std::vector<HloCategoryRow> by_category(const std::vector<HloOperationRow>& operations) {
  std::map<std::string, HloCategoryRow> categories;
  for (const HloOperationRow& operation : operations) {
    const auto [found, added] = categories.try_emplace(operation.category);
    HloCategoryRow& row = found->second;
    if (added) {
      row.category = operation.category;
      row.flops = row.bytes = 0;
    }
    ++row.operations;
    row.gpu_rows += operation.gpu_rows;
    row.executions += operation.executions;
    row.total_ns += operation.total_ns;
    row.flops = plus_executions(row.flops, operation.flops, operation.executions);
    row.bytes = plus_executions(row.bytes, operation.bytes, operation.executions);
  }
  std::vector<HloCategoryRow> rows;
  for (auto& [category, row] : categories) rows.push_back(std::move(row));
  return rows;
}

template <class Row>
void sort_and_share(std::vector<Row>& rows, int64_t all_ns) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.total_ns > b.total_ns; });
  for (Row& row : rows) {
    row.share = all_ns > 0 ? static_cast<double>(row.total_ns) / static_cast<double>(all_ns) : 0;
  }
  add_up_shares(rows);
}

}  // namespace

void add_hlo_operations(const GpuEvents& gpu, const RankDetail& detail, const StringTable& strings,
                        RankTables& tables) {
  for (auto& [key, sums] : sums_of(gpu, detail, strings)) tables.hlo_operations.push_back(std::move(sums.row));
  if (tables.hlo_operations.empty()) return;
  // By what people read, not by the numbers of texts, which the order of rows decides.
  std::sort(tables.hlo_operations.begin(), tables.hlo_operations.end(),
            [](const HloOperationRow& a, const HloOperationRow& b) {
              return std::tie(a.name, a.module, a.program) < std::tie(b.name, b.module, b.program);
            });
  tables.hlo_categories = by_category(tables.hlo_operations);
  int64_t all_ns = 0;
  HloCategoryRow rest;
  for (size_t i = 0; i < gpu.size(); ++i) {
    all_ns += gpu.duration_ns[i];
    if (detail.gpu.operation[i] >= 0) continue;
    ++rest.gpu_rows;
    rest.total_ns += gpu.duration_ns[i];
  }
  if (rest.gpu_rows > 0) tables.hlo_categories.push_back(rest);
  sort_and_share(tables.hlo_operations, all_ns);
  sort_and_share(tables.hlo_categories, all_ns);
}

}  // namespace skewscope::summarize
