// Problem: work is known of some operators (a convolution), time of the rows that those launched which it calls. Every
// GPU row shall count for one operator only, the one whose work it does.
//
// Idea: from the roots of the call tree down, the first operator with known work represents all that runs within it;
// where there is none, the first that launches rows itself, unless an operator with known work runs below it. A node of
// backward represents only operators whose work is not known, as its own is known from the arguments of its forward.
// What still launches rows on its own is left over and gets a row "<launcher>-><kernel>". (TraceLens'
// unified_perf_summary.)
//
// Why it is right: parents are before their children, so one pass hands down who represents a row.
//
// Cost: linear in host rows, sorting of GPU rows; the models run once per argument set.
#include "work_sums.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "forward_links.h"
#include "kernel_positions.h"
#include "same_arguments.h"
#include "skewscope/efficiency/work.h"
#include "src/summarize/gpu/shares.h"
#include "src/summarize/gpu/spread.h"

namespace skewscope::summarize {
namespace {

enum Trait : uint8_t { has_gpu_rows = 1, launches = 2, has_model = 4, model_below = 8 };

// Per distinct name, asked once.
class Models {
 public:
  explicit Models(const StringTable& strings) : strings_(strings), known_(strings.size(), kNotAsked) {}

  // Whether there is one for a run of this operator that launches rows itself, or does not.
  bool knows(StringId name, bool launches_itself) {
    if (!name.known()) return false;
    Known& known = known_[name.index()];
    if (known == kNotAsked) known = ask(strings_.view(name));
    return known == kAny || (known == kOwnLaunches && launches_itself);
  }

 private:
  enum Known : uint8_t { kNotAsked, kNone, kOwnLaunches, kAny };

  static Known ask(std::string_view name) {
    if (!efficiency::has_work_model(name)) return kNone;
    return efficiency::prices_own_launches_only(name) ? kOwnLaunches : kAny;
  }

