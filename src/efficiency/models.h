// The models of operators: from the arguments of one call to its work. A model is one function; each source file holds
// a family and the names of its operators, work.cc finds the model of a name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amount.h"
#include "skewscope/efficiency/work.h"

namespace skewscope::efficiency {

// The place of an argument that an operator has not: beyond any list.
constexpr size_t kNone = 99;

struct Call {
  std::string_view name;
  std::vector<Argument> arguments;
  bool has_values = false;   // values of arguments were recorded: one without is None
  std::string_view kernels;  // ArgumentTexts::kernels

  // An argument of kind none where the call has fewer.
  const Argument& at(size_t place) const;
  // The tensor there; null where there is none.
  const Tensor* tensor(size_t place) const { return at(place).tensor(); }
};

struct Model {
  std::string_view name;  // of the operator
  Work (*work)(const Call& call);
  bool own_launches = false;  // holds only for calls that launch kernels themselves; others leave it to what they call
};

std::span<const Model> gemm_models();
std::span<const Model> convolution_models();
std::span<const Model> attention_models();
std::span<const Model> elementwise_models();
std::span<const Model> reduction_models();
std::span<const Model> index_models();
std::span<const Model> pooling_models();
std::span<const Model> normalization_models();
std::span<const Model> other_models();
std::span<const Model> list_models();
// Whose names begin so: the compiler numbers what it writes.
std::span<const Model> compiled_models();
// Autograd nodes that record no shapes of their own: their models read the arguments of the forward call.
std::span<const Model> node_models();

// Number of elements, bytes of one, and bytes that the operand occupies: a dimension of stride 0 (expand()) is the same
// memory at each index and counts once.
Amount elements(const Tensor& tensor);
Amount element_size(const Argument& argument);
Amount bytes_of(const Argument& argument);
// Bytes of all tensors among these arguments; others count none.
Amount bytes_of(const Call& call, std::span<const size_t> places);

Precision precision_of(DType type);

// PyTorch's name of the element type of lists of tensors, by the kernels that ran over them; where these tell a size
// only, of a type of that size; "" where they tell nothing.
std::string_view torch_name_of_lists(std::string_view kernels);

// Work of a kind, with what is not known said.
Work make_work(ComputeKind compute, Precision precision, const Amount& flops, const Amount& bytes,
               std::vector<Parameter> parameters);
Work unknown_work(std::string why);

// Texts of parameters.
std::string text(const std::vector<int64_t>& numbers);  // "[10, 64]"
inline std::string text(bool value) { return value ? "true" : "false"; }

}  // namespace skewscope::efficiency
