// Which of n things belong together, as pairs become known (union-find; path halving, the smaller root wins, so that a
// set is named by its smallest element whatever the order of the pairs).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace skewscope {

class DisjointSets {
 public:
  explicit DisjointSets(size_t count) : parent_(count) {
    for (size_t i = 0; i < count; ++i) parent_[i] = i;
  }

  // The smallest element of the set of `i`.
  size_t root(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  // False when the two were together already.
  bool unite(size_t a, size_t b) {
    a = root(a);
    b = root(b);
    if (a == b) return false;
    if (b < a) std::swap(a, b);
    parent_[b] = a;
    return true;
  }

 private:
  std::vector<size_t> parent_;
};

}  // namespace skewscope
