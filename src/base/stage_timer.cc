#include "skewscope/base/stage_timer.h"

namespace skewscope {

StageTimer::Scope::Scope(StageTimer& timer, std::string name)
    : timer_(timer), row_(timer.stages_.size()), begin_(std::chrono::steady_clock::now()) {
  timer.stages_.push_back({std::move(name), 0, timer.depth_++});
}

StageTimer::Scope::~Scope() {
  timer_.stages_[row_].seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  timer_.depth_--;
}

}  // namespace skewscope
