// Normalisations. With n elements and G groups of common statistics (channels of a batch norm, rows of a layer norm):
// statistics from the input 3n, scale and shift 2n, and 6 per group for reciprocal roots and running averages; with
// given statistics (inference) the 3n fall away. Backward: the two sums over each group that both parameter gradients
// and the input's need cost 4n, the input's gradient 5n more; without it normalising again 2n; given statistics 3 per
// group. RMS norm: 2n + 2 per row for the root mean square, one multiplication per element and one more by the weight.
//
// The input and the result cross memory once, the gradients likewise; parameters and statistics in their own types.
#include <fmt/format.h>
#include <array>

#include "models.h"

namespace skewscope::efficiency {
namespace {

std::vector<Parameter> parameters_of(const Tensor& input, const Amount& channels, bool bias, bool affine,
                                     bool training) {
  return {{"op_shape", text(input.dims)},
          {"stride_input", text(input.strides)},
          {"num_channels", fmt::format("{}", channels.value().value_or(-1))},
          {"has_bias", text(bias)},
          {"is_affine", text(affine)},
          {"is_training", text(training)}};
}

// Statistics are kept in float, of doubles in double.
Amount statistic_size(const Tensor& input) {
  return element_bytes(input.type == DType::float64 ? DType::float64 : DType::float32);
}

// batch_norm(input, weight, bias, running_mean, running_var, training, …); instance_norm alike, with statistics of each
// sample's channels.
Work batch_norm(const Call& call) {
  const Tensor* input = call.tensor(0);
  if (input == nullptr || input->dims.size() < 2) return unknown_work("shapes of another rank");
  const auto recorded = call.at(5).boolean();
  if (!recorded) return unknown_work("training or inference not recorded");
  const bool training = *recorded;
  const Amount n = elements(*input);
  const Amount channels = input->dims[1];
  const Amount groups = call.name == "aten::instance_norm" ? channels * input->dims[0] : channels;
  const size_t parameters[] = {1, 2};
  const size_t running[] = {3, 4};
  const Amount bytes =
      n * (2 * element_size(call.at(0))) + bytes_of(call, parameters) + (training ? 2 : 1) * bytes_of(call, running);
  return make_work(ComputeKind::vector, precision_of(input->type), (training ? 5 : 2) * n + 6 * groups, bytes,
                   parameters_of(*input, channels, call.tensor(2) != nullptr, call.tensor(1) != nullptr, training));
}

// Each group has its own statistics, which are kept for the backward.
Work group_statistics(const Call& call, const Amount& groups, const Amount& channels, size_t weight_place) {
  const Tensor& input = *call.tensor(0);
  const Amount n = elements(input);
  const size_t parameters[] = {weight_place, weight_place + 1};
  const Amount bytes =
      n * (2 * element_size(call.at(0))) + bytes_of(call, parameters) + 2 * groups * statistic_size(input);
  return make_work(ComputeKind::vector, precision_of(input.type), 5 * n + 6 * groups, bytes,
                   parameters_of(input, channels, call.tensor(weight_place + 1) != nullptr,
                                 call.tensor(weight_place) != nullptr, true));
}

struct Rows {
  int64_t rows, length;
};

// The rows that normalized_shape, which is the weight's shape, cuts the input into; nullopt: they do not fit.
std::optional<Rows> rows_of(const Call& call) {
  const Tensor* input = call.tensor(0);
  auto shape = call.at(1).integers();
  if (!shape && call.tensor(2) != nullptr) shape = call.tensor(2)->dims;
  if (input == nullptr || !shape || shape->size() > input->dims.size()) return std::nullopt;
  Amount length = 1, rows = 1;
  for (size_t at = 0; at < input->dims.size(); ++at) {
    Amount& factor = at + shape->size() < input->dims.size() ? rows : length;
    factor = factor * input->dims[at];
  }
  if (!length.value() || !rows.value()) return std::nullopt;
  return Rows{.rows = *rows.value(), .length = *length.value()};
}

// layer_norm(input, normalized_shape, weight, bias, …)
Work layer_norm(const Call& call) {
  const auto rows = rows_of(call);
  if (!rows) return unknown_work("normalized shape not recorded");
  return group_statistics(call, rows->rows, rows->length, 2);
}

// group_norm(input, groups, weight, bias, …)
Work group_norm(const Call& call) {
  const Tensor* input = call.tensor(0);
  const auto groups = call.at(1).integer();
  if (input == nullptr || input->dims.size() < 2 || !groups || *groups < 1) return unknown_work("groups not recorded");
  return group_statistics(call, Amount(input->dims[0]) * *groups, input->dims[1], 2);
}

// native_group_norm(input, weight, bias, N, C, HxW, groups, …)
Work native_group_norm(const Call& call) {
  const Tensor* input = call.tensor(0);
  const auto groups = call.at(6).integer();
  if (input == nullptr || input->dims.size() < 2 || !groups || *groups < 1) return unknown_work("groups not recorded");
  return group_statistics(call, Amount(input->dims[0]) * *groups, input->dims[1], 1);
}

// Rows of C = the last size. traffic: bytes of all that is read and written.
Work rms_norm(const Tensor& input, bool affine, const Amount& extra_flops, const Amount& traffic) {
  if (input.dims.empty()) return unknown_work("shapes of another rank");
  const Amount n = elements(input);
  Amount rows = 1;
  for (size_t at = 0; at + 1 < input.dims.size(); ++at) rows = rows * input.dims[at];
  const Amount flops = 2 * n + 2 * rows + (affine ? 2 : 1) * n + extra_flops;
  return make_work(ComputeKind::vector, precision_of(input.type), flops, traffic,
                   parameters_of(input, input.dims.back(), false, affine, true));
}

// _fused_rms_norm(input, normalized_shape, weight, eps)
Work fused_rms_norm(const Call& call) {
  const Tensor* input = call.tensor(0);
  if (input == nullptr) return unknown_work("an operand is no tensor");
  return rms_norm(*input, call.tensor(2) != nullptr, 0, 2 * bytes_of(call.at(0)) + bytes_of(call.at(2)));
}

// aiter's rms_norm(input, weight, eps)
Work plain_rms_norm(const Call& call) {
  const Tensor* input = call.tensor(0);
  if (input == nullptr) return unknown_work("an operand is no tensor");
  return rms_norm(*input, call.tensor(1) != nullptr, 0, 2 * bytes_of(call.at(0)) + bytes_of(call.at(1)));
}

// vLLM's rms_norm(result, input, weight, eps): what is written comes first.
Work rms_norm_into(const Call& call) {
  const Tensor* input = call.tensor(1);
  if (input == nullptr) return unknown_work("an operand is no tensor");
  const size_t places[] = {0, 1, 2};
  return rms_norm(*input, true, 0, bytes_of(call, places));
}

// fused_add_rms_norm(input, residual, weight, eps): both are read, and written in place.
Work add_rms_norm(const Call& call) {
  const Tensor* input = call.tensor(0);
  if (input == nullptr) return unknown_work("an operand is no tensor");
  const size_t places[] = {0, 1};
  return rms_norm(*input, true, elements(*input), 2 * bytes_of(call, places) + bytes_of(call.at(2)));
}

// rmsnorm2d_fwd_with_add_ck(out, input, residual_in, residual_out, weight, eps)
Work add_rms_norm_into(const Call& call) {
  const Tensor* input = call.tensor(1);
  if (input == nullptr) return unknown_work("an operand is no tensor");
  const size_t places[] = {0, 1, 2, 3, 4};
  return rms_norm(*input, true, elements(*input), bytes_of(call, places));
}

// rms_norm_static_fp8_quant(result, input, weight, scale, …): a product more per element.
Work scaled_rms_norm_into(const Call& call) {
  const Tensor* input = call.tensor(1);
  if (input == nullptr) return unknown_work("an operand is no tensor");
  const size_t places[] = {0, 1, 2, 3};
  return rms_norm(*input, true, elements(*input), bytes_of(call, places));
}

// rms_norm_dynamic_per_token_quant(result, input, weight, scale, eps, scale_ub, residual), aiter's rmsnorm_quant
// (out, input, scale, weight, …) alike: the largest of each row decides its scale, which is written; a residual is
// read, added to and written.
Work quantized_rms_norm_into(const Call& call) {
  const Tensor* input = call.tensor(1);
  if (input == nullptr) return unknown_work("an operand is no tensor");
  const bool adds = call.tensor(6) != nullptr;
  const size_t places[] = {0, 1, 2, 3, 5};
  return rms_norm(*input, true, (adds ? 3 : 2) * elements(*input), bytes_of(call, places) + 2 * bytes_of(call.at(6)));
}

// fused_add_rms_norm_static_fp8_quant(result, input, residual, weight, scale, …)
Work scaled_add_rms_norm_into(const Call& call) {
  const Tensor* input = call.tensor(1);
  if (input == nullptr) return unknown_work("an operand is no tensor");
  const size_t places[] = {0, 1, 2, 2, 3, 4};
  return rms_norm(*input, true, 2 * elements(*input), bytes_of(call, places));
}

struct Gradients {
  const Argument* incoming;
  const Argument* input;
  const Argument* weight;
  Amount statistics;  // bytes
  Amount groups;
  Amount channels;
  bool training = true;
  std::array<bool, 3> mask = {true, true, true};  // gradients of input, weight, bias that are calculated
};

Work gradients(const Gradients& of) {
  const Tensor& input = of.input->tensors[0];
  const Amount n = elements(input);
  Amount flops = 4 * n;
  if (!of.training) flops += 3 * of.groups;
  if (of.mask[0] && of.training) flops += 5 * n;
  if (!of.mask[0]) flops += 2 * n;
  const Amount parameters = bytes_of(*of.weight);
  Amount bytes = bytes_of(*of.incoming) + bytes_of(*of.input) + parameters + of.statistics;
  if (of.mask[0]) bytes += n * element_size(*of.input);
  if (of.mask[1]) bytes += parameters;
  if (of.mask[2]) bytes += parameters;
  return make_work(ComputeKind::vector, precision_of(input.type), flops, bytes,
                   parameters_of(input, of.channels, of.mask[2], of.weight->tensor() != nullptr, of.training));
}

std::optional<std::array<bool, 3>> mask_at(const Call& call, size_t place) {
  const auto mask = call.at(place).integers();
  if (!mask || mask->size() < 2 || mask->size() > 3) return std::nullopt;
  return std::array{(*mask)[0] != 0, (*mask)[1] != 0, mask->size() == 3 && (*mask)[2] != 0};
}

// native_batch_norm_backward(grad, input, weight, running_mean, running_var, save_mean, save_invstd, training, eps,
// mask)
Work native_batch_norm_backward(const Call& call) {
  const Tensor* input = call.tensor(1);
  const auto training = call.at(7).boolean();
  const auto mask = mask_at(call, 9);
  if (call.tensor(0) == nullptr || input == nullptr || input->dims.size() < 2)
    return unknown_work("shapes of another rank");
  if (!training || !mask) return unknown_work("training or wanted gradients not recorded");
  const size_t saved[] = {5, 6};
  const size_t running[] = {3, 4};
  return gradients({.incoming = &call.at(0),
                    .input = &call.at(1),
                    .weight = &call.at(2),
                    .statistics = *training ? bytes_of(call, saved) : bytes_of(call, running),
                    .groups = input->dims[1],
                    .channels = input->dims[1],
                    .training = *training,
                    .mask = *mask});
}

// cudnn_batch_norm_backward(input, grad, weight, running_mean, running_var, save_mean, save_var, …), miopen alike:
// training only, all gradients.
Work vendor_batch_norm_backward(const Call& call) {
  const Tensor* input = call.tensor(0);
  if (call.tensor(1) == nullptr || input == nullptr || input->dims.size() < 2)
    return unknown_work("shapes of another rank");
  const size_t saved[] = {5, 6};
  return gradients({.incoming = &call.at(1),
                    .input = &call.at(0),
                    .weight = &call.at(2),
                    .statistics = bytes_of(call, saved),
                    .groups = input->dims[1],
                    .channels = input->dims[1]});
}

// (grad, input, [normalized_shape,] statistics…, weight, …, mask)
Work saved_statistics_backward(const Call& call, std::span<const size_t> statistics, size_t weight, size_t mask_place) {
  const Tensor* input = call.tensor(1);
  const auto mask = mask_at(call, mask_place);
  if (call.tensor(0) == nullptr || input == nullptr || input->dims.empty())
    return unknown_work("shapes of another rank");
  if (!mask) return unknown_work("wanted gradients not recorded");
  const Tensor* parameters = call.tensor(weight);
  return gradients({.incoming = &call.at(0),
                    .input = &call.at(1),
                    .weight = &call.at(weight),
                    .statistics = bytes_of(call, statistics),
                    .groups = 0,
                    .channels = parameters == nullptr ? Amount(input->dims.back()) : elements(*parameters),
                    .mask = *mask});
}

constexpr size_t kLayerStatistics[] = {3, 4};
constexpr size_t kGroupStatistics[] = {2, 3};
constexpr size_t kRmsStatistics[] = {3};

constexpr Model kNormalizationModels[] = {
    {"aten::batch_norm", batch_norm},
    {"aten::native_batch_norm", batch_norm},
    {"aten::cudnn_batch_norm", batch_norm},
    {"aten::miopen_batch_norm", batch_norm},
    {"aten::instance_norm", batch_norm},
    {"aten::layer_norm", layer_norm},
    {"aten::native_layer_norm", layer_norm},
    {"aten::group_norm", group_norm},
    {"aten::native_group_norm", native_group_norm},
    {"aten::_fused_rms_norm", fused_rms_norm},
    {"aiter::rms_norm", plain_rms_norm},
    {"aiter::rmsnorm2d_fwd_ck", plain_rms_norm},
    {"_C::rms_norm", rms_norm_into},
    {"aiter::rmsnorm", rms_norm_into},
    {"_C::rms_norm_static_fp8_quant", scaled_rms_norm_into},
    {"_C::rms_norm_dynamic_per_token_quant", quantized_rms_norm_into},
    {"aiter::rmsnorm_quant", quantized_rms_norm_into},
    {"aiter::rmsnorm2d_fwd_with_dynamicquant_ck", quantized_rms_norm_into},
    {"_C::fused_add_rms_norm_static_fp8_quant", scaled_add_rms_norm_into},
    {"sgl_kernel::rmsnorm", rms_norm_into},
    {"_C::fused_add_rms_norm", add_rms_norm},
    {"sgl_kernel::fused_add_rmsnorm", add_rms_norm},
    {"aiter::add_rmsnorm", add_rms_norm_into},
    {"aiter::rmsnorm2d_fwd_with_add_ck", add_rms_norm_into},
    {"aten::native_batch_norm_backward", native_batch_norm_backward},
    {"aten::cudnn_batch_norm_backward", vendor_batch_norm_backward},
    {"aten::miopen_batch_norm_backward", vendor_batch_norm_backward},
    {"aten::native_layer_norm_backward",
     [](const Call& call) { return saved_statistics_backward(call, kLayerStatistics, 5, 7); }},
    {"aten::native_group_norm_backward",
     [](const Call& call) { return saved_statistics_backward(call, kGroupStatistics, 4, 9); }},
    {"aten::_fused_rms_norm_backward",
     [](const Call& call) { return saved_statistics_backward(call, kRmsStatistics, 4, 5); }},
};

}  // namespace

std::span<const Model> normalization_models() { return kNormalizationModels; }

}  // namespace skewscope::efficiency
