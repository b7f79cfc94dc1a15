// Union of the GPU rows that were launched within any host row of a name (slot_times.cc).
#pragma once

#include <vector>

#include "operator_view.h"

namespace skewscope::summarize {

class SlotTimes {
 public:
  // slot: per host row, below `slots`; -1: none. Both outlive this.
  SlotTimes(const CallTree& tree, const std::vector<int32_t>& slot, size_t slots)
      : tree_(tree), slot_(slot), ns_(slots, 0) {}
  SlotTimes(const CallTree&&, const std::vector<int32_t>&, size_t) = delete;
  SlotTimes(const CallTree&, const std::vector<int32_t>&&, size_t) = delete;

  // A GPU row launched in this host row; they come in the order of their starts. -1: an orphan, which is in no slot.
  void add(int32_t host_row, LocalNs start, int64_t duration_ns);
  // After the last one; then ns() tells.
  void finish();
  int64_t ns(size_t slot) const { return ns_[slot]; }
  int64_t steps() const { return steps_; }  // rows visited in addition to those that hold the launches

 private:
  struct Launch {
    int32_t node;  // the host row, until finish() knows its node
    LocalNs start;
    int64_t duration_ns;
  };
  // A host row with a slot that anything was launched in. A parent comes before its children.
  struct Node {
    int32_t slot;          // -1: a row of this slot is around it
    int32_t parent = -1;   // the next one around it
    int32_t position = 0;  // in depth-first order
    int32_t size = 1;      // of its subtree
    int32_t path = -1;     // uppermost node of its heavy path
  };
  class Sweep;

  void make_nodes();
  void order_nodes();
  void leave_outermost();
  void find_paths();
  int32_t meeting(int32_t a, int32_t b);
  std::vector<int64_t> busy_of_nodes();
  void add_up();
  void add_overlapping(const std::vector<uint8_t>& walked);

  const CallTree& tree_;
  const std::vector<int32_t>& slot_;
  std::vector<Node> nodes_;
  std::vector<Launch> launches_;
  std::vector<int64_t> ns_;
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
