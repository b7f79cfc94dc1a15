// Problem: for each name of a module, an annotation, a compiled region: the union of the GPU rows that were launched
// within any host row of that name, however deep.
//
// Idea: such host rows have a slot, their name's; a chain leads from each host row to the next one around it that has a
// slot, so that a GPU row widens its slots without a look at the rows between.
//
// Why it is right: a union of intervals that come in the order of their starts needs only its last end, and is not
// changed by an interval that comes twice. Of rows of one slot directly around each other the chain holds the
// innermost: what is within it is within the others.
//
// Cost: GPU rows times the slots around each; 8 bytes per host row.
#pragma once

#include <vector>

#include "operator_view.h"

namespace skewscope::summarize {

class SlotTimes {
 public:
  // slot: per host row; -1: none.
  SlotTimes(const CallTree& tree, std::vector<int32_t> slot, size_t slots)
      : slot_(std::move(slot)), next_(next_around(tree, [&](size_t row) { return slot_[row] >= 0; })), busy_(slots) {
    for (size_t row = 0; row < next_.size(); ++row) {  // parents first, so theirs are right
      const int32_t above = next_[row];
      if (above >= 0 && slot_[row] >= 0 && slot_[static_cast<size_t>(above)] == slot_[row]) {
        next_[row] = next_[static_cast<size_t>(above)];
      }
    }
  }

  // Widens the slots of the host row and of the rows around it; GPU rows come in the order of their starts.
  void add(int32_t host_row, LocalNs start, int64_t duration_ns) {
    for (int32_t row = host_row; row >= 0; row = next_[static_cast<size_t>(row)]) {
      const int32_t slot = slot_[static_cast<size_t>(row)];
      if (slot >= 0) busy_[static_cast<size_t>(slot)].add(start, duration_ns);
      ++steps_;
    }
  }
  int32_t slot(size_t host_row) const { return slot_[host_row]; }
  int64_t ns(size_t slot) const { return busy_[slot].ns(); }
  int64_t steps() const { return steps_; }  // rows visited

 private:
  std::vector<int32_t> slot_, next_;
  std::vector<BusyTime> busy_;
  int64_t steps_ = 0;
};

// A slot per distinct name of the rows that hold wanted(row); names in the order of their first rows.
struct NameSlots {
  std::vector<int32_t> slot;  // per host row; -1: none
  std::vector<StringId> names;
};

template <class Wanted>
NameSlots name_slots(const OperatorView& view, const Wanted& wanted) {
  NameSlots slots;
  slots.slot.assign(view.host().size(), -1);
  std::vector<int32_t> of_name(view.strings.size(), -1);
  for (size_t row = 0; row < slots.slot.size(); ++row) {
    const StringId name = view.host().name[row];
    if (!name.known() || !wanted(row)) continue;
    int32_t& slot = of_name[name.index()];
    if (slot < 0) {
      slot = static_cast<int32_t>(slots.names.size());
      slots.names.push_back(name);
    }
    slots.slot[row] = slot;
  }
  return slots;
}

}  // namespace skewscope::summarize
