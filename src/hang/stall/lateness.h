#pragma once

#include <cstdint>
#include <vector>

#include "src/hang/stall/group_table.h"

namespace skewscope::hang {

struct Lateness {
  int64_t calls = 0;       // timed, that another member entered, too
  int64_t late_ns = -1;    // median of: launched so much after the middle of the members; -1: not determined
  double last_share = -1;  // of those calls, it was the last in
  bool always = false;     // nearly always last, and by much
};

// By rank. Hosts' clocks are taken as they are: a lateness below their error means nothing.
std::vector<Lateness> lateness_of(const GroupTable& table);

}  // namespace skewscope::hang
