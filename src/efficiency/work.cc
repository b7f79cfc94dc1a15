#include "skewscope/efficiency/work.h"

#include <fmt/format.h>
#include <algorithm>
#include <unordered_map>

#include "models.h"

namespace skewscope::efficiency {
namespace {

using ModelTable = std::unordered_map<std::string_view, const Model*>;

ModelTable table_of(std::initializer_list<std::span<const Model>> families) {
  ModelTable table;
  for (const std::span<const Model>& family : families) {
    for (const Model& model : family) table.emplace(model.name, &model);
  }
  return table;
}

const Model* find(const ModelTable& table, std::string_view name) {
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

const Model* model_of(std::string_view name) {
  static const ModelTable table =
      table_of({gemm_models(), convolution_models(), attention_models(), elementwise_models(), reduction_models(),
                normalization_models(), index_models(), pooling_models(), other_models(), list_models()});
  if (const Model* model = find(table, name)) return model;
  for (const Model& model : compiled_models()) {
    if (name.starts_with(model.name)) return &model;
  }
  return nullptr;
}

const Model* node_model_of(std::string_view name) {
  static const ModelTable table = table_of({node_models()});
  return find(table, name);
}

Work modelled(const Model& model, std::string_view name, const ArgumentTexts& texts) {
  if (texts.dims.empty() || texts.types.empty()) return unknown_work("shapes not recorded");
  auto arguments = parse_arguments(texts);
  if (!arguments) return unknown_work("recorded shapes cannot be read");
  return model.work(Call{
      .name = name, .arguments = std::move(*arguments), .has_values = !texts.values.empty(), .kernels = texts.kernels});
}

}  // namespace

Work work_of(std::string_view operator_name, const ArgumentTexts& texts, const ArgumentTexts* forward) {
  if (const Model* model = model_of(operator_name)) return modelled(*model, operator_name, texts);
  if (const Model* model = node_model_of(operator_name)) {
    if (forward == nullptr) return unknown_work("shapes of the forward call not known");
    return modelled(*model, operator_name, *forward);
  }
  return unknown_work("no formula for this operator");
}

bool has_work_model(std::string_view operator_name) {
  return model_of(operator_name) != nullptr || node_model_of(operator_name) != nullptr;
}

bool prices_own_launches_only(std::string_view operator_name) {
  const Model* model = model_of(operator_name);
  return model != nullptr && model->own_launches;
}

const Argument& Call::at(size_t place) const {
  static const Argument none;
  return place < arguments.size() ? arguments[place] : none;
}

Amount elements(const Tensor& tensor) {
  Amount product = 1;
  for (const int64_t size : tensor.dims) product = product * size;
  return product;
}

Amount element_size(const Argument& argument) {
  const Tensor* tensor = argument.tensor();
  const int64_t bytes = tensor == nullptr ? 0 : element_bytes(tensor->type);
  return bytes == 0 ? Amount::unknown(fmt::format("unknown type {}", argument.type)) : bytes;
}

Amount bytes_of(const Argument& argument) {
  const Tensor* tensor = argument.tensor();
  if (tensor == nullptr) return 0;
  Amount distinct = element_size(argument);
  for (size_t at = 0; at < tensor->dims.size(); ++at) {
    const bool expanded = !tensor->strides.empty() && tensor->strides[at] == 0;
    distinct = distinct * (expanded ? std::min<int64_t>(tensor->dims[at], 1) : tensor->dims[at]);
  }
  return distinct;
}

Amount bytes_of(const Call& call, std::span<const size_t> places) {
  Amount sum = 0;
  for (const size_t place : places) sum += bytes_of(call.at(place));
  return sum;
}

Precision precision_of(DType type) {
  switch (type) {
    case DType::float64:
    case DType::complex128:
      return Precision::fp64;
    case DType::float32:
    case DType::complex64:
      return Precision::fp32;
    case DType::float16:
      return Precision::fp16;
    case DType::bfloat16:
      return Precision::bf16;
    case DType::float8:
      return Precision::fp8;
    case DType::unknown:
      return Precision::unknown;
    default:
      return Precision::integer;
  }
}

Work make_work(ComputeKind compute, Precision precision, const Amount& flops, const Amount& bytes,
               std::vector<Parameter> parameters) {
  return {.flops = flops.value(),
          .bytes = bytes.value(),
          .compute = compute,
          .precision = precision,
          .parameters = std::move(parameters),
          .unknown = flops.why().empty() ? bytes.why() : flops.why()};
}

Work unknown_work(std::string why) {
  Work work;
  work.unknown = std::move(why);
  return work;
}

std::string text(const std::vector<int64_t>& numbers) { return fmt::format("[{}]", fmt::join(numbers, ", ")); }

const char* to_string(ComputeKind kind) { return kind == ComputeKind::matrix ? "matrix" : "vector"; }

const char* to_string(Precision precision) {
  switch (precision) {
    case Precision::unknown:
      return "unknown";
    case Precision::fp64:
      return "fp64";
    case Precision::fp32:
      return "fp32";
    case Precision::tf32:
      return "tf32";
    case Precision::fp16:
      return "fp16";
    case Precision::bf16:
      return "bf16";
    case Precision::fp8:
      return "fp8";
    case Precision::fp4:
      return "fp4";
    case Precision::int8:
      return "int8";
    case Precision::integer:
      return "integer";
  }
  return "unknown";
}

}  // namespace skewscope::efficiency
