// What the tables of operators are made from: one trace, its call tree, and who launched which GPU row.
#pragma once

#include <string_view>
#include <vector>

#include "call_tree.h"
#include "skewscope/summarize.h"

namespace skewscope::summarize {

struct OperatorView {
  const RankTrace& trace;
  const RankDetail& detail;
  const StringTable& strings;
  const OperatorOptions& options;
  CallTree tree;
  std::vector<int32_t> launcher;   // row of GpuEvents -> row of HostEvents; -1: orphan
  std::vector<uint8_t> recompute;  // row of HostEvents -> runs again during backward; empty: none does

  OperatorView(const RankTrace& trace, const RankDetail& detail, const StringTable& strings,
               const OperatorOptions& options);

  const HostEvents& host() const { return detail.host; }
  const GpuEvents& gpu() const { return trace.gpu; }
  std::string_view name(int32_t host_row) const { return strings.view(host().name[static_cast<size_t>(host_row)]); }
  std::string_view gpu_name(size_t gpu_row) const { return strings.view(gpu().name[gpu_row]); }
  bool is_recompute(int32_t host_row) const {
    return host_row >= 0 && !recompute.empty() && recompute[static_cast<size_t>(host_row)] != 0;
  }
  // Whether the table of launchers and kernels counts this GPU row at all.
  bool counts(size_t gpu_row) const { return launcher[gpu_row] >= 0 || !options.linked_only; }
  // By the name of a launcher ("" of an orphan) and of the first row it launched.
  std::string_view category(std::string_view launcher_name, std::string_view first_kernel) const;
  ArgumentsText arguments(int32_t host_row) const;
  const HostThread& thread(int32_t host_row) const {
    return detail.threads[static_cast<size_t>(host().thread[static_cast<size_t>(host_row)])];
  }
};

}  // namespace skewscope::summarize
