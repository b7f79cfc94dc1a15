// Requests that must not be let through, and some that must.
#pragma once

#include <vector>

namespace skewscope::gather {

// "|" is a CR LF; the empty line at the end is not written. `status`: of the gate's answer.
struct Malformed {
  int status;
  const char* begin;
  const char* rest;  // what is wrong, where `begin` is right
};

extern const std::vector<Malformed> kMalformed;
// What each `begin` above becomes when nothing is wrong.
extern const std::vector<Malformed> kWellFormed;

}  // namespace skewscope::gather
