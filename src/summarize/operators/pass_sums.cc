// A backward node records its sequence number more than once: the engine's range around it has the same one. The
// outermost row of a number counts as the node, so that its work counts once.
#include "pass_sums.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "forward_links.h"
#include "slot_times.h"

namespace skewscope::summarize {
namespace {

constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";

struct PassKey {
  StringId forward, backward;

  auto operator<=>(const PassKey&) const = default;
};

// Union of the GPU rows launched within the rows of each slot.
std::vector<int64_t> gpu_times(const OperatorView& view, const std::vector<int32_t>& slot, size_t slots) {
  SlotTimes busy(view.tree, slot, slots);
  for (size_t row = 0; row < view.gpu().size(); ++row) {
    busy.add(view.detail.gpu.caller[row], view.gpu().start[row], view.gpu().duration_ns[row]);
  }
  busy.finish();
  std::vector<int64_t> ns(slots);
  for (size_t s = 0; s < slots; ++s) ns[s] = busy.ns(s);
  return ns;
}

}  // namespace

void add_passes(const OperatorView& view, OperatorTables& tables) {
  const HostEvents& host = view.host();
  const std::vector<int32_t> forward = forward_rows(host);
  const std::vector<int32_t> around = next_around(view.tree, [&](size_t row) { return forward[row] >= 0; });
  std::map<PassKey, int32_t> slots;
  std::vector<int32_t> forward_slot(host.size(), -1), backward_slot(host.size(), -1);
  std::vector<OperatorPassRow> rows;
  for (size_t i = 0; i < host.size(); ++i) {
    if (forward[i] < 0 || around[i] >= 0) continue;
    const auto op = static_cast<size_t>(forward[i]);
    const auto [known, added] =
        slots.try_emplace(PassKey{host.name[op], host.name[i]}, static_cast<int32_t>(rows.size()));
    if (added) {
      std::string_view backward = view.strings.view(host.name[i]);
      if (backward.starts_with(kEngine)) backward.remove_prefix(kEngine.size());
      OperatorPassRow& row = rows.emplace_back();
      row.forward = std::string(view.strings.view(host.name[op]));
      row.backward = std::string(backward);
    }
    OperatorPassRow& row = rows[static_cast<size_t>(known->second)];
    ++row.calls;
    row.backward_host_ns += host.duration_ns[i];
    backward_slot[i] = known->second;
    if (forward_slot[op] >= 0) continue;  // several nodes of one operator
    row.forward_host_ns += host.duration_ns[op];
    forward_slot[op] = known->second;
  }
  if (rows.empty()) return;
  const std::vector<int64_t> forward_ns = gpu_times(view, forward_slot, rows.size());
  const std::vector<int64_t> backward_ns = gpu_times(view, backward_slot, rows.size());
  for (size_t slot = 0; slot < rows.size(); ++slot) {
    rows[slot].forward_gpu_ns = forward_ns[slot];
    rows[slot].backward_gpu_ns = backward_ns[slot];
  }
  const auto gpu_ns = [](const OperatorPassRow& row) { return row.forward_gpu_ns + row.backward_gpu_ns; };
  std::sort(rows.begin(), rows.end(), [&](const OperatorPassRow& a, const OperatorPassRow& b) {
    return std::make_tuple(-gpu_ns(a), a.forward, a.backward) < std::make_tuple(-gpu_ns(b), b.forward, b.backward);
  });
  tables.passes = std::move(rows);
}

}  // namespace skewscope::summarize
