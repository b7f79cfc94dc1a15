// torch.compile leaves ranges with names of its own: "Torch-Compiled Region: 0/1" (frame id / compile id; without ids
// before 2.5), "TorchDynamo Cache Lookup" before each call of it, "Pregraph bytecode" and "AOTDispatcher Runtime
// Wrapper Prologue" at its begin, "CompiledFunction" and "CompiledFunctionBackward" where gradients are needed, "##
// Call CompiledFxGraph <hash> ##" around the code that Inductor wrote, and "… (dynamo_timed)" around the parts of
// compilation. A region within a region follows a graph break. Sources: PyTorch's "How to profile torch.compile",
// torch/_dynamo/utils.py.
#include "compiled_sums.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "slot_times.h"

namespace skewscope::summarize {
namespace {

constexpr std::string_view kRegion = "Torch-Compiled Region";

bool begins_with(std::string_view text, std::string_view begin) { return text.substr(0, begin.size()) == begin; }

std::optional<CompileEvent> event_of(std::string_view name) {
  if (begins_with(name, "TorchDynamo Cache Lookup")) return CompileEvent::cache_lookup;
  if (name == "AOTDispatcher Runtime Wrapper Prologue" || name == "Pregraph bytecode") return CompileEvent::prologue;
  if (begins_with(name, "## Call CompiledFxGraph")) return CompileEvent::graph_call;
  if (name.ends_with("(dynamo_timed)")) return CompileEvent::compilation;
  if (name == "CompiledFunctionBackward") return CompileEvent::backward;
  if (name == "CompiledFunction") return CompileEvent::forward;
  return std::nullopt;
}

// "Torch-Compiled Region: 3/1": frame 3, compile 1; stays -1 where there are none.
void read_ids(std::string_view name, CompiledRegionRow& row) {
  const size_t colon = name.find(": ");
  if (colon == std::string_view::npos) return;
  const char *at = name.data() + colon + 2, *end = name.data() + name.size();
  int64_t frame = -1, compile = -1;
  const auto [slash, frame_error] = std::from_chars(at, end, frame);
  if (frame_error != std::errc() || slash == end || *slash != '/') return;
  if (std::from_chars(slash + 1, end, compile).ec != std::errc()) return;
  row.frame = frame;
  row.compile = compile;
}

// What a distinct name is.
struct NameKind {
  bool region = false;
  std::optional<CompileEvent> event;
};

std::vector<NameKind> kinds_of(const OperatorView& view) {
  std::vector<NameKind> kinds(view.strings.size());
  for (size_t i = 0; i < kinds.size(); ++i) {
    const std::string_view name = view.strings.view(StringId(static_cast<int64_t>(i)));
    kinds[i] = {begins_with(name, kRegion), event_of(name)};
  }
  return kinds;
}

struct RegionSums {
  CompiledRegionRow row;
  std::set<StringId> outer;
};

struct EventSums {
  int64_t count = 0, host_ns = 0, gpu_ns = 0;
};

struct CompiledSums {
  std::map<StringId, RegionSums> regions;
  std::map<StringId, EventSums> events;
  std::vector<std::pair<LocalNs, LocalNs>> compiling;  // from, to
};

// The length of ranges that may lie within each other, each moment counted once.
int64_t union_ns(std::vector<std::pair<LocalNs, LocalNs>> ranges) {
  std::sort(ranges.begin(), ranges.end());
  int64_t sum_ns = 0;
  LocalNs end{INT64_MIN};
  for (const auto& [from, to] : ranges) {
    if (to <= end) continue;
    sum_ns += to - std::max(from, end);
    end = to;
  }
  return sum_ns;
}

bool is_range(const HostEvents& host, size_t row) {
  return (host.kind[row] == HostKind::op || host.kind[row] == HostKind::annotation) && host.name[row].known();
}

void count_ranges(const OperatorView& view, const std::vector<NameKind>& kinds, CompiledSums& sums) {
  const HostEvents& host = view.host();
  const auto is_region = [&](size_t row) { return is_range(host, row) && kinds[host.name[row].index()].region; };
  std::vector<int32_t> around;     // made where there is a region
  size_t looked_up = host.size();  // the last look-up, until a region began after it
  const auto outer_region = [&](size_t row) {
    if (around.empty()) around = next_around(view.tree, is_region);
    return around[row];
  };
  for (size_t i = 0; i < host.size(); ++i) {
    if (!is_range(host, i)) continue;
    const NameKind& kind = kinds[host.name[i].index()];
    if (kind.event == CompileEvent::cache_lookup) looked_up = i;
    if (kind.event == CompileEvent::prologue && outer_region(i) >= 0) {
      const StringId outer = host.name[static_cast<size_t>(outer_region(i))];
      sums.regions[outer].row.prologue_ns += host.duration_ns[i];
    }
    if (kind.event.has_value()) {
      EventSums& event = sums.events[host.name[i]];
      ++event.count;
      event.host_ns += host.duration_ns[i];
      if (kind.event == CompileEvent::compilation) {
        sums.compiling.emplace_back(host.start[i], host.start[i] + host.duration_ns[i]);
      }
    }
    if (!kind.region) continue;
    RegionSums& region = sums.regions[host.name[i]];
    ++region.row.calls;
    region.row.host_ns += host.duration_ns[i];
    if (looked_up < i && host.thread[looked_up] == host.thread[i] && host.end(looked_up) <= host.start[i]) {
      region.row.cache_lookup_ns += host.duration_ns[looked_up];
    }
    looked_up = host.size();
    if (outer_region(i) < 0) continue;
    ++region.row.nested;
    region.outer.insert(host.name[static_cast<size_t>(outer_region(i))]);
  }
}

void add_gpu_rows(const OperatorView& view, const std::vector<NameKind>& kinds, CompiledSums& sums) {
  const GpuEvents& gpu = view.gpu();
  const NameSlots names = name_slots(view, [&](size_t row) {
    const NameKind& kind = kinds[view.host().name[row].index()];
    return is_range(view.host(), row) && (kind.region || kind.event);
  });
  SlotTimes busy(view.tree, names.slot, names.names.size());
  for (size_t row = 0; row < gpu.size(); ++row) {
    busy.add(view.detail.gpu.caller[row], gpu.start[row], gpu.duration_ns[row]);
  }
  busy.finish();
  for (size_t slot = 0; slot < names.names.size(); ++slot) {
    const StringId name = names.names[slot];
    if (kinds[name.index()].region) sums.regions[name].row.gpu_ns = busy.ns(slot);
    if (kinds[name.index()].event) sums.events[name].gpu_ns = busy.ns(slot);
  }
}

void finish_regions(const OperatorView& view, CompiledSums& sums, OperatorTables& tables) {
  std::map<int64_t, std::set<int64_t>> compiles;  // per frame
  for (auto& [name, region] : sums.regions) {
    CompiledRegionRow& row = region.row;
    row.name = std::string(view.strings.view(name));
    read_ids(row.name, row);
    for (const StringId outer : region.outer) row.outer.emplace_back(view.strings.view(outer));
    std::sort(row.outer.begin(), row.outer.end());
    if (row.frame >= 0) compiles[row.frame].insert(row.compile);
    tables.regions.push_back(std::move(row));
  }
  for (CompiledRegionRow& row : tables.regions) {
    row.recompiled = row.compile > 0 || (row.frame >= 0 && compiles[row.frame].size() > 1);
  }
  std::sort(tables.regions.begin(), tables.regions.end(), [](const CompiledRegionRow& a, const CompiledRegionRow& b) {
    return std::tie(a.frame, a.compile, a.name) < std::tie(b.frame, b.compile, b.name);
  });
}

// The driver's own launch calls, which Triton uses and the runtime's kernels do not.
bool is_driver_launch(std::string_view call) {
  return begins_with(call, "cuLaunchKernel") || begins_with(call, "hipModuleLaunchKernel");
}

// The name of a python function in lower case, as Triton kernels have; those of libraries are mangled or mixed.
bool is_lower_case_word(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

struct TritonKey {
  StringId name;
  bool by_compiler;
  StringId file;

  auto operator<=>(const TritonKey&) const = default;
};

// Kernels of libraries that the driver launches, too, and that have such names.
bool is_of_library(std::string_view name) {
  constexpr std::array<std::string_view, 9> kBegins = {"nvjet", "cublas", "cudnn",   "cutlass", "sm8",
                                                       "sm9",   "sm10",   "ampere_", "fmha"};
  return std::any_of(kBegins.begin(), kBegins.end(), [&](std::string_view begin) { return begins_with(name, begin); });
}

// The compiler's kernels tell themselves by their names, also where a graph replays them or nothing launched them.
std::optional<TritonKey> triton_key(const OperatorView& view, size_t gpu_row) {
  const int32_t launcher = view.launcher[gpu_row];
  const StringId name = view.gpu().name[gpu_row];
  if (view.gpu().work[gpu_row] == GpuWork::communication) return std::nullopt;
  if (launcher < 0) {
    const bool by_compiler = begins_with(view.strings.view(name), "triton_");
    return by_compiler ? std::optional(TritonKey{name, true, {}}) : std::nullopt;
  }
  const std::string_view launcher_name = view.name(launcher);
  const int32_t set = view.host().arguments[static_cast<size_t>(launcher)];
  const ArgumentSet recorded = set < 0 ? ArgumentSet() : view.detail.arguments[static_cast<size_t>(set)];
  if (begins_with(launcher_name, "triton_") || begins_with(view.strings.view(name), "triton_") ||
      view.strings.view(recorded.kernel_backend) == "triton") {
    return TritonKey{name, true, recorded.kernel_file};
  }
  const bool by_user = is_driver_launch(view.name(view.detail.gpu.caller[gpu_row])) &&
                       is_lower_case_word(view.strings.view(name)) && !is_of_library(view.strings.view(name)) &&
                       !begins_with(launcher_name, "aten::");
  return by_user ? std::optional(TritonKey{name, false, {}}) : std::nullopt;
}

void add_triton(const OperatorView& view, OperatorTables& tables) {
  std::map<TritonKey, TritonRow> rows;
  for (size_t i = 0; i < view.gpu().size(); ++i) {
    const std::optional<TritonKey> key = triton_key(view, i);
    if (!key) continue;
    TritonRow& row = rows[*key];
    row.name = std::string(view.strings.view(key->name));
    row.by_compiler = key->by_compiler;
    row.file = std::string(view.strings.view(key->file));
    ++row.count;
    row.sum_ns += view.gpu().duration_ns[i];
  }
  for (auto& [key, row] : rows) tables.triton.push_back(std::move(row));
  std::sort(tables.triton.begin(), tables.triton.end(), [](const TritonRow& a, const TritonRow& b) {
    return std::tie(b.sum_ns, a.name, a.file) < std::tie(a.sum_ns, b.name, b.file);
  });
}

}  // namespace

void add_compiled(const OperatorView& view, OperatorTables& tables) {
  const std::vector<NameKind> kinds = kinds_of(view);
  CompiledSums sums;
  count_ranges(view, kinds, sums);
  if (!sums.regions.empty() || !sums.events.empty()) add_gpu_rows(view, kinds, sums);
  finish_regions(view, sums, tables);
  tables.compiling_ns = union_ns(std::move(sums.compiling));
  for (const auto& [name, event] : sums.events) {
    tables.compile_events.push_back(
        {*kinds[name.index()].event, std::string(view.strings.view(name)), event.count, event.host_ns, event.gpu_ns});
  }
  std::sort(tables.compile_events.begin(), tables.compile_events.end(),
            [](const CompileEventRow& a, const CompileEventRow& b) {
              return std::tie(a.event, b.host_ns, a.name) < std::tie(b.event, a.host_ns, b.name);
            });
  add_triton(view, tables);
}

void add_graphs(const OperatorView& view, OperatorTables& tables) {
  struct Launch {
    int64_t gpu_rows = 0, sum_ns = 0;
    BusyTime busy;
  };
  const HostEvents& host = view.host();
  const StringId names[] = {view.strings.find("cudaGraphLaunch"), view.strings.find("hipGraphLaunch"),
                            view.strings.find("cuGraphLaunch")};
  std::map<int32_t, Launch> launches;  // by host row
  for (size_t i = 0; i < host.size(); ++i) {
    const bool launch = std::any_of(std::begin(names), std::end(names), [&](StringId name) {
      return name.known() && host.kind[i] == HostKind::call && host.name[i] == name;
    });
    if (launch) launches.emplace(static_cast<int32_t>(i), Launch());
  }
  for (size_t row = 0; row < view.gpu().size(); ++row) {
    const auto launch = launches.find(view.detail.gpu.caller[row]);
    if (launch == launches.end()) continue;
    ++launch->second.gpu_rows;
    launch->second.sum_ns += view.gpu().duration_ns[row];
    launch->second.busy.add(view.gpu().start[row], view.gpu().duration_ns[row]);
  }
  std::map<std::pair<std::string_view, int64_t>, GraphLaunchRow> rows;
  for (const auto& [host_row, launch] : launches) {
    GraphLaunchRow& row = rows[{view.name(host_row), launch.gpu_rows}];
    row.name = std::string(view.name(host_row));
    row.gpu_rows = launch.gpu_rows;
    ++row.launches;
    row.host_ns += host.duration_ns[static_cast<size_t>(host_row)];
    row.sum_ns += launch.sum_ns;
    row.busy_ns += launch.busy.ns();
  }
  for (auto& [key, row] : rows) tables.graphs.push_back(std::move(row));
}

}  // namespace skewscope::summarize
