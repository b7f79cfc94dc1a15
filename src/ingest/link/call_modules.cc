// Problem: "all-gathers are 60 % hidden" does not say of which layer; the GPU's rows do not tell.
// Idea: what runs a part of the model leaves a range on its thread: PyTorch with stacks or modules recorded
// ("nn.Module: Linear_3"), FSDP around each unit's gathering and reducing, in the backward pass too ("FSDP::all_gather
// (layers.3)"), programs by record_function("layer 3"). A call is of the innermost such range around its launch.
// Operators of the backward pass have no such range around them: what they launch is of the module of the forward
// operator from which an arrow leads to them (flows "fwdbwd").
// What stays unnamed: what a program launches outside of all these, such as the buckets of DistributedDataParallel,
// which hold gradients of several layers: they leave as a gradient is accumulated, and no forward operator did that.
// Cost: nothing where no range names a module; else a sort of the ranges and a look near the last one per call.
#include "call_modules.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "skewscope/base/sort_runs.h"

namespace skewscope::ingest {

CallModules::CallModules(const FileContent& content) : content_(content) {
  if (content.modules.empty()) return;
  std::vector<int32_t> rows(content.modules.size());
  std::iota(rows.begin(), rows.end(), 0);
  ranges_ = RangeIndex<ModuleRow>(content.modules, std::move(rows));
  std::vector<int32_t> backward(content.backward_ops.size());
  std::iota(backward.begin(), backward.end(), 0);
  backward_ = RangeIndex<BackwardRow>(content.backward_ops, std::move(backward));
  for (const PassFlowRow& end : content.pass_flows) (end.backward ? backward_ends_ : forward_ends_).push_back(end);
  sort_runs(forward_ends_, [](const PassFlowRow& a, const PassFlowRow& b) { return a.id < b.id; });
  sort_runs(backward_ends_, [](const PassFlowRow& a, const PassFlowRow& b) {
    return std::tie(a.thread, a.start) < std::tie(b.thread, b.start);
  });
}

// An arrow that ends in another operator within the one around the launch is not its own.
const PassFlowRow* CallModules::forward_of(int64_t thread, LocalNs launch) {
  const auto any = [](int32_t) { return true; };
  const int32_t around = backward_.innermost(thread, launch, near_backward_, any);
  if (around < 0) return nullptr;
  const BackwardRow& op = content_.backward_ops[static_cast<size_t>(around)];
  const auto end = std::lower_bound(
      backward_ends_.begin(), backward_ends_.end(), std::tie(thread, op.start),
      [](const PassFlowRow& one, const auto& wanted) { return std::tie(one.thread, one.start) < wanted; });
  if (end == backward_ends_.end() || end->thread != thread || end->start > op.start + op.duration_ns) return nullptr;
  if (backward_.innermost(thread, end->start, near_backward_, any) != around) return nullptr;
  const auto from = std::lower_bound(forward_ends_.begin(), forward_ends_.end(), end->id,
                                     [](const PassFlowRow& one, int64_t id) { return one.id < id; });
  return from == forward_ends_.end() || from->id != end->id ? nullptr : &*from;
}

int32_t CallModules::of(int64_t thread, LocalNs launch, std::vector<std::string>& names) {
  if (content_.modules.empty()) return -1;
  const auto any = [](int32_t) { return true; };
  int32_t range = ranges_.innermost(thread, launch, near_, any);
  if (range < 0) {
    const PassFlowRow* forward = forward_of(thread, launch);
    if (forward != nullptr) range = ranges_.innermost(forward->thread, forward->start, near_forward_, any);
  }
  if (range < 0) return -1;
  const StringId name = content_.modules[static_cast<size_t>(range)].name;
  const auto [known, fresh] = row_of_name_.try_emplace(name.value, -1);
  if (fresh) known->second = module_row(std::string(content_.strings.view(name)), names);
  return known->second;
}

int32_t module_row(const std::string& name, std::vector<std::string>& names) {
  const auto known = std::find(names.begin(), names.end(), name);
  if (known != names.end()) return static_cast<int32_t>(known - names.begin());
  const bool room = names.size() + 1 < kMostModules || name == kOtherModules;
  if (!room) return module_row(kOtherModules, names);
  names.push_back(name);
  return static_cast<int32_t>(names.size()) - 1;
}

}  // namespace skewscope::ingest
