// The share of each row of a table in the sum of all.
#pragma once

#include <cstdint>
#include <vector>

namespace skewscope::summarize {

// ns_of(row): what the row has of the whole. Fills row.share; 0 where the whole is 0.
template <class Row, class Ns>
void fill_shares(std::vector<Row>& rows, const Ns& ns_of) {
  int64_t whole_ns = 0;
  for (const Row& row : rows) whole_ns += ns_of(row);
  for (Row& row : rows) row.share = whole_ns > 0 ? static_cast<double>(ns_of(row)) / static_cast<double>(whole_ns) : 0;
}

// Of rows in their final order: row.cumulative_share, which is the share of the row and of those before it.
template <class Row>
void add_up_shares(std::vector<Row>& rows) {
  double sum = 0;
  for (Row& row : rows) row.cumulative_share = sum += row.share;
}

}  // namespace skewscope::summarize
