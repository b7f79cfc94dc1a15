// What scans leave out, and what is said of it: once, not at each scan.
#pragma once

#include <string>
#include <vector>

#include "scan.h"
#include "skewscope/ship.h"

namespace skewscope::ship {

class LeftOut {
 public:
  // Takes the place of the last scan; what of it is new, a line each.
  std::vector<std::string> take(const Scan& found);
  // The files of which nothing is kept here.
  const Scan& last() const { return last_; }
  // In a folder that could not be listed.
  bool may_hide(const Candidate& file) const;
  // `nothing`: no file was found that could be sent.
  void add_to(Shipped& shipped, bool nothing) const;

 private:
  Scan last_;
};

}  // namespace skewscope::ship