  const StringTable& strings_;
  std::vector<Known> known_;
};

std::vector<uint8_t> traits_of(const OperatorView& view) {
  const HostEvents& host = view.host();
  std::vector<uint8_t> traits(host.size(), 0);
  for (size_t row = 0; row < view.gpu().size(); ++row) {
    int32_t above = view.detail.gpu.caller[row];
    for (; above >= 0 && (traits[static_cast<size_t>(above)] & has_gpu_rows) == 0;
         above = view.tree.parent[static_cast<size_t>(above)]) {
      traits[static_cast<size_t>(above)] |= has_gpu_rows;
    }
    const int32_t launcher = view.launcher[row];
    if (launcher >= 0 && view.gpu().work[row] != GpuWork::communication)
      traits[static_cast<size_t>(launcher)] |= launches;
  }
  Models models(view.strings);
  for (size_t row = 0; row < host.size(); ++row) {
    if (host.kind[row] != HostKind::op || (traits[row] & has_gpu_rows) == 0) continue;
    if (!models.knows(host.name[row], (traits[row] & launches) != 0)) continue;
    traits[row] |= has_model;
    int32_t above = view.tree.parent[row];
    for (; above >= 0 && (traits[static_cast<size_t>(above)] & model_below) == 0;
         above = view.tree.parent[static_cast<size_t>(above)]) {
      traits[static_cast<size_t>(above)] |= model_below;
    }
  }
  return traits;
}

// Host row -> the operator that represents it; -1: none.
std::vector<int32_t> standing_for(const OperatorView& view) {
  const std::vector<uint8_t> traits = traits_of(view);
  std::vector<int32_t> stands(traits.size(), -1);
  for (size_t row = 0; row < stands.size(); ++row) {
    const int32_t parent = view.tree.parent[row];
    if (parent >= 0) stands[row] = stands[static_cast<size_t>(parent)];
    if (stands[row] >= 0 || view.host().kind[row] != HostKind::op) continue;
    const bool innermost = (traits[row] & model_below) == 0;
    const bool backward_node = view.host().forward_thread[row] != 0;
    const bool modelled = (traits[row] & has_model) != 0 && (innermost || !backward_node);
    if (modelled || ((traits[row] & launches) != 0 && innermost)) stands[row] = static_cast<int32_t>(row);
  }
  return stands;
}

// One run of an operator, or one GPU row left over.
struct Unit {
  int32_t host_row = -1;  // that represents it; its launcher where it is left over
  bool leftover = false;
  std::vector<int32_t> gpu_rows;  // in the order of the calls in the trace file
};

std::vector<Unit> units_of(const OperatorView& view) {
  const std::vector<int32_t> stands = standing_for(view);
  std::map<int32_t, std::vector<int32_t>> taken;
  std::vector<Unit> units;
  for (size_t row = 0; row < view.gpu().size(); ++row) {
    const int32_t caller = view.detail.gpu.caller[row];
    if (caller < 0) continue;
    const int32_t operator_row = stands[static_cast<size_t>(caller)];
    if (operator_row >= 0) {
      taken[operator_row].push_back(static_cast<int32_t>(row));
    } else if (view.gpu().work[row] != GpuWork::communication) {
      units.push_back({view.launcher[row], true, {static_cast<int32_t>(row)}});
    }
  }
  for (auto& [operator_row, rows] : taken) units.push_back({operator_row, false, std::move(rows)});
  const auto place = [&](int32_t gpu_row) {
    const auto row = static_cast<size_t>(gpu_row);
    const auto caller = static_cast<size_t>(view.detail.gpu.caller[row]);
    return std::make_pair(view.host().place[caller], view.detail.gpu.place[row]);
  };
  for (Unit& unit : units) {
    std::sort(unit.gpu_rows.begin(), unit.gpu_rows.end(), [&](int32_t a, int32_t b) { return place(a) < place(b); });
  }
  const auto start = [&](const Unit& unit) {
    const auto row = static_cast<size_t>(unit.host_row);
    return std::make_tuple(view.host().start[row], view.host().place[row], place(unit.gpu_rows.front()));
  };
  std::sort(units.begin(), units.end(), [&](const Unit& a, const Unit& b) { return start(a) < start(b); });
  return units;
}

int64_t busy_ns(const OperatorView& view, std::vector<int32_t> gpu_rows) {
  std::sort(gpu_rows.begin(), gpu_rows.end());  // rows are sorted by start
  BusyTime busy;
  for (const int32_t r : gpu_rows) {
    busy.add(view.gpu().start[static_cast<size_t>(r)], view.gpu().duration_ns[static_cast<size_t>(r)]);
  }
  return busy.ns();
}

efficiency::ArgumentTexts texts(const ArgumentsText& arguments, std::string_view kernels = "") {
  return {arguments.dims, arguments.types, arguments.strides, arguments.values, kernels};
}

// One a line, of the first instance.
std::string kernel_names(const WorkRow& row) {
  std::string names;
  for (const KernelPosition& kernel : row.kernels) names += kernel.name + "\n";
  return names;
}

// Host row -> the forward operator that it, or else the next backward node around it, belongs to; -1: none.
std::vector<int32_t> forward_around(const OperatorView& view) {
  std::vector<int32_t> forward = forward_rows(view.host());
  for (size_t row = 0; row < forward.size(); ++row) {
    const int32_t parent = view.tree.parent[row];
    if (forward[row] < 0 && parent >= 0) forward[row] = forward[static_cast<size_t>(parent)];
  }
  return forward;
}

void add_model(const OperatorView& view, const std::vector<int32_t>& forward, int32_t host_row, WorkRow& row) {
  const int32_t forward_row = forward[static_cast<size_t>(host_row)];
  const ArgumentsText of_forward = view.arguments(forward_row);
  const efficiency::ArgumentTexts forward_texts = texts(of_forward);
  const std::string kernels = efficiency::prices_own_launches_only(row.name) ? kernel_names(row) : "";
  const efficiency::Work work =
      efficiency::work_of(row.name, texts(row.arguments, kernels), forward_row >= 0 ? &forward_texts : nullptr);
  row.known_operator = true;
  row.flops = work.flops.value_or(-1);
  row.bytes = work.bytes.value_or(-1);
  row.unknown = work.unknown;
  row.compute = efficiency::to_string(work.compute);
  row.precision = efficiency::to_string(work.precision);
  for (const efficiency::Parameter& parameter : work.parameters) {
    row.parameters += (row.parameters.empty() ? "" : " ") + parameter.name + "=" + parameter.value;
  }
  if (view.options.device == nullptr) return;
  if (const auto roofline = efficiency::roofline_of(work, *view.options.device)) {
    row.bound = efficiency::to_string(roofline->bound);
    row.roofline_ns = roofline->time_ns;
  }
}

// An operator has the category of the first row that it launched itself, where it did; what is left over that of its
// whole name.
std::string_view category_of(const OperatorView& view, const Unit& unit) {
  size_t told_by = static_cast<size_t>(unit.gpu_rows.front());
  const std::string_view name = view.name(unit.host_row);
  if (unit.leftover) {
    return view.category(std::string(name) + "->" + std::string(view.gpu_name(told_by)), view.gpu_name(told_by));
  }
  const std::vector<int32_t>& place = view.detail.gpu.place;
  int32_t first_place = std::numeric_limits<int32_t>::max();
  for (const int32_t r : unit.gpu_rows) {
    const auto row = static_cast<size_t>(r);
    if (view.launcher[row] != unit.host_row || place[row] >= first_place) continue;
    told_by = row;
    first_place = place[row];
  }
  return view.category(name, view.gpu_name(told_by));
}

struct WorkKey {
  SameArguments arguments;
  StringId leftover;  // the kernel's name; none: an operator

