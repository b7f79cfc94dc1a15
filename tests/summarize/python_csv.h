// Tables that a Python program wrote: CSV with quoted fields, whose cells are numbers, texts, or literals such as
// "((8, 16), ())" and "[{'name': 'gemm', 'count': np.float64(3.0)}]".
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace skewscope::test {

using CsvRow = std::map<std::string, std::string>;  // by column name

std::vector<CsvRow> read_csv(const std::string& path);

// Tuples and lists become arrays, dicts objects, None null, nan null; np.float64(x) and np.int64(x) become x. Text that
// is no literal becomes a discarded value.
nlohmann::json python_literal(const std::string& text);

}  // namespace skewscope::test
