// The buffers through which bodies come or files go: a bounded number of large ones, used again and again. From any
// thread.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace skewscope::gather {

inline constexpr size_t kBufferBytes = 256 << 10;

class BufferPool {
 public:
  explicit BufferPool(size_t most) : most_(most) {}
  void use(size_t most) {
    const std::lock_guard lock(mutex_);
    most_ = most;
  }
  using Buffer = std::shared_ptr<char[]>;

  // Null: all are in use. Goes back by itself; the pool must live longer.
  Buffer take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      if (made_ >= most_) return nullptr;
      free_.push_back(std::make_unique<char[]>(kBufferBytes));
      ++made_;
    }
    char* bytes = free_.back().release();
    free_.pop_back();
    return {bytes, [this](char* back) {
              const std::lock_guard again(mutex_);
              free_.emplace_back(back);
              if (made_ <= most_) return;
              free_.pop_back();
              --made_;
            }};
  }

 private:
  std::mutex mutex_;
  size_t most_, made_ = 0;
  std::vector<std::unique_ptr<char[]>> free_;
};

}  // namespace skewscope::gather
