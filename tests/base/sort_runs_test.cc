// Merging runs must give what std::stable_sort gives.
#include "skewscope/base/sort_runs.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace skewscope;

namespace {

struct Row {
  int key;
  size_t place;  // before sorting
  bool operator==(const Row& other) const { return key == other.key && place == other.place; }
};

bool by_key(const Row& a, const Row& b) { return a.key < b.key; }

std::vector<Row> rows_of(const std::vector<int>& keys) {
  std::vector<Row> rows;
  for (const int key : keys) rows.push_back({key, rows.size()});
  return rows;
}

void check_as_stable_sort(const std::vector<int>& keys) {
  std::vector<Row> merged = rows_of(keys), sorted = merged;
  sort_runs(merged, by_key);
  std::stable_sort(sorted.begin(), sorted.end(), by_key);
  CHECK(merged == sorted);
}

}  // namespace

TEST_CASE("runs of any number and length come out as from a stable sort") {
  std::mt19937 random(1);
  for (const int run_count : {0, 1, 2, 3, 7, 16, 33}) {
    for (const int length : {1, 2, 20, 300}) {
      CAPTURE(run_count, length);
      std::vector<int> keys;
      for (int run = 0; run < run_count; ++run) {
        std::vector<int> part;
        for (int i = 0; i < length; ++i) part.push_back(static_cast<int>(random() % 500));
        std::sort(part.begin(), part.end());
        keys.insert(keys.end(), part.begin(), part.end());
      }
      check_as_stable_sort(keys);
    }
  }
}

TEST_CASE("rows that are in order, reversed or all equal come out as from a stable sort") {
  std::vector<int> ascending, descending;
  for (int i = 0; i < 1000; ++i) {
    ascending.push_back(i);
    descending.push_back(1000 - i);
  }
  check_as_stable_sort(ascending);
  check_as_stable_sort(descending);
  check_as_stable_sort(std::vector<int>(1000, 7));
}
