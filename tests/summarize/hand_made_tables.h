// The tables of operators of a hand-made trace.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "detail_builder.h"
#include "skewscope/summarize.h"

namespace skewscope::test {

inline OperatorTables tables_of(DetailBuilder& b, const OperatorOptions& options = {}) {
  b.finish();
  REQUIRE(check_invariants(b.detail, b.trace).empty());
  OperatorTables tables = tabulate_operators(b.trace, b.detail, b.strings, options);
  CHECK(check_invariants(tables) == "");
  return tables;
}

template <class Row>
const Row& row_of(const std::vector<Row>& rows, const std::string& name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  INFO(name);
  REQUIRE(found != rows.end());
  return *found;
}

}  // namespace skewscope::test
