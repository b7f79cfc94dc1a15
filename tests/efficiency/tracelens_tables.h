// Rows of the tables that TraceLens printed for real traces (shared/traces/expected/tracelens).
#pragma once

#include <map>
#include <string>
#include <vector>

namespace skewscope::test {

using Row = std::map<std::string, std::string>;  // column -> cell

// Rows of a CSV file; quoted cells may hold commas and doubled quotes.
std::vector<Row> read_csv(const std::string& path);

// A Python literal as TraceLens writes it, "((8, 16), ())" or "['float', None]", as the JSON of a trace.
std::string as_json(const std::string& python);

struct Table {
  std::string set, name;  // "h100_qwen", "GEMM"
  std::vector<Row> rows;
};

// Every table of these names; empty, with a visible note, where the traces are not there.
std::vector<Table> tracelens_tables(const std::vector<std::string>& names);

}  // namespace skewscope::test
