// Rows of a TPU, of which some are parts of one.
//
// Problem: the core's line holds an instruction that starts a transfer, one that waits for its end, and loops around
// what runs in them; a line next to it holds the transfers from start to end. As they are, a core that waits would
// compute, and what runs in a loop would count twice.
// Idea: a transfer is one row, from its start to its end: that of the other line, else what a start and its done span.
// The core's own rows of it go, as does whatever only holds other rows. Transfers that overlap lie on streams of their
// own. Why right: each nanosecond of the core is one instruction's; what is left is the instruction that does it.
// Cost: O(n log n).
#pragma once

#include <string_view>
#include <vector>

#include "xplane_rows.h"

namespace skewscope::ingest {

class TpuRows {
 public:
  void add(const DeviceRow& row, std::string_view opcode, bool asynchronous) {
    (asynchronous ? transfers_ : core_).push_back({row, opcode});
  }
  size_t size() const { return core_.size() + transfers_.size(); }
  // Forgets all rows but one.
  void keep_one() {
    if (!core_.empty()) transfers_.clear();
    if (core_.size() > 1) core_.resize(1);
    if (transfers_.size() > 1) transfers_.resize(1);
  }
  // Sorted by start; DeviceRow::correlation is the row in `runs`, which are sorted, too.
  std::vector<DeviceRow> take(const std::vector<DeviceOp>& ops, std::vector<ProgramRun>& runs);

 private:
  struct Row {
    DeviceRow row;
    std::string_view opcode;
  };

  void pair_up(const std::vector<DeviceOp>& ops);
  void drop_holders();
  void lay_side_by_side();

  std::vector<Row> core_, transfers_;
};

}  // namespace skewscope::ingest
