// What the kernels of a file do: asked of the kernel table once per distinct name, not once per kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/kernel_table.h"
#include "skewscope/base/string_table.h"

namespace skewscope::ingest {

class KernelWorks {
 public:
  explicit KernelWorks(const KernelTable& kernels) : kernels_(kernels) {}

  GpuWork of(StringId name, const StringTable& strings) {
    if (name.index() >= works_.size()) works_.resize(strings.size(), -1);
    int8_t& work = works_[name.index()];
    if (work < 0) work = static_cast<int8_t>(kernels_.work_of(strings.view(name)));
    return static_cast<GpuWork>(work);
  }

 private:
  const KernelTable& kernels_;
  std::vector<int8_t> works_;  // GpuWork by StringId; -1: not asked yet
};

}  // namespace skewscope::ingest
