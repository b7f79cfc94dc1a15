// Problem: tables can take more memory than the trace they are made of; a limit must be kept before, not noticed after.
//
// Idea: while tables are made there are a few numbers per host row and per GPU row; what stays are rows, at most one of
// each table per GPU row, and about one per distinct name where names repeat, as they do in programs. Rows hold copies
// of the texts of their arguments, once per operator with these arguments and table, and of the names of kernels.
//
// Why it is right: bytes per row are measured, on all real traces and on traces in which nothing repeats, by counting
// allocations (tests/summarize/table_memory.cc).
//
// Cost: sorting the pairs of operator and arguments; asked for only where there is a limit.
#include <algorithm>
#include <utility>

#include "skewscope/summarize.h"

namespace skewscope {
namespace {

constexpr int64_t kPerHostRow = 40, kPerGpuRow = 240;
constexpr int64_t kPerDistinctRow = 4096;    // one row in each table
constexpr int64_t kTablesOfArguments = 4;    // by arguments, work, short kernels; one more while they grow
constexpr int64_t kTablesOfKernelNames = 6;  // kernels, short ones, positions of both tables of arguments, Triton, rank
constexpr int64_t kPerStack = 8192, kMostStackRows = 200;
constexpr int64_t kPerMemoryEvent = 120;
constexpr int64_t kTablesThemselves = 1 << 18;  // of a trace with next to no rows

int64_t length_of(const ArgumentSet& set, const StringTable& strings) {
  return static_cast<int64_t>(strings.view(set.dims).size() + strings.view(set.types).size() +
                              strings.view(set.strides).size() + strings.view(set.values).size());
}

int64_t argument_texts(const RankDetail& detail, const StringTable& strings) {
  std::vector<std::pair<StringId, int32_t>> used;
  for (size_t row = 0; row < detail.host.size(); ++row) {
    if (detail.host.arguments[row] >= 0) used.emplace_back(detail.host.name[row], detail.host.arguments[row]);
  }
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  int64_t bytes = 0;
  for (const auto& [name, set] : used) bytes += length_of(detail.arguments[static_cast<size_t>(set)], strings);
  return bytes;
}

}  // namespace

int64_t bytes_to_tabulate(const RankTrace& trace, const RankDetail& detail, const StringTable& strings) {
  const auto gpu_rows = static_cast<int64_t>(trace.gpu.size());
  const int64_t distinct_rows = std::min(gpu_rows, static_cast<int64_t>(strings.size()));
  int64_t names = 0;
  for (const StringId name : trace.gpu.name) names += static_cast<int64_t>(strings.view(name).size());
  const int64_t name_length = gpu_rows == 0 ? 0 : names / gpu_rows;
  return kTablesThemselves + kPerHostRow * static_cast<int64_t>(detail.host.size()) + kPerGpuRow * gpu_rows +
         distinct_rows * (kPerDistinctRow + kTablesOfKernelNames * name_length) +
         kTablesOfArguments * argument_texts(detail, strings) + kPerStack * std::min(gpu_rows, kMostStackRows) +
         kPerMemoryEvent * static_cast<int64_t>(detail.memory.size());
}

}  // namespace skewscope
