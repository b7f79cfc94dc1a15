// What a sign looks at, and the signs by theme. A sign that does not show gives nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skewscope/advise.h"

namespace skewscope::advise {

struct View {
  const RankTables& tables;
  const OperatorTables& operators;

  const TimelineRow& whole() const { return tables.timeline.front(); }
  int64_t window_ns() const { return whole().timeline.total_ns; }
  // Share of the window; 0 where there is none.
  double share(int64_t ns) const;
  std::vector<const TimelineRow*> steps() const;
  int64_t kernel_ns() const;  // plain sum over all kernels
};

// A finding with its sign; the rule's words are filled in by advice_on().
using Sign = std::optional<Advice> (*)(const View& view, const Rule& rule);

double threshold(const Rule& rule, const char* name);
// Names of kernels are long; the first characters tell.
std::string shortened(std::string_view name);

// What decides between the actions of a rule: "compiled", the model runs compiled code already; "no-bfloat16", the
// device has no units for it.
bool is_circumstance(std::string_view name);
// The action of the first circumstance that holds, in the order of their names; else the rule's own.
const std::string& action_for(const View& view, const Rule& rule);

// Host and launches.
std::optional<Advice> overhead_bound(const View& view, const Rule& rule);
std::optional<Advice> compute_bound(const View& view, const Rule& rule);
std::optional<Advice> launch_bound(const View& view, const Rule& rule);
std::optional<Advice> queued_but_idle(const View& view, const Rule& rule);
std::optional<Advice> little_used(const View& view, const Rule& rule);
std::optional<Advice> cold_first_step(const View& view, const Rule& rule);
std::optional<Advice> profiler_buffers(const View& view, const Rule& rule);
std::optional<Advice> host_synchronization(const View& view, const Rule& rule);
std::optional<Advice> launch_blocking(const View& view, const Rule& rule);
std::optional<Advice> data_loading(const View& view, const Rule& rule);

// Kernels and copies.
std::optional<Advice> hotspot(const View& view, const Rule& rule);
std::optional<Advice> tiny_calls(const View& view, const Rule& rule);
std::optional<Advice> varying_kernel_times(const View& view, const Rule& rule);
std::optional<Advice> small_grids(const View& view, const Rule& rule);
std::optional<Advice> low_occupancy(const View& view, const Rule& rule);
std::optional<Advice> pageable_copies(const View& view, const Rule& rule);
std::optional<Advice> exposed_communication(const View& view, const Rule& rule);
std::optional<Advice> no_overlap(const View& view, const Rule& rule);

// Operators and compiled code.
std::optional<Advice> copy_before_gemm(const View& view, const Rule& rule);
std::optional<Advice> single_precision(const View& view, const Rule& rule);
std::optional<Advice> unfused_attention(const View& view, const Rule& rule);
std::optional<Advice> graph_breaks(const View& view, const Rule& rule);
std::optional<Advice> recompilation(const View& view, const Rule& rule);
std::optional<Advice> compilation_measured(const View& view, const Rule& rule);

}  // namespace skewscope::advise
