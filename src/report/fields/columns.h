// How a table is described: a column is a member of its row, or what a function makes of the row.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "skewscope/model/job_report.h"
#include "table.h"

namespace skewscope::report {

inline Cell to_cell(bool value) { return value; }
inline Cell to_cell(int32_t value) { return int64_t{value}; }
inline Cell to_cell(int64_t value) { return value; }
inline Cell to_cell(double value) { return value; }
inline Cell to_cell(std::string_view text) { return text.empty() ? Cell() : Cell(text); }
inline Cell to_cell(const char* text) { return to_cell(std::string_view(text)); }
inline Cell to_cell(const std::string& text) { return to_cell(std::string_view(text)); }
inline Cell to_cell(std::string&& text) { return text.empty() ? Cell() : Cell(std::move(text)); }
inline Cell to_cell(Rank rank) { return rank.known() ? Cell(int64_t{rank.value}) : Cell(); }
inline Cell to_cell(Severity severity) { return std::string_view(to_string(severity)); }
inline Cell to_cell(LossKind kind) { return std::string_view(to_string(kind)); }
inline Cell to_cell(GainBound bound) { return std::string_view(to_string(bound)); }
inline Cell to_cell(const std::vector<int32_t>& ranks) {
  std::string text;
  for (const int32_t rank : ranks) {
    if (!text.empty()) text += ' ';
    text += std::to_string(rank);
  }
  return text;
}

template <class Field>
constexpr ColumnType type_of() {
  if (std::is_same_v<Field, bool>) return ColumnType::boolean;
  if (std::is_same_v<Field, double>) return ColumnType::real;
  if (std::is_same_v<Field, int32_t> || std::is_same_v<Field, int64_t> || std::is_same_v<Field, Rank>) {
    return ColumnType::integer;
  }
  return ColumnType::text;
}

template <class Row>
struct ColumnOf {
  std::string name;
  ColumnType type;
  Cell (*cell)(const Row& row);
};

template <auto Member, class Row>
Cell member_cell(const Row& row) {
  return to_cell(row.*Member);
}

// As above; -1 says "not known".
template <auto Member, class Row>
Cell known_cell(const Row& row) {
  return row.*Member < 0 ? Cell() : to_cell(row.*Member);
}

template <auto Member, class Row, class Field>
ColumnOf<Row> column_of(const char* name, Field Row::*) {
  return {name, type_of<Field>(), &member_cell<Member, Row>};
}

template <auto Member, class Row, class Field>
ColumnOf<Row> known_column_of(const char* name, Field Row::*) {
  return {name, type_of<Field>(), &known_cell<Member, Row>};
}

template <auto Member>
auto column(const char* name) {
  return column_of<Member>(name, Member);
}

template <auto Member>
auto known_column(const char* name) {
  return known_column_of<Member>(name, Member);
}

// The rows must outlive the table.
template <class Row>
Table make_table(const char* name, const Row* rows, size_t count, std::vector<ColumnOf<Row>> columns) {
  Table table;
  table.name = name;
  table.rows = count;
  for (const ColumnOf<Row>& column : columns) table.columns.push_back({column.name, column.type});
  table.fill = [rows, columns = std::move(columns)](size_t row, std::vector<Cell>& cells) {
    cells.resize(columns.size());
    for (size_t c = 0; c < columns.size(); ++c) cells[c] = columns[c].cell(rows[row]);
  };
  return table;
}

template <class Row>
Table make_table(const char* name, const std::vector<Row>& rows, std::vector<ColumnOf<Row>> columns) {
  return make_table<Row>(name, rows.data(), rows.size(), std::move(columns));
}

// Rows that the table keeps itself.
template <class Row>
Table make_table(const char* name, std::vector<Row>&& rows, std::vector<ColumnOf<Row>> columns) {
  const auto kept = std::make_shared<const std::vector<Row>>(std::move(rows));
  Table table = make_table<Row>(name, *kept, std::move(columns));
  table.fill = [kept, fill = std::move(table.fill)](size_t row, std::vector<Cell>& cells) { fill(row, cells); };
  return table;
}

}  // namespace skewscope::report
