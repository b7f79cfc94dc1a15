#include "thread_limit.h"

#include <tbb/global_control.h>

#include <cstddef>

namespace skewscope::cli {

void limit_threads(int count) {
  using tbb::global_control;
  [[maybe_unused]] static const global_control& limit =
      *new global_control(global_control::max_allowed_parallelism, static_cast<size_t>(count));
}

}  // namespace skewscope::cli
