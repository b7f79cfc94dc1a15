// Correlation ids by row. Tracers count them up, so that they lie within 2^31 of the first one: 4 bytes each; 8, from
// the first id on that does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace skewscope::ingest {

class CorrelationIds {
 public:
  size_t size() const { return narrow_.size() + wide_.size(); }
  int64_t operator[](size_t row) const {
    if (!wide_.empty()) return wide_[row];
    return narrow_[row] == kNone ? -1 : first_ + narrow_[row];
  }
  // -1: none.
  void push_back(int64_t id) {
    if (first_ < 0) first_ = id;
    if (wide_.empty() && fits(id)) {
      narrow_.push_back(id == -1 ? kNone : static_cast<int32_t>(id - first_));
    } else {
      widen();
      wide_.push_back(id);
    }
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
  bool fits(int64_t id) const {
    return id == -1 || (id >= 0 && id - first_ > kNone && id - first_ <= std::numeric_limits<int32_t>::max());
  }
  void widen() {
    if (!wide_.empty()) return;
    std::vector<int64_t> ids;
    ids.reserve(narrow_.capacity());
    for (size_t i = 0; i < narrow_.size(); ++i) ids.push_back((*this)[i]);
    wide_ = std::move(ids);
    narrow_ = {};
  }

  int64_t first_ = -1;           // that is known
  std::vector<int32_t> narrow_;  // id - first_
  std::vector<int64_t> wide_;    // instead, once one does not fit
};

}  // namespace skewscope::ingest
