// Numbers by row of 64 bits each, most of which lie near each other: ids that tracers count up, elements of tensors. 4
// bytes each, while they lie within 2^31 of the first one; 8, once one does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace skewscope::ingest {

class NearNumbers {
 public:
  size_t size() const { return narrow_.size() + wide_.size(); }
  int64_t operator[](size_t row) const {
    if (!wide_.empty()) return wide_[row];
    return narrow_[row] == kNone ? -1 : first_ + narrow_[row];
  }
  // -1: none.
  void push_back(int64_t number) {
    if (first_ < 0) first_ = number;
    if (wide_.empty() && fits(number)) {
      narrow_.push_back(number == -1 ? kNone : static_cast<int32_t>(number - first_));
    } else {
      widen();
      wide_.push_back(number);
    }
  }
  int64_t bytes() const {
    return static_cast<int64_t>(narrow_.size() * sizeof(int32_t) + wide_.size() * sizeof(int64_t));
  }

  // visit(std::vector of one entry per row), to make room, move and drop entries.
  template <class Visit>
  void visit_column(const Visit& visit) {
    wide_.empty() ? visit(narrow_) : visit(wide_);
  }
  template <class Visit>
  void visit_column(const Visit& visit) const {
    wide_.empty() ? visit(narrow_) : visit(wide_);
  }

 private:
  static constexpr int32_t kNone = std::numeric_limits<int32_t>::min();
  bool fits(int64_t number) const {
    return number == -1 ||
           (number >= 0 && number - first_ > kNone && number - first_ <= std::numeric_limits<int32_t>::max());
  }
  void widen() {
    if (!wide_.empty()) return;
    std::vector<int64_t> numbers;
    numbers.reserve(narrow_.capacity());
    for (size_t i = 0; i < narrow_.size(); ++i) numbers.push_back((*this)[i]);
    wide_ = std::move(numbers);
    narrow_ = {};
  }

  int64_t first_ = -1;           // that is known
  std::vector<int32_t> narrow_;  // number - first_
  std::vector<int64_t> wide_;    // instead, once one does not fit
};

}  // namespace skewscope::ingest
