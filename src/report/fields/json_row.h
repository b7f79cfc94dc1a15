// Described rows (field.h) as JSON objects, and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "field.h"
#include "json_values.h"
#include "skewscope/model/report_values.h"

namespace skewscope::report {

template <class Value>
Json json_value(const Value& value) {
  if constexpr (requires { value.has_value(); }) {
    return value ? json_value(*value) : Json();
  } else if constexpr (std::is_same_v<Value, Rank>) {
    return rank_or_null(value);
  } else if constexpr (std::is_same_v<Value, FindingCode>) {
    return value.text();
  } else if constexpr (std::is_enum_v<Value>) {
    return to_string(value);
  } else {
    return value;
  }
}

template <class Row, auto Value, auto Known>
Json field_json(const Row& row, const Field<Value, Known>& field) {
  return field.is_known(row) ? json_value(field.of(row)) : Json();
}

template <class Row, auto Value, bool kWhole>
Json field_json(const Row& row, const StatisticsField<Value, kWhole>&) {
  const Statistics& set = row.*Value;
  if (set.count == 0) return {};
  const auto figure = [](double value) { return kWhole ? Json(std::llround(value)) : Json(value); };
  return {{"sum", figure(set.sum)}, {"mean", figure(set.mean)}, {"median", figure(set.median)},
          {"p99", figure(set.p99)}, {"min", figure(set.min)},   {"max", figure(set.max)}};
}

template <class Row, auto Value, auto Known>
Json field_json(const Row& row, const RoundedField<Value, Known>& field) {
  return field.is_known(row) ? Json(std::llround(field.of(row))) : Json();
}

template <class Fields>
Json row_json(const typename Fields::Row& row);

template <class Row, class Described>
void add_members(const Row& row, const Described& field, Json::object_t& members) {
  members.emplace_back(field.name, field_json(row, field));
}

template <class Row, auto Value, class Inner, bool kFlat>
void add_members(const Row& row, const NestedField<Value, Inner, kFlat>& field, Json::object_t& members) {
  Json inner = row_json<Inner>(row.*Value);
  if constexpr (kFlat) {
    for (auto& member : inner.get_ref<Json::object_t&>()) members.emplace_back(member.first, std::move(member.second));
  } else {
    members.emplace_back(field.name, std::move(inner));
  }
}

// The members that the document has of a row.
template <class Fields>
Json row_json(const typename Fields::Row& row) {
  Json json = Json::object();
  auto& members = json.get_ref<Json::object_t&>();
  members.reserve(std::tuple_size_v<std::remove_cvref_t<decltype(Fields::kFields)>>);
  for_each_field<Fields>([&](const auto& field) {
    if (field.in != In::tables) add_members(row, field, members);
  });
  return json;
}

template <class Fields>
Json rows_json(const std::vector<typename Fields::Row>& rows) {
  Json json = Json::array();
  for (const auto& row : rows) json.push_back(row_json<Fields>(row));
  return json;
}

template <class Value>
void read_value(const Json& json, Value& value) {
  if constexpr (requires { value.has_value(); }) {
    value = from_text<typename Value::value_type>(json.get<std::string>());
  } else if constexpr (std::is_same_v<Value, Rank>) {
    value = Rank(json.get<int32_t>());
  } else if constexpr (std::is_same_v<Value, FindingCode>) {
    value = FindingCode::from_text(json.get<std::string>()).value_or(FindingCode());
  } else if constexpr (std::is_enum_v<Value>) {
    value = from_text<Value>(json.get<std::string>()).value_or(value);
  } else {
    value = json.get<Value>();
  }
}

template <class Row, auto Value, auto Known>
void read_field(const Json& json, const Field<Value, Known>&, Row& row) {
  if constexpr (std::is_member_object_pointer_v<decltype(Value)>) read_value(json, row.*Value);
}

template <class Row, auto Value, bool kWhole>
void read_field(const Json& json, const StatisticsField<Value, kWhole>&, Row& row) {
  Statistics& set = row.*Value;
  set = {json.at("sum"), json.at("mean"), json.at("median"), json.at("p99"), json.at("min"), json.at("max"), 1};
}

// What a document of this or an earlier version says of a row; what is null or absent stays as it is, "not determined".
template <class Fields>
void read_row(const Json& json, typename Fields::Row& row) {
  for_each_field<Fields>([&](const auto& field) {
    const auto found = json.find(field.name);
    if (found != json.end() && !found->is_null()) read_field(*found, field, row);
  });
}

template <class Fields>
void read_rows(const Json& json, std::vector<typename Fields::Row>& rows) {
  for (const Json& one : json.at(Fields::kAbout.path)) read_row<Fields>(one, rows.emplace_back());
}

}  // namespace skewscope::report
