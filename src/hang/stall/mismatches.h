#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/hang/stall/group_table.h"

namespace skewscope::hang {

enum class Difference : uint8_t { operation, type, size };

// The first call of a group that its members entered in different ways.
struct Mismatch {
  int32_t group = -1;
  int64_t seq = -1;
  Difference difference = Difference::operation;
  std::vector<int32_t> odd;  // ranks that differ from most; all, where nobody is most
  int32_t like_others = 0;   // ranks that agree with most
  bool undecided = false;    // as many one way as the other
  bool left_out = false;     // what the odd ones entered is what the others entered next
  const DumpedCall *odd_call = nullptr, *other_call = nullptr;
  const FlightDump *odd_dump = nullptr, *other_dump = nullptr;
};

// At most one a group. Sizes are compared where the operation wants them equal.
std::vector<Mismatch> find_mismatches(const GroupTable& table);

}  // namespace skewscope::hang
