// Signs in the GPU's rows: what runs, how long, together with what.
#include <fmt/format.h>

#include <algorithm>

#include "signs.h"
#include "skewscope/base/human_units.h"

namespace skewscope::advise {
namespace {

double part(int64_t ns, int64_t whole_ns) {
  return whole_ns == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(whole_ns);
}

std::string shape_text(const KernelShape& s) {
  return fmt::format("grid {} {} {}, block {} {} {}", s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1],
                     s.block[2]);
}

}  // namespace

std::optional<Advice> hotspot(const View& view, const Rule& rule) {
  const KernelTotals* longest = nullptr;
  int64_t computing_ns = 0;
  for (const KernelTotals& kernel : view.tables.kernels) {
    if (kernel.work != GpuWork::compute) continue;
    computing_ns += kernel.total_ns;
    if (longest == nullptr) longest = &kernel;
  }
  if (longest == nullptr || view.tables.kernels.size() < 2) return {};
  const double share = part(longest->total_ns, computing_ns);
  if (share <= threshold(rule, "kernel_share")) return {};
  Advice advice;
  advice.sign = fmt::format("{} of computing time is in {}", human_percent(share), shortened(longest->name));
  advice.saves_at_most_ns = longest->total_ns;
  advice.evidence = {{longest->name, longest->count, longest->total_ns}};
  return advice;
}

std::optional<Advice> tiny_calls(const View& view, const Rule& rule) {
  const auto steps = static_cast<double>(std::max<size_t>(view.steps().size(), 1));
  Advice advice;
  int64_t count = 0, total_ns = 0;
  for (const KernelTotals& kernel : view.tables.kernels) {
    if (kernel.work == GpuWork::communication) continue;
    const bool many = static_cast<double>(kernel.count) / steps > threshold(rule, "calls_per_step");
    if (!many || kernel.mean_ns() >= threshold(rule, "mean_ns")) continue;
    advice.evidence.push_back({kernel.name, kernel.count, kernel.total_ns});
    count += kernel.count;
    total_ns += kernel.total_ns;
  }
  if (count == 0) return {};
  advice.sign = fmt::format("{} runs of {} short kernels, {:.0f} {}, {} in all", count, advice.evidence.size(),
                            static_cast<double>(count) / steps, view.steps().empty() ? "in the trace" : "per step",
                            human_duration(total_ns));
  advice.saves_at_most_ns = total_ns;
  return advice;
}

// A kernel that runs together with others may take longer: only runs alone are compared.
std::optional<Advice> varying_kernel_times(const View& view, const Rule& rule) {
  if (static_cast<double>(view.steps().size()) < threshold(rule, "steps")) return {};
  Advice advice;
  int64_t above_ns = 0;
  for (const KernelVariant& v : view.tables.variants) {
    if (static_cast<double>(v.alone) < threshold(rule, "runs") || v.alone_median_ns == 0) continue;
    const double ratio = static_cast<double>(v.alone_p95_ns) / static_cast<double>(v.alone_median_ns);
    if (ratio <= threshold(rule, "p95_over_median")) continue;
    above_ns += std::max<int64_t>(0, v.total_ns - v.count * v.alone_median_ns);
    advice.evidence.push_back(
        {fmt::format("{} ({}): median {}, 95th percentile {}", shortened(v.name), shape_text(v.shape),
                     human_duration(v.alone_median_ns), human_duration(v.alone_p95_ns)),
         v.alone, v.total_ns});
  }
  const double share = part(above_ns, view.kernel_ns());
  if (share <= threshold(rule, "excess_share")) return {};
  advice.sign = fmt::format("kernel times vary although nothing else runs: {}; {} of kernel time is above medians",
                            advice.evidence.size(), human_percent(share));
  advice.saves_at_most_ns = above_ns;
  return advice;
}

std::optional<Advice> small_grids(const View& view, const Rule& rule) {
  Advice advice;
  int64_t small_ns = 0, all_ns = 0;
  for (const KernelVariant& v : view.tables.variants) {
    if (v.shape.blocks_per_sm < 0 || v.work == GpuWork::communication) continue;  // these take few SMs on purpose
    all_ns += v.total_ns;
    if (v.shape.blocks_per_sm >= threshold(rule, "blocks_per_sm")) continue;
    small_ns += v.total_ns;
    advice.evidence.push_back({fmt::format("{} ({})", shortened(v.name), shape_text(v.shape)), v.count, v.total_ns});
  }
  const double share = part(small_ns, all_ns);
  if (all_ns == 0 || share <= threshold(rule, "time_share")) return {};
  advice.sign =
      fmt::format("{} of kernel time is in kernels with fewer blocks than the GPU has SMs", human_percent(share));
  return advice;
}

