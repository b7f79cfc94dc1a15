// Kernels that torch.compile writes (Inductor's Triton kernels). What they fuse is not recorded, so FLOPs stay unknown;
// their operands are: a pointwise kernel ("poi") reads or writes each of its tensors once, a reduction ("red", "per": a
// persistent one) reads what it sums and writes the sums. A pointwise kernel of one tensor works in place, and moves it
// twice; of several, the trace does not tell which one it works on in place, so that each counts once.
#include "models.h"

namespace skewscope::efficiency {
namespace {

Work moved(const Call& call, bool pointwise) {
  Amount bytes = 0;
  size_t tensors = 0;
  for (const Argument& argument : call.arguments) {
    if (argument.tensor() == nullptr) continue;
    ++tensors;
    bytes += bytes_of(argument);
  }
  if (tensors == 0) return unknown_work("an operand is no tensor");
  if (pointwise && tensors == 1) bytes = 2 * bytes;
  return make_work(ComputeKind::vector, Precision::unknown, Amount::unknown("what it fuses is not recorded"), bytes,
                   {});
}

Work pointwise(const Call& call) { return moved(call, true); }
Work reduction(const Call& call) { return moved(call, false); }

}  // namespace

std::span<const Model> compiled_models() {
  static const Model kModels[] = {{"triton_poi_", pointwise}, {"triton_red_", reduction}, {"triton_per_", reduction}};
  return kModels;
}

}  // namespace skewscope::efficiency
