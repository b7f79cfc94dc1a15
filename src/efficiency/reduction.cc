// Reductions: one FLOP per element of the input; the input and the result cross memory once. The size of the result
// follows from the reduced dimensions.
#include <fmt/format.h>
#include <algorithm>

#include "models.h"
#include "scalar_type.h"

namespace skewscope::efficiency {
namespace {

enum class ResultType { as_input, summed, position, truth };  // summed: integers become int64

// The element size of the result; a result given as an argument, or an element type (`type_place`), decides.
Amount result_size(const Call& call, ResultType result, size_t type_place) {
  for (size_t at = 1; at < call.arguments.size(); ++at) {
    if (call.tensor(at) != nullptr) return element_size(call.at(at));
  }
  const Argument& given = call.at(type_place);
  if (given.type == "Scalar" && given.integer()) {
    const int64_t bytes = element_bytes(dtype_of_number(*given.integer()));
    if (bytes > 0) return bytes;
  }
  const bool integers = precision_of(call.tensor(0)->type) == Precision::integer;
  if (result == ResultType::position || (result == ResultType::summed && integers)) return element_bytes(DType::int64);
  return result == ResultType::truth ? Amount(1) : element_size(call.at(0));
}

// The elements of the result; nullopt: a dimension that the input has not.
std::optional<Amount> result_elements(const std::vector<int64_t>& dims, const std::vector<int64_t>& reduced) {
  const auto rank = static_cast<int64_t>(dims.size());
  std::vector<int64_t> kept = dims;
  for (int64_t dimension : reduced) {
    if (dimension < 0) dimension += std::max<int64_t>(rank, 1);
    if (rank == 0 && dimension == 0) continue;
    if (dimension < 0 || dimension >= rank) return std::nullopt;
    kept[static_cast<size_t>(dimension)] = 1;
  }
  if (reduced.empty()) return Amount(1);
  return elements({.dims = kept, .strides = {}, .type = DType::unknown});
}

// The dimensions at this place, one or a list; empty: all.
std::vector<int64_t> reduced_dimensions(const Argument& argument) {
  if (auto list = argument.integers()) return *list;
  const auto one = argument.integer();
  return one ? std::vector<int64_t>{*one} : std::vector<int64_t>{};
}

Work reduction(const Call& call, const std::vector<int64_t>& dimensions, ResultType result, size_t type_place,
               bool with_positions = false) {
  const Tensor* in = call.tensor(0);
  auto outputs = result_elements(in->dims, dimensions);
  if (!outputs) return unknown_work("shapes do not fit");
  if (call.arguments.size() > 1 && !call.has_values) outputs = Amount::unknown("reduced dimensions not recorded");
  const Amount size = result_size(call, result, type_place) + (with_positions ? element_bytes(DType::int64) : 0);
  return make_work(ComputeKind::vector, precision_of(in->type), elements(*in), bytes_of(call.at(0)) + *outputs * size,
                   {{"num_input_elems", fmt::format("{}", elements(*in).value().value_or(-1))},
                    {"num_output_elems", fmt::format("{}", outputs->value().value_or(-1))},
                    {"reduce_type", std::string(call.name.substr(call.name.rfind(':') + 1))}});
}

// (self, dim, keepdim, dtype), or (self, dtype) where no list is in the second place.
Work summed(const Call& call) {
  if (call.tensor(0) == nullptr) return unknown_work("an operand is no tensor");
  const bool has_dimensions = call.at(1).type == "ScalarList";
  return reduction(call, has_dimensions ? reduced_dimensions(call.at(1)) : std::vector<int64_t>{}, ResultType::summed,
                   has_dimensions ? 3 : 1);
}

// Dimensions at this place, one or a list.
template <size_t kDimensions, ResultType kResult = ResultType::as_input>
Work along(const Call& call) {
  if (call.tensor(0) == nullptr) return unknown_work("an operand is no tensor");
  return reduction(call, reduced_dimensions(call.at(kDimensions)), kResult, kNone);
}

// max(self) reduces to one value, max(self, dim) to values and where they are; max(self, other) is elementwise.
Work extreme(const Call& call) {
  if (call.tensor(0) == nullptr) return unknown_work("an operand is no tensor");
  if (call.tensor(1) != nullptr) return unknown_work("not a reduction");
  const auto dimension = call.at(1).integer();
  return reduction(call, reduced_dimensions(call.at(1)), ResultType::as_input, kNone, dimension.has_value());
}

// std(self, unbiased) has no dimensions, std(self, dim, …) a list.
Work deviation(const Call& call) {
  if (call.tensor(0) == nullptr) return unknown_work("an operand is no tensor");
  const bool has_dimensions = call.at(1).type == "ScalarList";
  return reduction(call, has_dimensions ? reduced_dimensions(call.at(1)) : std::vector<int64_t>{}, ResultType::as_input,
                   kNone);
}

// As many results as inputs.
Work cumulated(const Call& call) {
  const Tensor* in = call.tensor(0);
  if (in == nullptr) return unknown_work("an operand is no tensor");
  const Amount bytes = bytes_of(call.at(0)) + elements(*in) * result_size(call, ResultType::summed, 2);
  return make_work(ComputeKind::vector, precision_of(in->type), elements(*in), bytes,
                   {{"num_input_elems", fmt::format("{}", elements(*in).value().value_or(-1))}});
}

constexpr Model kReductionModels[] = {
    {"aten::sum", summed},
    {"aten::mean", summed},
    {"aten::prod", along<1, ResultType::summed>},
    {"aten::amax", along<1>},
    {"aten::amin", along<1>},
    {"aten::logsumexp", along<1>},
    {"aten::norm", along<2>},
    {"aten::linalg_norm", along<2>},
    {"aten::linalg_vector_norm", along<2>},
    {"aten::argmax", along<1, ResultType::position>},
    {"aten::argmin", along<1, ResultType::position>},
    {"aten::all", along<1, ResultType::truth>},
    {"aten::any", along<1, ResultType::truth>},
    {"aten::max", extreme},
    {"aten::min", extreme},
    {"aten::std", deviation},
    {"aten::var", deviation},
    {"aten::cumsum", cumulated},
    {"aten::cumprod", cumulated},
};

}  // namespace

std::span<const Model> reduction_models() { return kReductionModels; }

}  // namespace skewscope::efficiency
