// Runs whose ranks are not all compared, for they share no call: what is compared of them is of their longest
// component, to which their steps and window belong.
#pragma once

#include <optional>

#include "skewscope/scale.h"

namespace skewscope::scale {

// A run as if the ranks of its longest component were its only ones; the run itself where all its ranks are compared.
class LongestComponent {
 public:
  explicit LongestComponent(const NamedReport& run);
  const NamedReport& run() const { return own_ ? *own_ : run_; }

 private:
  const NamedReport& run_;
  std::optional<NamedReport> own_;
};

// That runs are represented by a part of their ranks, and that two are by different ones.
Findings component_doubts(const NamedReport& run);
Findings component_doubts(const NamedReport& base, const NamedReport& now);

}  // namespace skewscope::scale
