// Advice that was taken already, or cannot be taken on this device, is none: what decides between a rule's actions.
#include <algorithm>
#include <array>

#include "signs.h"

namespace skewscope::advise {
namespace {

// Regions of torch.compile that launched work.
bool compiled(const View& view) {
  return std::any_of(view.operators.regions.begin(), view.operators.regions.end(),
                     [](const CompiledRegionRow& region) { return region.calls > 0; });
}

bool no_bfloat16(const View& view) { return !view.tables.bfloat16_units; }

struct Circumstance {
  std::string_view name;
  bool (*holds)(const View& view);
};
constexpr std::array kCircumstances = {Circumstance{"compiled", &compiled}, Circumstance{"no-bfloat16", &no_bfloat16}};

}  // namespace

bool is_circumstance(std::string_view name) {
  return std::any_of(kCircumstances.begin(), kCircumstances.end(),
                     [&](const Circumstance& c) { return c.name == name; });
}

const std::string& action_for(const View& view, const Rule& rule) {
  for (const Circumstance& c : kCircumstances) {
    const auto action = rule.actions.find(std::string(c.name));
    if (action != rule.actions.end() && c.holds(view)) return action->second;
  }
  return rule.action;
}

}  // namespace skewscope::advise
