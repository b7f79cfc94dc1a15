// What ingest may keep in memory, over all files: bytes are taken as columns grow; when the limit is passed, reading
// stops.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "skewscope/base/human_units.h"
#include "skewscope/base/result.h"
#include "skewscope/base/string_table.h"

namespace skewscope::ingest {

// What an entry of a StringTable takes, with what finds it.
inline int64_t bytes_of_string(std::string_view text) { return static_cast<int64_t>(text.size() + 96); }

inline int64_t bytes_of(const StringTable& strings) {
  int64_t bytes = 0;
  for (size_t i = 0; i < strings.size(); ++i) bytes += bytes_of_string(strings.view(StringId(static_cast<int64_t>(i))));
  return bytes;
}

class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t limit_bytes) : limit_(limit_bytes) {}  // 0: no limit
  // Adds to what is held (or, below 0, gives back); false when the limit is passed.
  bool take(int64_t bytes) { return held_.fetch_add(bytes) + bytes <= limit_ || limit_ == 0; }
  void give_back(int64_t bytes) { held_.fetch_sub(bytes); }
  Error exceeded_by(const std::string& file) const {
    return {ErrorKind::resource_limit, file + ": more than the memory limit of " + size_text(limit_) +
                                           " would be held; raise --memory-limit, or read fewer --ranks or --steps"};
  }
  bool exceeded() const { return limit_ != 0 && held_.load() > limit_; }
  int64_t limit_bytes() const { return limit_; }

 private:
  std::atomic<int64_t> held_{0};
  int64_t limit_;
};

}  // namespace skewscope::ingest
