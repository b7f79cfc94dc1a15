#include "skewscope/efficiency/arguments.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace skewscope::efficiency {
namespace {

using nlohmann::json;

// A list of sizes or strides; nullopt: not one of integers of int64.
std::optional<std::vector<int64_t>> integers_of(const json& list, bool negative_allowed) {
  if (!list.is_array()) return std::nullopt;
  std::vector<int64_t> numbers;
  numbers.reserve(list.size());
  for (const json& number : list) {
    if (!number.is_number_integer()) return std::nullopt;
    if (number.is_number_unsigned() && number.get<uint64_t>() > INT64_MAX) return std::nullopt;
    const auto value = number.get<int64_t>();
    if (value < 0 && !negative_allowed) return std::nullopt;
    numbers.push_back(value);
  }
  return numbers;
}

std::optional<Tensor> tensor_of(const json& dims, const json& strides, std::string_view type) {
  auto sizes = integers_of(dims, false);
  if (!sizes) return std::nullopt;
  Tensor tensor{.dims = std::move(*sizes), .strides = {}, .type = dtype_from_name(type)};
  auto steps = integers_of(strides, true);
  if (steps && steps->size() == tensor.dims.size()) tensor.strides = std::move(*steps);
  return tensor;
}

// The entry of a list of the same length as `dims`, or null where it was not recorded.
const json& entry(const json& list, size_t at) {
  static const json none;
  return list.is_array() && at < list.size() ? list[at] : none;
}

bool is_nested(const json& dims) { return !dims.empty() && dims[0].is_array(); }

// What is in place of a tensor's element type for what is no tensor.
bool names_a_tensor(std::string_view type) {
  return type != "" && type != "Scalar" && type != "ScalarList" && type != "TensorList" && type != "Device" &&
         type != "Generator" && type != "String" && type.substr(0, 11) != "GenericList";
}

std::optional<Argument> argument_of(std::string type, std::string value, const json& dims, const json& strides) {
  Argument argument{.kind = ArgumentKind::none, .type = std::move(type), .value = std::move(value), .tensors = {}};
  if (!dims.is_array()) return std::nullopt;
  if (is_nested(dims) || argument.type == "TensorList") {
    argument.kind = ArgumentKind::tensor_list;
    for (size_t at = 0; at < dims.size(); ++at) {
      auto tensor = tensor_of(dims[at], entry(strides, at), "");
      if (!tensor) return std::nullopt;
      argument.tensors.push_back(std::move(*tensor));
    }
  } else if (names_a_tensor(argument.type)) {
    argument.kind = ArgumentKind::tensor;
    auto tensor = tensor_of(dims, strides, argument.type);
    if (!tensor) return std::nullopt;
    argument.tensors.push_back(std::move(*tensor));
  } else if (!argument.type.empty() || !argument.value.empty()) {
    argument.kind = ArgumentKind::value;
  }
  return argument;
}

std::string text_of(const json& text) { return text.is_string() ? text.get<std::string>() : ""; }

json parsed(std::string_view text) { return json::parse(text.begin(), text.end(), nullptr, false); }

}  // namespace

std::optional<std::vector<Argument>> parse_arguments(const ArgumentTexts& texts) {
  const json dims = parsed(texts.dims);
  const json types = parsed(texts.types);
  const json strides = parsed(texts.strides);
  const json values = parsed(texts.values);
  if (!dims.is_array() || !types.is_array() || dims.size() != types.size()) return std::nullopt;
  std::vector<Argument> arguments;
  arguments.reserve(dims.size());
  for (size_t at = 0; at < dims.size(); ++at) {
    if (!types[at].is_string()) return std::nullopt;
    auto argument = argument_of(text_of(types[at]), text_of(entry(values, at)), dims[at], entry(strides, at));
    if (!argument) return std::nullopt;
    arguments.push_back(std::move(*argument));
  }
  return arguments;
}

std::optional<int64_t> Argument::integer() const {
  int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [stopped, error] = std::from_chars(value.data(), end, number);
  if (value.empty() || error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

std::optional<double> Argument::number() const {
  double number = 0;
  const char* end = value.data() + value.size();
  const auto [stopped, error] = std::from_chars(value.data(), end, number);
  if (value.empty() || error != std::errc() || stopped != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<bool> Argument::boolean() const {
  if (value == "True") return true;
  if (value == "False") return false;
  return std::nullopt;
}

std::optional<std::vector<int64_t>> Argument::integers() const {
  if (value.size() < 2 || value.front() != '[' || value.back() != ']') return std::nullopt;
  std::string list = value;
  for (const auto& [word, digit] : {std::pair{"True", "1"}, std::pair{"False", "0"}}) {
    for (size_t at = list.find(word); at != std::string::npos; at = list.find(word, at)) {
      list.replace(at, std::string_view(word).size(), digit);
    }
  }
  return integers_of(parsed(list), true);
}

}  // namespace skewscope::efficiency
