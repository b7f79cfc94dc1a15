// Data: what an expert would say of one GPU's trace. A finding is made only where its sign shows in the trace, and it
// brings its evidence and the threshold that it passed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skewscope {

struct Evidence {
  std::string what;  // a kernel, a call, an operator, a step
  int64_t count = 0;
  int64_t time_ns = 0;
};

struct Advice {
  std::string code;       // as in configs/rank_rules.json: "launch-bound"
  std::string sign;       // what the trace shows, with its numbers
  std::string threshold;  // what had to be passed: "idle_share > 0.1"
  std::string meaning, action;
  bool information = false;        // explains the trace; nothing is to be repaired
  int64_t saves_at_most_ns = -1;   // of window_ns; -1: the trace tells no bound
  int64_t window_ns = 0;           // of the GPU's rows; of the steps where the sign is about steps
  std::vector<Evidence> evidence;  // most time first
};

}  // namespace skewscope
