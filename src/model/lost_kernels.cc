#include "skewscope/model/lost_kernels.h"

#include <fmt/format.h>

namespace skewscope {
namespace {

constexpr double kManyLost = 0.05;

bool many(int64_t lost, int64_t all) { return static_cast<double>(lost) > kManyLost * static_cast<double>(all); }

}  // namespace

Finding finding_of(const LostKernels& kernels, const std::string& file) {
  const int64_t collectives = kernels.collectives_recorded + kernels.collectives_lost;
  const bool warns = many(kernels.lost, kernels.launched) || many(kernels.collectives_lost, collectives);
  const std::string of_them =
      kernels.collectives_lost > 0 ? fmt::format(", {} of them by collectives", kernels.collectives_lost) : "";
  return {warns ? Severity::warning : Severity::info,
          "kernels-lost",
          file,
          Rank(),
          -1,
          kernels.lost,
          fmt::format("{} of {} launched kernels have no row{}: the profiler lost them, so this rank seems to compute "
                      "and communicate less, and waiting for it is a lower bound",
                      kernels.lost, kernels.launched, of_them)};
}

}  // namespace skewscope
