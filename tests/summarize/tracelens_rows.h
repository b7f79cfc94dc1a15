// What the comparisons of single tables with TraceLens' share.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "tracelens.h"

namespace skewscope::test {

inline constexpr double kUs = 1e-3;  // of a nanosecond
inline constexpr const char* kCumulative = "Cumulative Percentage (%)";
inline constexpr const char* kBefore = "Cumulative Percentage of the row before";

inline double relative(double value) { return std::abs(value) * 1e-6; }

// Literals compare by value: "((8, 16), ())" is "[[8, 16], []]"; an empty cell is what was not recorded.
inline std::string canonical(const std::string& text) {
  if (text.empty()) return "";
  const nlohmann::json from_python = python_literal(text);
  return from_python.is_discarded() ? text : from_python.dump();
}

inline bool recompute_of(const CsvRow& row) {
  const auto cell = row.find("is_recompute");
  return cell != row.end() && cell->second == "True";
}

inline std::string or_unknown(const std::string& text) { return text.empty() ? "Unknown" : text; }

inline std::string again(bool recompute) { return recompute ? " (again)" : ""; }

// Pairs expected rows with ours by name; compare(expected, ours) for each pair.
template <class Row, class NameOf, class ExpectedName, class Compare>
void compare_rows(Comparison& comparison, const std::string& table, const std::vector<Row>& rows, const NameOf& name_of,
                  const ExpectedName& expected_name, const Compare& compare) {
  std::map<std::string, const Row*> ours;
  for (const Row& row : rows) {
    INFO(table << ": two rows of one name " << name_of(row));
    CHECK(ours.emplace(name_of(row), &row).second);
  }
  std::vector<CsvRow> expected = comparison.expected(table);
  std::string cumulative = "0";
  for (CsvRow& row : expected) {
    if (row.count(kCumulative) > 0) {
      row[kBefore] = cumulative;
      cumulative = row[kCumulative];
    }
    const std::string name = expected_name(row);
    const auto own = ours.find(name);
    if (own == ours.end()) {
      comparison.missing(table, name, true);
      continue;
    }
    comparison.row(table, row, name);
    compare(row, *own->second);
    ours.erase(own);
  }
  if (expected.empty()) return;  // not made for this trace
  for (const auto& [name, row] : ours) comparison.missing(table, name, false);
}

// The sum of a row that has this share of the whole may be off by this much.
inline void compare_share(Comparison& comparison, const CsvRow& row, double share, int64_t sum_ns, double slack_ns) {
  const double whole_ns = share > 0 ? static_cast<double>(sum_ns) / share : 1;
  const double tolerance = 100 * slack_ns / whole_ns;
  comparison.number("Percentage (%)", share * 100, tolerance);
  comparison.number(kCumulative, std::stod(row.at(kBefore)) + share * 100, tolerance + 1e-9);
}

}  // namespace skewscope::test
