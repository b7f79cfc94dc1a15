// A GPU row counts for every module and annotation around its launch; a row launched by backward also for the modules
// around the forward operator that its node belongs to. What checkpointing runs again is launched within the module's
// own frames, so it counts there and not as backward of the operator whose gradient asked for it.
#include "range_sums.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "forward_links.h"
#include "slot_times.h"

namespace skewscope::summarize {
namespace {

constexpr std::string_view kModule = "nn.Module: ";

// One slot per module.
NameSlots module_slots(const OperatorView& view) {
  std::vector<int8_t> is_module(view.strings.size(), -1);  // by name; asked once
  return name_slots(view, [&](size_t row) {
    if (view.host().kind[row] != HostKind::python) return false;
    const StringId name = view.host().name[row];
    int8_t& known = is_module[name.index()];
    if (known < 0) known = view.strings.view(name).substr(0, kModule.size()) == kModule ? 1 : 0;
    return known == 1;
  });
}

void add_calls(const OperatorView& view, const NameSlots& modules, std::vector<ModuleRow>& rows) {
  const HostEvents& host = view.host();
  const std::vector<int32_t> around = next_around(view.tree, [&](size_t row) { return modules.slot[row] >= 0; });
  for (size_t i = 0; i < host.size(); ++i) {
    if (modules.slot[i] < 0) continue;
    ModuleRow& row = rows[static_cast<size_t>(modules.slot[i])];
    ++row.calls;
    row.host_self_ns += host.duration_ns[i];
    row.host_total_ns += host.duration_ns[i];
    if (around[i] < 0) continue;
    const int32_t outer = modules.slot[static_cast<size_t>(around[i])];
    if (row.calls == 1 && outer != modules.slot[i]) row.parent = rows[static_cast<size_t>(outer)].name;
    rows[static_cast<size_t>(outer)].host_self_ns -= host.duration_ns[i];
  }
}

void add_gpu_rows(const OperatorView& view, const NameSlots& modules, std::vector<ModuleRow>& rows) {
  const std::vector<int32_t> forward = forward_rows(view.host());
  const auto has_forward = [&](size_t row) {
    return forward[row] >= 0 && !view.is_recompute(static_cast<int32_t>(row));
  };
  const std::vector<int32_t> backward = next_around(view.tree, has_forward);
  SlotTimes within(view.tree, modules.slot, rows.size()), of_backward(view.tree, modules.slot, rows.size());
  const GpuEvents& gpu = view.gpu();
  for (size_t row = 0; row < gpu.size(); ++row) {
    const int32_t caller = view.detail.gpu.caller[row];
    if (caller < 0) continue;
    within.add(caller, gpu.start[row], gpu.duration_ns[row]);
    const auto at = static_cast<size_t>(caller);
    const int32_t node = has_forward(at) ? caller : backward[at];
    if (node < 0 || view.is_recompute(view.launcher[row])) continue;
    of_backward.add(forward[static_cast<size_t>(node)], gpu.start[row], gpu.duration_ns[row]);
  }
  within.finish();
  of_backward.finish();
  for (size_t slot = 0; slot < rows.size(); ++slot) {
    rows[slot].gpu_ns = within.ns(slot);
    rows[slot].backward_gpu_ns = of_backward.ns(slot);
  }
}

}  // namespace

void add_modules(const OperatorView& view, OperatorTables& tables) {
  if (!view.detail.has_python) return;
  const NameSlots modules = module_slots(view);
  std::vector<ModuleRow> rows(modules.names.size());
  for (size_t slot = 0; slot < rows.size(); ++slot) {
    rows[slot].name = std::string(view.strings.view(modules.names[slot]).substr(kModule.size()));
  }
  add_calls(view, modules, rows);
  add_gpu_rows(view, modules, rows);
  tables.modules = std::move(rows);
  std::sort(tables.modules.begin(), tables.modules.end(), [](const ModuleRow& a, const ModuleRow& b) {
    return std::tie(b.gpu_ns, b.host_total_ns, a.name) < std::tie(a.gpu_ns, a.host_total_ns, b.name);
  });
}

namespace {

// Rows of a thread come by start, so the first operator that is met within a range is its first. Ranges around a range
// whose first operator is known have theirs, too: each range is walked once.
void add_first_operators(const OperatorView& view, const NameSlots& names, std::vector<AnnotationRow>& rows) {
  const HostEvents& host = view.host();
  const std::vector<int32_t> around = next_around(view.tree, [&](size_t row) { return names.slot[row] >= 0; });
  std::vector<bool> begun(host.size());
  for (size_t i = 0; i < host.size(); ++i) {
    if (host.kind[i] != HostKind::op) continue;
    for (int32_t at = around[i]; at >= 0 && !begun[static_cast<size_t>(at)]; at = around[static_cast<size_t>(at)]) {
      begun[static_cast<size_t>(at)] = true;
      AnnotationRow& row = rows[static_cast<size_t>(names.slot[static_cast<size_t>(at)])];
      ++row.with_operators;
      row.before_first_operator_ns += host.start[i] - host.start[static_cast<size_t>(at)];
    }
  }
}

void add_host_annotations(const OperatorView& view, std::vector<AnnotationRow>& rows) {
  const HostEvents& host = view.host();
  const NameSlots names = name_slots(view, [&](size_t row) { return host.kind[row] == HostKind::annotation; });
  rows.resize(names.names.size());
  for (size_t slot = 0; slot < rows.size(); ++slot) rows[slot].name = std::string(view.strings.view(names.names[slot]));
  for (size_t i = 0; i < host.size(); ++i) {
    if (names.slot[i] < 0) continue;
    AnnotationRow& row = rows[static_cast<size_t>(names.slot[i])];
    ++row.count;
    row.total_ns += host.duration_ns[i];
  }
  if (rows.empty()) return;
  add_first_operators(view, names, rows);
  SlotTimes busy(view.tree, names.slot, rows.size());
  for (size_t row = 0; row < view.gpu().size(); ++row) {
    busy.add(view.detail.gpu.caller[row], view.gpu().start[row], view.gpu().duration_ns[row]);
  }
  busy.finish();
  for (size_t slot = 0; slot < rows.size(); ++slot) rows[slot].gpu_ns = busy.ns(slot);
}

void add_gpu_annotations(const OperatorView& view, std::vector<AnnotationRow>& rows) {
  struct Sums {
    AnnotationRow row;
    BusyTime busy;
  };
  std::map<StringId, Sums> sums;
  const GpuAnnotations& ranges = view.detail.gpu_annotations;
  for (size_t i = 0; i < ranges.size(); ++i) {
    Sums& of_name = sums[ranges.name[i]];
    ++of_name.row.count;
    of_name.row.total_ns += ranges.duration_ns[i];
    of_name.busy.add(ranges.start[i], ranges.duration_ns[i]);
  }
  for (auto& [name, of_name] : sums) {
    of_name.row.on_gpu = true;
    of_name.row.name = std::string(view.strings.view(name));
    of_name.row.gpu_ns = of_name.busy.ns();
    rows.push_back(std::move(of_name.row));
  }
}

}  // namespace

void add_annotations(const OperatorView& view, OperatorTables& tables) {
  add_host_annotations(view, tables.annotations);
  add_gpu_annotations(view, tables.annotations);
  std::sort(tables.annotations.begin(), tables.annotations.end(), [](const AnnotationRow& a, const AnnotationRow& b) {
    return std::tie(a.on_gpu, b.total_ns, a.name) < std::tie(b.on_gpu, a.total_ns, b.name);
  });
}

}  // namespace skewscope::summarize
