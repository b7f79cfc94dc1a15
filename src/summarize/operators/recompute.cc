// Problem: checkpointed layers run forward twice, the second time during backward; both runs look alike.
//
// Idea: torch.utils.checkpoint runs the second time in functions of its own, which are in the python stack:
// "torch/utils/checkpoint.py(N): recompute_fn" (use_reentrant=False) and "…: backward" (use_reentrant=True, where the
// backward pass proper follows within, in "torch/autograd/…: backward"). Every row below the first is recomputed, every
// row below the second up to the third.
//
// Why it is right: parents are before children, so a row's state follows from its parent's. Cost: linear, one
// byte per row and one look at each distinct name.
#include "recompute.h"

#include <string_view>

namespace skewscope::summarize {
namespace {

enum class Mark : uint8_t { unseen, none, begins, ends };

Mark mark_of(std::string_view name) {
  if (name.find("torch/utils/checkpoint.py(") != std::string_view::npos) {
    return name.ends_with(": recompute_fn") || name.ends_with(": backward") ? Mark::begins : Mark::none;
  }
  const bool autograd = name.find("torch/autograd/") != std::string_view::npos;
  return autograd && name.ends_with(": backward") ? Mark::ends : Mark::none;
}

}  // namespace

std::vector<uint8_t> recomputed_rows(const HostEvents& host, const CallTree& tree, const StringTable& strings) {
  std::vector<Mark> marks(strings.size(), Mark::unseen);
  std::vector<uint8_t> recomputed(host.size(), 0);
  bool any = false;
  for (size_t row = 0; row < host.size(); ++row) {
    if (tree.parent[row] >= 0) recomputed[row] = recomputed[static_cast<size_t>(tree.parent[row])];
    if (host.kind[row] != HostKind::python || !host.name[row].known()) continue;
    Mark& mark = marks[host.name[row].index()];
    if (mark == Mark::unseen) mark = mark_of(strings.view(host.name[row]));
    if (mark == Mark::none) continue;
    recomputed[row] = mark == Mark::begins ? 1 : 0;
    any = any || mark == Mark::begins;
  }
  return any ? recomputed : std::vector<uint8_t>();
}

}  // namespace skewscope::summarize