  auto operator<=>(const WorkKey&) const = default;
};

struct WorkGroup {
  int32_t first_row = -1;
  std::vector<int64_t> host_ns, gpu_ns;
  KernelPositions kernels;
};

using WorkGroups = std::map<WorkKey, WorkGroup>;

WorkGroups group(const OperatorView& view) {
  WorkGroups groups;
  for (const Unit& unit : units_of(view)) {
    const auto first = static_cast<size_t>(unit.gpu_rows.front());
    const StringId leftover = unit.leftover ? view.gpu().name[first] : StringId();
    WorkGroup& group = groups[{same_arguments(view, unit.host_row, category_of(view, unit)), leftover}];
    if (group.first_row < 0) group.first_row = unit.host_row;
    group.host_ns.push_back(view.host().duration_ns[static_cast<size_t>(unit.host_row)]);
    group.gpu_ns.push_back(busy_ns(view, unit.gpu_rows));
    group.kernels.add(view, unit.gpu_rows);
  }
  return groups;
}

}  // namespace

void add_work(const OperatorView& view, OperatorTables& tables) {
  const std::vector<int32_t> forward = forward_around(view);
  WorkGroups groups = group(view);
  for (auto& [key, group] : groups) {
    WorkRow& row = tables.work.emplace_back();
    describe(view, group.first_row, key.arguments, row);
    row.kernels = group.kernels.finish(view);
    if (key.leftover.known()) {
      row.leftover = true;
      row.name += "->" + std::string(view.strings.view(key.leftover));
    } else if (efficiency::has_work_model(row.name)) {
      add_model(view, forward, group.first_row, row);
    }
    row.per_second = rates_of(group.gpu_ns);
    row.host = spread_of(group.host_ns);
    row.gpu = spread_of(group.gpu_ns);
  }
  fill_shares(tables.work, [](const WorkRow& row) { return row.gpu.sum_ns; });
  std::stable_sort(tables.work.begin(), tables.work.end(), [](const WorkRow& a, const WorkRow& b) {
    return std::tie(b.gpu.sum_ns, a.first_place) < std::tie(a.gpu.sum_ns, b.first_place);
  });
}

}  // namespace skewscope::summarize
