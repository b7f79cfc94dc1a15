// A value that nobody reaches without its lock: lock() gives access to it for as long as what it returns lives.
#pragma once

#include <mutex>
#include <utility>

namespace skewscope::gather {

template <class Value>
class Guarded {
 public:
  template <class Seen>
  class Access {
   public:
    Access(std::mutex& mutex, Seen& value) : lock_(mutex), value_(value) {}
    Seen* operator->() const { return &value_; }
    Seen& operator*() const { return value_; }

   private:
    const std::lock_guard<std::mutex> lock_;
    Seen& value_;
  };

  Guarded() = default;
  explicit Guarded(Value value) : value_(std::move(value)) {}
  Access<Value> lock() { return {mutex_, value_}; }
  Access<const Value> lock() const { return {mutex_, value_}; }

 private:
  mutable std::mutex mutex_;
  Value value_{};
};

}  // namespace skewscope::gather
