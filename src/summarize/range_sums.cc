// GPU rows, sorted by start, widen the union of every module and annotation around their launch; a row launched by
// backward also widens the modules around the forward operator that its node belongs to. What checkpointing runs again
// is launched within the module's own frames, so it counts there and not as backward of the operator whose gradient
// asked for it.
#include "range_sums.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "forward_links.h"

namespace skewscope::summarize {
namespace {

constexpr std::string_view kModule = "nn.Module: ";

struct ModuleSums {
  ModuleRow row;
  BusyTime gpu, backward;
};

class Modules {
 public:
  explicit Modules(const OperatorView& view) : view_(view), slots_(view.strings.size(), kUnseen) {}

  // The module whose call a host row is; null: none.
  ModuleSums* of(int32_t host_row) {
    const auto row = static_cast<size_t>(host_row);
    const StringId name = view_.host().name[row];
    if (view_.host().kind[row] != HostKind::python || !name.known()) return nullptr;
    int32_t& slot = slots_[name.index()];
    if (slot == kUnseen) {
      slot = kNone;
      if (view_.strings.view(name).substr(0, kModule.size()) == kModule) {
        slot = static_cast<int32_t>(sums_.size());
        sums_.emplace_back().row.name = std::string(view_.strings.view(name).substr(kModule.size()));
      }
    }
    return slot < 0 ? nullptr : &sums_[static_cast<size_t>(slot)];
  }
  std::vector<ModuleSums>& all() { return sums_; }

 private:
  static constexpr int32_t kUnseen = -2, kNone = -1;
  const OperatorView& view_;
  std::vector<int32_t> slots_;  // of each distinct name
  std::vector<ModuleSums> sums_;
};

void add_calls(const OperatorView& view, Modules& modules) {
  const HostEvents& host = view.host();
  for (size_t i = 0; i < host.size(); ++i) {
    ModuleSums* module = modules.of(static_cast<int32_t>(i));
    if (module == nullptr) continue;
    ++module->row.calls;
    module->row.host_self_ns += host.duration_ns[i];
    module->row.host_total_ns += host.duration_ns[i];
    for (int32_t above = view.tree.parent[i]; above >= 0; above = view.tree.parent[static_cast<size_t>(above)]) {
      ModuleSums* outer = modules.of(above);
      if (outer == nullptr) continue;
      outer->row.host_self_ns -= host.duration_ns[i];
      break;
    }
  }
}

void add_gpu_rows(const OperatorView& view, Modules& modules) {
  const std::vector<int32_t> forward = forward_rows(view.host());
  const GpuEvents& gpu = view.gpu();
  for (size_t row = 0; row < gpu.size(); ++row) {
    int32_t forward_row = -1;
    view.for_each_around(row, [&](int32_t host_row) {
      if (ModuleSums* module = modules.of(host_row)) module->gpu.add(gpu.start[row], gpu.duration_ns[row]);
      if (forward_row < 0 && !view.is_recompute(host_row)) forward_row = forward[static_cast<size_t>(host_row)];
    });
    if (view.is_recompute(view.launcher[row])) continue;
    for (; forward_row >= 0; forward_row = view.tree.parent[static_cast<size_t>(forward_row)]) {
      if (ModuleSums* module = modules.of(forward_row)) module->backward.add(gpu.start[row], gpu.duration_ns[row]);
    }
  }
}

}  // namespace

void add_modules(const OperatorView& view, OperatorTables& tables) {
  if (!view.detail.has_python) return;
  Modules modules(view);
  add_calls(view, modules);
  add_gpu_rows(view, modules);
  for (ModuleSums& sums : modules.all()) {
    sums.row.gpu_ns = sums.gpu.ns();
    sums.row.backward_gpu_ns = sums.backward.ns();
    tables.modules.push_back(std::move(sums.row));
  }
  std::sort(tables.modules.begin(), tables.modules.end(), [](const ModuleRow& a, const ModuleRow& b) {
    return std::tie(b.gpu_ns, b.host_total_ns, a.name) < std::tie(a.gpu_ns, a.host_total_ns, b.name);
  });
}

void add_annotations(const OperatorView& view, OperatorTables& tables) {
  struct Sums {
    AnnotationRow row;
    BusyTime busy;
  };
  std::map<std::pair<bool, StringId>, Sums> sums;
  const auto count = [&](bool on_gpu, StringId name, int64_t duration_ns) -> Sums& {
    Sums& of_name = sums[{on_gpu, name}];
    ++of_name.row.count;
    of_name.row.total_ns += duration_ns;
    return of_name;
  };
  const HostEvents& host = view.host();
  for (size_t i = 0; i < host.size(); ++i) {
    if (host.kind[i] == HostKind::annotation) count(false, host.name[i], host.duration_ns[i]);
  }
  if (!sums.empty()) {
    for (size_t row = 0; row < view.gpu().size(); ++row) {
      view.for_each_around(row, [&](int32_t host_row) {
        const auto at = static_cast<size_t>(host_row);
        if (host.kind[at] != HostKind::annotation) return;
        sums[{false, host.name[at]}].busy.add(view.gpu().start[row], view.gpu().duration_ns[row]);
      });
    }
  }
  const GpuAnnotations& ranges = view.detail.gpu_annotations;
  for (size_t i = 0; i < ranges.size(); ++i) {
    count(true, ranges.name[i], ranges.duration_ns[i]).busy.add(ranges.start[i], ranges.duration_ns[i]);
  }
  for (auto& [key, of_name] : sums) {
    of_name.row.on_gpu = key.first;
    of_name.row.name = std::string(view.strings.view(key.second));
    of_name.row.gpu_ns = of_name.busy.ns();
    tables.annotations.push_back(std::move(of_name.row));
  }
  std::sort(tables.annotations.begin(), tables.annotations.end(), [](const AnnotationRow& a, const AnnotationRow& b) {
    return std::tie(a.on_gpu, b.total_ns, a.name) < std::tie(b.on_gpu, a.total_ns, b.name);
  });
}

}  // namespace skewscope::summarize
