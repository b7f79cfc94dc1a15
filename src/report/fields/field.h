// A row of a document or table, described once: name, member, meaning, and which value says "not determined".
//
//   struct ClockFields {
//     using Row = JobReport::Clock;
//     static constexpr About kAbout = {"clocks", "clocks", "how each trace's clock was corrected"};
//     static constexpr auto kFields = std::make_tuple(
//         field<&Row::rank>("rank", "the trace's rank"),
//         known<&Row::proven_ns>("proven_ns", "cause and effect alone prove the clock right to this"));
//   };
//
// From this, columns.h makes the columns of tables (CSV, SQLite, spreadsheet, page), json_row.h the members of the JSON
// document and the way back, and configs/fields.md and the descriptions of configs/*.schema.json are written
// (tests/report/fields.cc). The unit is the end of the name: _ns, _bytes, _gb_per_s, _ppb, _share.
#pragma once

#include <functional>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace skewscope::report {

// What a kind of row is.
struct About {
  const char* path;     // in the document: "clocks", "what_if/operations"; "" where it is in tables alone
  const char* table;    // "" where it is in the document alone
  const char* meaning;  // of one row
};

// Where a field appears.
enum class In : uint8_t { both, document, tables };

// Value is a data member, a const member function or a function of the row. Known says whether the row has it: null in
// the document and an empty cell where not; nullptr: every row has it.
template <auto Value, auto Known = nullptr>
struct Field {
  const char* name;
  const char* meaning;
  In in;

  static constexpr bool kAlwaysKnown = std::is_same_v<decltype(Known), std::nullptr_t>;

  template <class Row>
  static bool is_known(const Row& row) {
    if constexpr (kAlwaysKnown) {
      return true;
    } else {
      return Known(row);
    }
  }
  template <class Row>
  static decltype(auto) of(const Row& row) {
    return std::invoke(Value, row);
  }
};

template <class Member>
struct MemberParts;
template <class R, class T>
struct MemberParts<T R::*> {
  using Row = R;
};
template <class R, class T>
struct MemberParts<T (R::*)() const> {
  using Row = R;
};
template <class R, class T>
struct MemberParts<T (*)(const R&)> {
  using Row = R;
};
template <auto Value>
using RowOf = typename MemberParts<std::remove_cv_t<decltype(Value)>>::Row;

template <auto Value>
bool not_negative(const RowOf<Value>& row) {
  return std::invoke(Value, row) >= 0;
}
template <auto Value>
bool positive(const RowOf<Value>& row) {
  return std::invoke(Value, row) > 0;
}
template <auto Value>
bool has_text(const RowOf<Value>& row) {
  return !std::string_view(std::invoke(Value, row)).empty();
}
template <auto Value>
bool is_given(const RowOf<Value>& row) {
  const auto& value = std::invoke(Value, row);
  if constexpr (requires { value.has_value(); }) {
    return value.has_value();
  } else {
    return !std::string_view(to_string(value)).empty();
  }
}

// Every row has it.
template <auto Value>
constexpr Field<Value> field(const char* name, const char* meaning, In in = In::both) {
  return {name, meaning, in};
}
// Below 0: not determined.
template <auto Value>
constexpr Field<Value, &not_negative<Value>> known(const char* name, const char* meaning, In in = In::both) {
  return {name, meaning, in};
}
// 0: not determined.
template <auto Value>
constexpr Field<Value, &positive<Value>> unless_zero(const char* name, const char* meaning, In in = In::both) {
  return {name, meaning, in};
}
// "": not determined.
template <auto Value>
constexpr Field<Value, &has_text<Value>> text(const char* name, const char* meaning, In in = In::both) {
  return {name, meaning, in};
}
// An optional, or an enumerator that is called "": not determined.
template <auto Value>
constexpr Field<Value, &is_given<Value>> unless_none(const char* name, const char* meaning, In in = In::both) {
  return {name, meaning, in};
}
// Determined where `Condition` holds.
template <auto Value, auto Condition>
constexpr Field<Value, Condition> where(const char* name, const char* meaning, In in = In::both) {
  return {name, meaning, in};
}

// Figures of a set (model/job_report.h: Statistics): an object in the document, a column for each figure in tables.
// kWhole: whole nanoseconds, also where a mean is not.
template <auto Value, bool kWhole>
struct StatisticsField {
  const char* name;
  const char* meaning;
  In in = In::both;
  static constexpr bool kAlwaysKnown = false;
};
template <auto Value>
constexpr StatisticsField<Value, true> times(const char* name, const char* meaning) {
  return {name, meaning};
}
template <auto Value>
constexpr StatisticsField<Value, false> rates(const char* name, const char* meaning) {
  return {name, meaning};
}

// Figures of a spread (model/operator_tables.h: TimeSpread) as columns: gpu_sum_ns, gpu_mean_ns, ...; those of a
// distribution (model/rank_tables.h): mean_ns, deviation_ns, ... with the name as their end. Empty for no value.
template <auto Value>
struct SpreadField {
  const char* name;
  const char* meaning;
  In in = In::tables;
};
template <auto Value>
constexpr SpreadField<Value> spread(const char* name, const char* meaning) {
  return {name, meaning};
}
template <auto Value>
struct DistributionField {
  const char* name;
  const char* meaning;
  In in = In::tables;
};
template <auto Value>
constexpr DistributionField<Value> distribution(const char* name, const char* meaning) {
  return {name, meaning};
}

// A time or size that is a mean: whole in the document, as computed in tables.
template <auto Value, auto Known = nullptr>
struct RoundedField : Field<Value, Known> {};
template <auto Value>
constexpr RoundedField<Value> rounded(const char* name, const char* meaning) {
  return {{name, meaning, In::both}};
}
template <auto Value>
constexpr RoundedField<Value, &not_negative<Value>> known_rounded(const char* name, const char* meaning) {
  return {{name, meaning, In::both}};
}

// The described fields of a member: columns of the row in tables; in the document an object of its own, or, kFlat,
// members of the row, too.
template <auto Value, class Inner, bool kFlat>
struct NestedField {
  const char* name;
  const char* meaning;
  In in = In::both;
};
template <auto Value, class Inner>
constexpr NestedField<Value, Inner, false> nested(const char* name, const char* meaning) {
  return {name, meaning};
}
template <auto Value, class Inner>
constexpr NestedField<Value, Inner, true> members_of() {
  return {"", ""};
}

template <class Fields, class Visit>
void for_each_field(const Visit& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, Fields::kFields);
}

}  // namespace skewscope::report
