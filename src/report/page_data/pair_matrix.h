// Who waited for whom, and what went from whom to whom: rank x rank, node x node, or sets of them.
#pragma once

#include <string>
#include <vector>

#include "src/report/rows/timed_instances.h"

namespace skewscope::report {

constexpr size_t kMostMatrixRows = 96;

struct PairMatrix {
  enum class Unit : uint8_t { rank, node };
  struct Cell {
    int32_t from = 0, to = 0;                  // rows: of who sent, or was late; of who received, or waited
    int64_t wait_ns = 0;                       // that `to` spent in collectives in which `from` arrived last
    int64_t bytes = 0;                         // sent
    int64_t timed_bytes = 0, transfer_ns = 0;  // of calls between two ranks: what was sent, and what that took

    friend bool operator==(const Cell&, const Cell&) = default;
  };
  Unit unit = Unit::rank;
  size_t joined = 1;               // neighbours that share a row
  std::vector<std::string> names;  // of rows
  std::vector<Cell> cells;         // by (from, to); those with anything
};

PairMatrix pair_matrix(const JobReport& report);

}  // namespace skewscope::report
