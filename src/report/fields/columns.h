// How a table is described: a column is a member of its row, or what a function makes of the row.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "field.h"
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
inline Cell to_cell(FindingCode code) { return code.text(); }
template <class Enum>
requires std::is_enum_v<Enum> Cell to_cell(Enum value) { return to_cell(std::string_view(to_string(value))); }
template <class Value>
Cell to_cell(const std::optional<Value>& value) {
  return value ? to_cell(*value) : Cell();
}
inline Cell to_cell(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return to_cell(std::move(text));
}
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
  if constexpr (requires(Field value) { value.has_value(); }) {
    return type_of<typename Field::value_type>();
  } else {
    if (std::is_same_v<Field, bool>) return ColumnType::boolean;
    if (std::is_same_v<Field, double>) return ColumnType::real;
    if (std::is_same_v<Field, int32_t> || std::is_same_v<Field, int64_t> || std::is_same_v<Field, Rank>) {
      return ColumnType::integer;
    }
    return ColumnType::text;
  }
}

template <class Row>
struct ColumnOf {
  std::string name;
  ColumnType type;
  Cell (*cell)(const Row& row);
};

// A described field (field.h) of the row, or of what its member `Inner` is or points to.
template <class Described, auto Inner, class Row>
Cell field_cell(const Row& row) {
  if constexpr (std::is_same_v<decltype(Inner), std::nullptr_t>) {
    return Described::is_known(row) ? to_cell(Described::of(row)) : Cell();
  } else if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(row.*Inner)>>) {
    return field_cell<Described, nullptr>(*(row.*Inner));
  } else {
    return field_cell<Described, nullptr>(row.*Inner);
  }
}

template <auto Set, bool kWhole, auto Figure, class Row>
Cell figure_cell(const Row& row) {
  const Statistics& set = row.*Set;
  if (set.count == 0) return {};
  if constexpr (kWhole) return int64_t{std::llround(set.*Figure)};
  return set.*Figure;
}

template <auto Inner, class Row, auto Value, auto Known>
void add_column(const Field<Value, Known>& field, std::vector<ColumnOf<Row>>& columns) {
  using Described = Field<Value, Known>;
  using Type = std::remove_cvref_t<decltype(std::invoke(Value, std::declval<const RowOf<Value>&>()))>;
  columns.push_back({field.name, type_of<Type>(), &field_cell<Described, Inner, Row>});
}

// wait_sum_ns, wait_mean_ns, ... of a member wait_ns.
template <auto Inner, class Row, auto Set, bool kWhole>
void add_column(const StatisticsField<Set, kWhole>& field, std::vector<ColumnOf<Row>>& columns) {
  const std::string name = field.name, unit = kWhole ? "_ns" : "_gb_per_s",
                    stem = name.substr(0, name.size() - unit.size());
  const ColumnType type = kWhole ? ColumnType::integer : ColumnType::real;
  columns.push_back({stem + "_sum" + unit, type, &figure_cell<Set, kWhole, &Statistics::sum, Row>});
  columns.push_back({stem + "_mean" + unit, type, &figure_cell<Set, kWhole, &Statistics::mean, Row>});
  columns.push_back({stem + "_median" + unit, type, &figure_cell<Set, kWhole, &Statistics::median, Row>});
  columns.push_back({stem + "_p99" + unit, type, &figure_cell<Set, kWhole, &Statistics::p99, Row>});
  columns.push_back({stem + "_min" + unit, type, &figure_cell<Set, kWhole, &Statistics::min, Row>});
  columns.push_back({stem + "_max" + unit, type, &figure_cell<Set, kWhole, &Statistics::max, Row>});
}

template <auto Set, auto Figure, class Row>
Cell set_cell(const Row& row) {
  const auto& set = std::invoke(Set, row);
  return set.count == 0 ? Cell() : to_cell(std::invoke(Figure, set));
}

template <auto Inner, class Row, auto Set>
void add_column(const SpreadField<Set>& field, std::vector<ColumnOf<Row>>& columns) {
  const std::string name = field.name;
  columns.push_back({name + "_sum_ns", ColumnType::integer, &set_cell<Set, &TimeSpread::sum_ns, Row>});
  columns.push_back({name + "_mean_ns", ColumnType::real, &set_cell<Set, &TimeSpread::mean_ns, Row>});
  columns.push_back({name + "_median_ns", ColumnType::real, &set_cell<Set, &TimeSpread::median_ns, Row>});
  columns.push_back({name + "_deviation_ns", ColumnType::real, &set_cell<Set, &TimeSpread::deviation_ns, Row>});
  columns.push_back({name + "_min_ns", ColumnType::integer, &set_cell<Set, &TimeSpread::min_ns, Row>});
  columns.push_back({name + "_max_ns", ColumnType::integer, &set_cell<Set, &TimeSpread::max_ns, Row>});
}

template <auto Inner, class Row, auto Set>
void add_column(const DistributionField<Set>& field, std::vector<ColumnOf<Row>>& columns) {
  const auto add = [&](const char* figure, Cell (*cell)(const Row&)) {
    columns.push_back({std::string(figure) + field.name, ColumnType::real, cell});
  };
  add("mean", &set_cell<Set, &Distribution::mean, Row>);
  add("deviation", &set_cell<Set, &Distribution::deviation, Row>);
  add("least", &set_cell<Set, &Distribution::least, Row>);
  add("quartile_1", &set_cell<Set, &Distribution::quartile_1, Row>);
  add("median", &set_cell<Set, &Distribution::median, Row>);
  add("quartile_3", &set_cell<Set, &Distribution::quartile_3, Row>);
  add("most", &set_cell<Set, &Distribution::most, Row>);
}

template <class Fields, class Row = typename Fields::Row, auto Inner = nullptr>
std::vector<ColumnOf<Row>> columns_of(std::initializer_list<std::string_view> only = {});

template <auto Inner, class Row, auto Value, class InnerFields, bool kFlat>
void add_column(const NestedField<Value, InnerFields, kFlat>&, std::vector<ColumnOf<Row>>& columns) {
  static_assert(std::is_same_v<decltype(Inner), std::nullptr_t>, "described one level deep");
  for (auto& column : columns_of<InnerFields, Row, Value>()) columns.push_back(std::move(column));
}

// Columns of the described fields that tables have; `only`: of those alone that are named.
template <class Fields, class Row, auto Inner>
std::vector<ColumnOf<Row>> columns_of(std::initializer_list<std::string_view> only) {
  std::vector<ColumnOf<Row>> columns;
  for_each_field<Fields>([&](const auto& field) {
    const bool wanted = only.size() == 0 || std::find(only.begin(), only.end(), field.name) != only.end();
    if (wanted && field.in != In::document) add_column<Inner, Row>(field, columns);
  });
  return columns;
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

// The table of described rows; they must outlive it, unless they are given away.
template <class Fields>
Table table_of(const typename Fields::Row* rows, size_t count) {
  return make_table<typename Fields::Row>(Fields::kAbout.table, rows, count, columns_of<Fields>());
}
template <class Fields>
Table table_of(const std::vector<typename Fields::Row>& rows) {
  return make_table<typename Fields::Row>(Fields::kAbout.table, rows, columns_of<Fields>());
}
template <class Fields>
Table table_of(std::vector<typename Fields::Row>&& rows) {
  return make_table<typename Fields::Row>(Fields::kAbout.table, std::move(rows), columns_of<Fields>());
}

}  // namespace skewscope::report
