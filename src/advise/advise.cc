// The signs are asked one by one, in the order of the rules; what shows is sorted by what it could save. A sign
// that says less of the same loss joins the finding that says why.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "signs.h"

namespace skewscope {
namespace advise {
namespace {

struct NamedSign {
  std::string_view code;
  Sign sign;
  bool information = false;
  std::string_view said_by = "";  // the sign that says why of the same loss, where it shows
};

constexpr std::array kSigns = {
    NamedSign{"overhead-bound", &overhead_bound},
    NamedSign{"compute-bound", &compute_bound, true},
    NamedSign{"launch-bound", &launch_bound},
    NamedSign{"queued-but-idle", &queued_but_idle},
    NamedSign{"little-used", &little_used, false, "overhead-bound"},
    NamedSign{"hotspot", &hotspot, true},
    NamedSign{"tiny-calls", &tiny_calls},
    NamedSign{"cold-first-step", &cold_first_step},
    NamedSign{"profiler-buffers", &profiler_buffers, true},
    NamedSign{"copy-before-gemm", &copy_before_gemm},
    NamedSign{"host-synchronization", &host_synchronization},
    NamedSign{"launch-blocking", &launch_blocking},
    NamedSign{"data-loading", &data_loading},
    NamedSign{"single-precision", &single_precision},
    NamedSign{"unfused-attention", &unfused_attention},
    NamedSign{"varying-kernel-times", &varying_kernel_times, true},
    NamedSign{"small-grids", &small_grids},
    NamedSign{"low-occupancy", &low_occupancy, true},
    NamedSign{"exposed-communication", &exposed_communication},
    NamedSign{"no-overlap", &no_overlap},
    NamedSign{"graph-breaks", &graph_breaks},
    NamedSign{"recompilation", &recompilation},
    NamedSign{"compilation-measured", &compilation_measured, true},
    NamedSign{"pageable-copies", &pageable_copies},
};

// A sign that says less of a loss that another has found joins its evidence.
bool joined(const Advice& advice, std::string_view said_by, std::vector<Advice>& found) {
  const auto same =
      std::find_if(found.begin(), found.end(), [&](const Advice& other) { return other.code == said_by; });
  if (same == found.end()) return false;
  same->evidence.push_back({advice.sign, 1, 0});
  return true;
}

std::string thresholds_text(const Rule& rule) {
  std::string text;
  for (const auto& [name, value] : rule.thresholds)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  return text;
}

}  // namespace

double View::share(int64_t ns) const {
  return window_ns() == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(window_ns());
}

std::vector<const TimelineRow*> View::steps() const {
  std::vector<const TimelineRow*> steps;
  for (const TimelineRow& row : tables.timeline) {
    if (row.step >= 0) steps.push_back(&row);
  }
  return steps;
}

int64_t View::kernel_ns() const {
  int64_t ns = 0;
  for (const KernelTotals& kernel : tables.kernels) ns += kernel.total_ns;
  return ns;
}

double threshold(const Rule& rule, const char* name) { return rule.thresholds.at(name); }

std::string shortened(std::string_view name) {
  constexpr size_t kMost = 60;
  if (name.substr(0, 5) == "void ") name.remove_prefix(5);
  return name.size() <= kMost ? std::string(name) : std::string(name.substr(0, kMost)) + "...";
}

}  // namespace advise

std::vector<Advice> advice_on(const RankTables& tables, const OperatorTables& operators, const Rules& rules) {
  std::vector<Advice> found;
  if (tables.timeline.empty() || tables.timeline.front().gpu_rows == 0) return found;
  const advise::View view{tables, operators};
  for (const Rule& rule : rules) {
    const auto known = std::find_if(advise::kSigns.begin(), advise::kSigns.end(),
                                    [&](const advise::NamedSign& s) { return s.code == rule.code; });
    if (!rule.enabled || known == advise::kSigns.end()) continue;
    std::optional<Advice> advice = known->sign(view, rule);
    if (!advice) continue;
    if (advice->window_ns == 0) advice->window_ns = view.window_ns();
    advice->code = rule.code;
    advice->threshold = advise::thresholds_text(rule);
    advice->meaning = rule.meaning;
    advice->action = advise::action_for(view, rule);
    advice->information = known->information;
    std::stable_sort(advice->evidence.begin(), advice->evidence.end(),
                     [](const Evidence& a, const Evidence& b) { return a.time_ns > b.time_ns; });
    if (!advise::joined(*advice, known->said_by, found)) found.push_back(std::move(*advice));
  }
  std::stable_sort(found.begin(), found.end(), [](const Advice& a, const Advice& b) {
    if (a.information != b.information) return b.information;
    return a.saves_at_most_ns > b.saves_at_most_ns;
  });
  return found;
}

}  // namespace skewscope