std::optional<Advice> low_occupancy(const View& view, const Rule& rule) {
  Advice advice;
  double occupied_ns = 0;
  int64_t told_ns = 0;
  for (const KernelVariant& v : view.tables.variants) {
    if (v.work != GpuWork::compute || v.shape.occupancy_percent < 0)
      continue;  // communication takes few SMs on purpose
    told_ns += v.total_ns;
    occupied_ns += v.shape.occupancy_percent / 100 * static_cast<double>(v.total_ns);
    if (v.shape.occupancy_percent / 100 >= threshold(rule, "occupancy")) continue;
    advice.evidence.push_back(
        {fmt::format("{}: {} registers, {} bytes shared", shortened(v.name), v.shape.registers, v.shape.shared_memory),
         v.count, v.total_ns});
  }
  if (told_ns == 0 || occupied_ns >= threshold(rule, "occupancy") * static_cast<double>(told_ns)) return {};
  if (view.tables.utilization.gpu < threshold(rule, "busy_share")) return {};
  advice.sign = fmt::format("estimated occupancy of computing kernels is {}, and kernels run {} of the time",
                            human_percent(occupied_ns / static_cast<double>(told_ns)),
                            human_percent(view.tables.utilization.gpu));
  return advice;
}

std::optional<Advice> pageable_copies(const View& view, const Rule& rule) {
  Advice advice;
  int64_t bytes = 0, total_ns = 0;
  for (const CopyTotals& copy : view.tables.copies) {
    const bool slow = copy.timed_ns > 0 && copy.gb_per_s() < threshold(rule, "gb_per_s");
    if (!slow || copy.name.find("Pageable") == std::string::npos) continue;
    const bool large =
        static_cast<double>(copy.bytes) >= threshold(rule, "mean_bytes") * static_cast<double>(copy.sized);
    if (!large) continue;  // the time of small copies is latency
    bytes += copy.bytes;
    total_ns += copy.total_ns;
    advice.evidence.push_back({fmt::format("{}: {:.3g} GB/s", copy.name, copy.gb_per_s()), copy.count, copy.total_ns});
  }
  if (static_cast<double>(bytes) < threshold(rule, "bytes")) return {};
  advice.sign = fmt::format("{:.3g} MB are copied from or to memory that is not pinned, in {}",
                            static_cast<double>(bytes) / 1e6, human_duration(total_ns));
  advice.saves_at_most_ns = total_ns;
  return advice;
}

std::optional<Advice> exposed_communication(const View& view, const Rule& rule) {
  const RankSummary& t = view.whole().timeline;
  if (view.share(t.exposed_communication_ns) <= threshold(rule, "exposed_share")) return {};
  Advice advice;
  advice.sign = fmt::format("{} of the window is exposed communication ({} of {})",
                            human_percent(view.share(t.exposed_communication_ns)),
                            human_duration(t.exposed_communication_ns), human_duration(t.communication_ns));
  advice.saves_at_most_ns = t.exposed_communication_ns;
  for (const KernelTotals& kernel : view.tables.kernels) {
    if (kernel.work == GpuWork::communication) advice.evidence.push_back({kernel.name, kernel.count, kernel.total_ns});
  }
  return advice;
}

std::optional<Advice> no_overlap(const View& view, const Rule& rule) {
  const RankSummary& t = view.whole().timeline;
  if (view.share(t.communication_ns) <= threshold(rule, "communication_share")) return {};
  const int64_t hidden_ns = t.communication_ns - t.exposed_communication_ns;
  if (part(hidden_ns, t.communication_ns) >= threshold(rule, "hidden_share")) return {};
  Advice advice;
  advice.sign = fmt::format("only {} of communication ({}) is overlapped with compute",
                            human_percent(part(hidden_ns, t.communication_ns)), human_duration(t.communication_ns));
  advice.saves_at_most_ns = std::min(t.exposed_communication_ns, t.compute_ns - hidden_ns);
  advice.evidence = {{"exposed communication", 0, t.exposed_communication_ns}};
  return advice;
}

}  // namespace skewscope::advise
