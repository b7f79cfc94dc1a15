// Operators over lists of tensors: cat, the _foreach_ family, the fused optimisers. The profiler records the shapes of
// such a list and not the type of its tensors; the kernels name it: CatArrayBatchedCopy<OpaqueType<2u>, …> the bytes of
// an element, BinaryOpListAlphaFunctor<float, …> its type (PyTorch's Shape.cu, ForeachFunctors.cuh,
// fused_adam_impl.cu). Each list crosses memory once; arithmetic counts one FLOP per element that is written, as
// elementwise.cc does.
//
// Where types or layouts differ, PyTorch runs a plain operator per tensor instead: those below have formulas of their
// own, so that these models hold only for calls that launch kernels themselves.
#include <fmt/format.h>
#include <charconv>

#include "models.h"
#include "scalar_type.h"

namespace skewscope::efficiency {
namespace {

struct Element {
  Amount bytes = Amount::unknown("types in lists not recorded");
  DType type = DType::unknown;
};

// The text between `open` and the next comma or closing bracket: a kernel's first template argument.
std::string_view first_argument(std::string_view kernels, std::string_view open) {
  const size_t at = kernels.find(open);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = kernels.substr(at + open.size());
  return rest.substr(0, rest.find_first_of(",>"));
}

// What C++ calls an element type, in the words of a trace.
DType type_named(std::string_view text) {
  if (text == "long") return DType::int64;
  if (text == "short") return DType::int16;
  return dtype_from_name(text);
}

Element element_named(std::string_view type) {
  Element element;
  element.type = type_named(type);
  const int64_t bytes = element_bytes(element.type);
  if (bytes > 0) element.bytes = bytes;
  return element;
}

Element copied_element(std::string_view kernels) {
  const size_t cat = kernels.find("CatArrayBatchedCopy");
  if (cat == std::string_view::npos) return {};
  const std::string_view kernel = kernels.substr(cat);
  const std::string_view type = first_argument(kernel, "<");  // "float", or "at::native::(anonymous …)::OpaqueType<2u"
  const size_t opaque = type.rfind("OpaqueType<");
  if (opaque == std::string_view::npos) return element_named(type);
  const std::string_view digits = type.substr(opaque + std::string_view("OpaqueType<").size());
  int64_t bytes = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), bytes).ec != std::errc() || bytes <= 0) return {};
  return {.bytes = bytes, .type = DType::unknown};
}

Element calculated_element(std::string_view kernels) { return element_named(first_argument(kernels, "Functor<")); }

// Elements of the list at this place; nullopt: no list, or one whose shapes were not recorded.
std::optional<Amount> list_elements(const Call& call, size_t place) {
  const Argument& list = call.at(place);
  if (list.kind != ArgumentKind::tensor_list || list.tensors.empty()) return std::nullopt;
  Amount sum = 0;
  for (const Tensor& tensor : list.tensors) sum += elements(tensor);
  return sum;
}

std::vector<Parameter> parameters_of(const Call& call) {
  std::vector<Parameter> parameters{{"tensors", fmt::format("{}", call.at(0).tensors.size())}};
  if (call.at(0).tensors.size() <= 2) {
    for (const Tensor& tensor : call.at(0).tensors) parameters.push_back({"op_shape", text(tensor.dims)});
  }
  return parameters;
}

// cat(tensors, dim): what is read is written.
Work cat(const Call& call) {
  const auto n = list_elements(call, 0);
  if (!n) return unknown_work("shapes in lists not recorded");
  const Element element = copied_element(call.kernels);
  return make_work(ComputeKind::vector, precision_of(element.type), 0, 2 * *n * element.bytes, parameters_of(call));
}

// Reads `reads` leading lists and writes `writes` of their size.
Work list_work(const Call& call, size_t reads, int64_t writes) {
  const auto n = list_elements(call, 0);
  if (!n) return unknown_work("shapes in lists not recorded");
  const Element element = calculated_element(call.kernels);
  Amount read = 0;
  for (size_t at = 0; at < reads; ++at) read += list_elements(call, at).value_or(Amount(0));
  return make_work(ComputeKind::vector, precision_of(element.type), writes * *n, (read + writes * *n) * element.bytes,
                   parameters_of(call));
}

// _foreach_add_(self, others or a number, …): up to three lists in, one out.
Work foreach (const Call& call) { return list_work(call, 3, 1); }

Work foreach_zero(const Call& call) { return list_work(call, 0, 1); }

// _fused_adam_(parameters, gradients, averages, averages of squares, their maxima, steps, …): parameters and averages
// are written, the maxima too where there are any (amsgrad).
Work fused_adam(const Call& call) { return list_work(call, 5, list_elements(call, 4) ? 4 : 3); }

// _fused_sgd_(parameters, gradients, momenta, …)
Work fused_sgd(const Call& call) { return list_work(call, 3, list_elements(call, 2) ? 2 : 1); }

constexpr Model kListsModels[] = {
    {"aten::cat", cat, true},
    {"aten::_foreach_abs", foreach, true},
    {"aten::_foreach_add", foreach, true},
    {"aten::_foreach_add_", foreach, true},
    {"aten::_foreach_addcdiv", foreach, true},
    {"aten::_foreach_addcdiv_", foreach, true},
    {"aten::_foreach_addcmul", foreach, true},
    {"aten::_foreach_addcmul_", foreach, true},
    {"aten::_foreach_div", foreach, true},
    {"aten::_foreach_div_", foreach, true},
    {"aten::_foreach_lerp", foreach, true},
    {"aten::_foreach_lerp_", foreach, true},
    {"aten::_foreach_maximum_", foreach, true},
    {"aten::_foreach_minimum_", foreach, true},
    {"aten::_foreach_mul", foreach, true},
    {"aten::_foreach_mul_", foreach, true},
    {"aten::_foreach_neg", foreach, true},
    {"aten::_foreach_neg_", foreach, true},
    {"aten::_foreach_reciprocal_", foreach, true},
    {"aten::_foreach_sqrt", foreach, true},
    {"aten::_foreach_sqrt_", foreach, true},
    {"aten::_foreach_sub", foreach, true},
    {"aten::_foreach_sub_", foreach, true},
    {"aten::_foreach_zero_", foreach_zero, true},
    {"aten::_fused_adam_", fused_adam, true},
    {"aten::_fused_adamw_", fused_adam, true},
    {"aten::_fused_sgd_", fused_sgd, true},
};

}  // namespace

std::span<const Model> list_models() { return kListsModels; }

std::string_view torch_name_of_lists(std::string_view kernels) {
  Element element = copied_element(kernels);
  if (!element.bytes.value()) element = calculated_element(kernels);
  for (const std::string_view type : {"unsigned char", "c10::BFloat16", "float", "long int", "c10::complex<double>"}) {
    if (element.type == DType::unknown && element_bytes(dtype_from_name(type)) == element.bytes.value()) {
      element.type = dtype_from_name(type);
    }
  }
  return torch_name_of_dtype(element.type);
}

}  // namespace skewscope::efficiency
