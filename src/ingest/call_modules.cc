// Problem: "all-gathers are 60 % hidden" does not say of which layer; the GPU's rows do not tell.
// Idea: what runs a part of the model leaves a range on its thread: PyTorch with stacks or modules recorded
// ("nn.Module: Linear_3"), FSDP around each unit's gathering and reducing, in the backward pass too ("FSDP::all_gather
// (layers.3)"), programs by record_function("layer 3"). A call is of the innermost such range around its launch.
// What stays unnamed: what a program launches outside of them, such as the buckets of DistributedDataParallel, which
// hold gradients of several layers, and backward passes of modules that nothing wraps.
// Cost: nothing where no range names a module; else a sort of the ranges and a look near the last one per call.
#include "call_modules.h"

#include <algorithm>
#include <numeric>

namespace skewscope::ingest {

CallModules::CallModules(const FileContent& content) : content_(content) {
  if (content.modules.empty()) return;
  std::vector<int32_t> rows(content.modules.size());
  std::iota(rows.begin(), rows.end(), 0);
  ranges_ = RangeIndex<ModuleRow>(content.modules, std::move(rows));
}

int32_t CallModules::of(int64_t thread, LocalNs launch, std::vector<std::string>& names) {
  if (content_.modules.empty()) return -1;
  const int32_t range = ranges_.innermost(thread, launch, near_, [](int32_t) { return true; });
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
