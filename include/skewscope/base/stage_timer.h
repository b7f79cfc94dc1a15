// Wall time per stage for `--timings`. Not for hot loops.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace skewscope {

class StageTimer {
 public:
  struct Stage {
    std::string name;
    double seconds = 0;
    int depth = 0;  // nesting: 0 is a stage of the story, 1 a part of it
  };

  // Measures from its making to its end of life.
  class Scope {
   public:
    Scope(StageTimer& timer, std::string name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    StageTimer& timer_;
    size_t row_;
    std::chrono::steady_clock::time_point begin_;
  };

  // In order of start, one row per Scope.
  const std::vector<Stage>& stages() const { return stages_; }

 private:
  std::vector<Stage> stages_;
  int depth_ = 0;
};

}  // namespace skewscope
