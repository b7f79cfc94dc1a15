// Equal rows once, numbered in order of first use.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "skewscope/base/ids.h"

namespace skewscope::ingest {

class RowMixer {
 public:
  RowMixer& add(uint64_t word) {
    hash_ = (hash_ ^ word) * 0x9e3779b97f4a7c15ULL;
    hash_ ^= hash_ >> 32;
    return *this;
  }
  RowMixer& add(int64_t number) { return add(static_cast<uint64_t>(number)); }
  RowMixer& add(StringId id) { return add(int64_t{id.value}); }
  RowMixer& add(double number) { return add(std::bit_cast<uint64_t>(number)); }
  size_t hash() const { return static_cast<size_t>(hash_); }

 private:
  uint64_t hash_ = 0;
};

template <class Row, class Hash>
class DistinctRows {
 public:
  int32_t number_of(const Row& row) {
    if (last_ < rows_.size() && rows_[last_] == row) return static_cast<int32_t>(last_);  // neighbours are often equal
    const auto [entry, added] = numbers_.try_emplace(row, static_cast<int32_t>(rows_.size()));
    if (added) rows_.push_back(row);
    last_ = static_cast<size_t>(entry->second);
    return entry->second;
  }
  const std::vector<Row>& rows() const { return rows_; }
  // Each row is held twice: in order, and as the key it is found by.
  int64_t bytes() const { return static_cast<int64_t>(rows_.size() * (2 * sizeof(Row) + 4 * sizeof(void*))); }
  std::vector<Row> take() { return std::move(rows_); }
  void clear() {
    rows_.clear();
    numbers_.clear();
    last_ = 0;
  }

 private:
  std::vector<Row> rows_;
  std::unordered_map<Row, int32_t, Hash> numbers_;
  size_t last_ = 0;
};

}  // namespace skewscope::ingest
