// Operators that treat each element on its own: one FLOP per element of the result, whatever the function (the
// convention of the peers: exp counts as much as add), each operand and the result cross memory once. Operands are
// broadcast against each other. Copies count alike, as TraceLens counts them.
#include <algorithm>

#include "models.h"

namespace skewscope::efficiency {
namespace {

using Sizes = std::vector<int64_t>;

// Sizes aligned at the last one; a size of 1 stretches. nullopt: they do not fit.
std::optional<Sizes> broadcast(const Sizes& a, const Sizes& b) {
  const Sizes& longer = a.size() < b.size() ? b : a;
  const Sizes& shorter = a.size() < b.size() ? a : b;
  Sizes out = longer;
  for (size_t back = 1; back <= shorter.size(); ++back) {
    int64_t& size = out[out.size() - back];
    const int64_t other = shorter[shorter.size() - back];
    if (size != other && size != 1 && other != 1) return std::nullopt;
    if (size == 1) size = other;
  }
  return out;
}

// boolean < integer < floating < complex.
int rank_of(DType type) {
  switch (precision_of(type)) {
    case Precision::integer:
      return type == DType::boolean ? 0 : 1;
    default:
      return type == DType::complex64 || type == DType::complex128 ? 3 : 2;
  }
}

// PyTorch's type promotion: a tensor without dimensions counts only where its kind is the higher one; float16 with
// bfloat16 is float32. Source: "Type Promotion" of the torch.Tensor documentation.
DType promoted(const Tensor& a, const Tensor& b) {
  if (a.type == b.type) return a.type;
  const int rank_a = rank_of(a.type), rank_b = rank_of(b.type);
  if (rank_a != rank_b) return rank_a > rank_b ? a.type : b.type;
  if (a.dims.empty() != b.dims.empty()) return a.dims.empty() ? b.type : a.type;
  const int64_t size_a = element_bytes(a.type), size_b = element_bytes(b.type);
  if (size_a == size_b) return rank_a == 2 ? DType::float32 : a.type;
  return size_a > size_b ? a.type : b.type;
}

// What of an operator decides its result.
struct Rule {
  size_t operands;                // leading arguments that are operands if they are tensors
  bool boolean_result = false;    // comparisons
  bool floating_result = false;   // division of integers
  bool reads_destination = true;  // false: copy_ and fill_ only write their first operand
};

struct Operands {
  std::vector<const Argument*> tensors;
  Sizes shape;  // of the result
  DType type = DType::unknown;
};

std::optional<Operands> operands_of(const Call& call, const Rule& rule) {
  Operands operands;
  for (size_t at = 0; at < rule.operands; ++at) {
    const Tensor* tensor = call.tensor(at);
    if (tensor == nullptr) continue;
    const auto shape = operands.tensors.empty() ? tensor->dims : broadcast(operands.shape, tensor->dims);
    if (!shape) return std::nullopt;
    const Tensor so_far{.dims = operands.shape, .strides = {}, .type = operands.type};
    operands.type = operands.tensors.empty() ? tensor->type : promoted(so_far, *tensor);
    operands.shape = *shape;
    operands.tensors.push_back(&call.at(at));
  }
  return operands;
}

std::vector<Parameter> parameters_of(const Call& call, const Rule& rule) {
  std::vector<Parameter> parameters;
  if (rule.operands == 1 || !rule.reads_destination) return {{"op_shape", text(call.at(0).tensors[0].dims)}};
  for (size_t at = 0; at < rule.operands; ++at) {
    const Argument& operand = call.at(at);
    const std::string number = std::to_string(at + 1);
    const Tensor none;
    const Tensor& tensor = operand.tensor() == nullptr ? none : *operand.tensor();
    parameters.push_back({"shape_in" + number, text(tensor.dims)});
    parameters.push_back({"stride_input" + number, text(tensor.strides)});
  }
  return parameters;
}

// Size of an element of the result: that of a tensor given for it, else of the operand that is written in place, else
// of the promoted type.
Amount result_size(const Call& call, const Rule& rule, const Operands& operands) {
  if (!rule.reads_destination) return element_size(*operands.tensors[0]);
  for (size_t at = rule.operands; at < call.arguments.size(); ++at) {
    if (call.tensor(at) != nullptr) return element_size(call.at(at));
  }
  if (call.name.back() == '_') return element_size(*operands.tensors[0]);
  if (rule.boolean_result) return 1;
  if (rule.floating_result && rank_of(operands.type) < 2) return 4;
  const int64_t bytes = element_bytes(operands.type);
  return bytes == 0 ? element_size(*operands.tensors[0]) : Amount(bytes);
}

Work elementwise(const Call& call, const Rule& rule) {
  if (call.tensor(0) == nullptr) return unknown_work("an operand is no tensor");
  const auto operands = operands_of(call, rule);
  if (!operands) return unknown_work("shapes do not fit");
  const Amount outputs = elements({.dims = operands->shape, .strides = {}, .type = operands->type});
  Amount bytes = outputs * result_size(call, rule, *operands);
  for (size_t at = rule.reads_destination ? 0 : 1; at < operands->tensors.size(); ++at) {
    bytes += bytes_of(*operands->tensors[at]);
  }
  const DType type = rule.reads_destination ? operands->type : call.at(0).tensors[0].type;
  return make_work(ComputeKind::vector, precision_of(type), outputs, bytes, parameters_of(call, rule));
}

Work unary(const Call& call) { return elementwise(call, {.operands = 1}); }
Work binary(const Call& call) { return elementwise(call, {.operands = 2}); }
Work ternary(const Call& call) { return elementwise(call, {.operands = 3}); }
Work division(const Call& call) { return elementwise(call, {.operands = 2, .floating_result = true}); }
Work comparison(const Call& call) { return elementwise(call, {.operands = 2, .boolean_result = true}); }
Work copy(const Call& call) { return elementwise(call, {.operands = 2, .reads_destination = false}); }
Work fill(const Call& call) { return elementwise(call, {.operands = 1, .reads_destination = false}); }

Work truth(const Call& call) { return elementwise(call, {.operands = 1, .boolean_result = true}); }

// native_dropout(input, p, train) also writes its mask, one byte an element.
Work dropout(const Call& call) {
  const Tensor* in = call.tensor(0);
  if (in == nullptr) return unknown_work("an operand is no tensor");
  return make_work(ComputeKind::vector, precision_of(in->type), elements(*in),
                   bytes_of(call.at(0)) + elements(*in) * (element_size(call.at(0)) + 1),
                   {{"op_shape", text(in->dims)}});
}

// pow(x, 2) has one operand, pow(x, y) two.
Work power(const Call& call) { return call.tensor(1) == nullptr ? unary(call) : binary(call); }

// out[..., d] = f(in[..., d]) * in[..., d + D]: two FLOPs per element of the result. The result comes first.
Work gated(const Call& call) {
  const Tensor* out = call.tensor(0);
  if (out == nullptr || call.tensor(1) == nullptr) return unknown_work("an operand is no tensor");
  const size_t places[] = {0, 1};
  return make_work(ComputeKind::vector, precision_of(call.tensor(1)->type), 2 * elements(*out), bytes_of(call, places),
                   {{"op_shape", text(out->dims)}});
}

// The result comes first: (out, in), then what scales it. flops: per element.
Work into(const Call& call, int64_t flops, std::span<const size_t> also) {
  const Tensor* out = call.tensor(0);
  if (out == nullptr || call.tensor(1) == nullptr) return unknown_work("an operand is no tensor");
  const size_t places[] = {0, 1};
  return make_work(ComputeKind::vector, precision_of(call.tensor(1)->type), flops * elements(*out),
                   bytes_of(call, places) + bytes_of(call, also), {{"op_shape", text(out->dims)}});
}

constexpr size_t kScales[] = {2, 3};

Work function_into(const Call& call) { return into(call, 1, {}); }
// static_scaled_fp8_quant(out, in, scale, …): a product per element.
Work scaled_into(const Call& call) { return into(call, 1, kScales); }
// dynamic_scaled_fp8_quant(out, in, scale, …): the largest of the elements decides the scale, which is written.
Work scaled_by_largest_into(const Call& call) { return into(call, 2, kScales); }
// silu_and_mul_quant(out, in, scale): a gate and its scaling.
Work gated_and_scaled(const Call& call) { return into(call, 3, kScales); }

// Each element of the result is one of the input: [..., sizes] of upsampling, or the input and its padding.
Work resized(const Call& call, const Sizes& sizes) {
  const Tensor& in = call.at(0).tensors[0];
  Sizes out(in.dims.begin(), in.dims.end() - static_cast<std::ptrdiff_t>(sizes.size()));
  out.insert(out.end(), sizes.begin(), sizes.end());
  const Amount outputs = elements({.dims = out, .strides = {}, .type = in.type});
  const Amount bytes = bytes_of(call.at(0)) + outputs * element_size(call.at(0));
  return make_work(ComputeKind::vector, precision_of(in.type), outputs, bytes,
                   {{"op_shape", text(in.dims)}, {"out_shape", text(out)}});
}

Work upsample(const Call& call) {
  const Tensor* in = call.tensor(0);
  const auto sizes = call.at(1).integers();
  if (in == nullptr || !sizes || sizes->size() > in->dims.size()) return unknown_work("output size not recorded");
  if (std::any_of(sizes->begin(), sizes->end(), [](int64_t size) { return size < 0; })) {
    return unknown_work("shapes do not fit");
  }
  return resized(call, *sizes);
}

// The padding lists before and after, from the last dimension back.
Work pad(const Call& call) {
  const Tensor* in = call.tensor(0);
  const auto padding = call.at(1).integers();
  if (in == nullptr || !padding || padding->size() > 2 * in->dims.size()) return unknown_work("padding not recorded");
  const size_t padded = padding->size() / 2;
  Sizes sizes(in->dims.end() - static_cast<std::ptrdiff_t>(padded), in->dims.end());
  for (size_t at = 0; at < padded; ++at) {
    int64_t& size = sizes[padded - 1 - at];
    const auto sum = (Amount(size) + (*padding)[2 * at] + (*padding)[2 * at + 1]).value();
    if (!sum || *sum < 0) return unknown_work("shapes do not fit");
    size = *sum;
  }
  return resized(call, sizes);
}

constexpr Model kElementwiseModels[] = {
    {"aten::abs", unary},
    {"aten::abs_", unary},
    {"aten::acos", unary},
    {"aten::asin", unary},
    {"aten::atan", unary},
    {"aten::bitwise_not", unary},
    {"aten::ceil", unary},
    {"aten::ceil_", unary},
    {"aten::clamp", unary},
    {"aten::clamp_", unary},
    {"aten::clamp_max", unary},
    {"aten::clamp_max_", unary},
    {"aten::clamp_min", unary},
    {"aten::clamp_min_", unary},
    {"aten::cos", unary},
    {"aten::cos_", unary},
    {"aten::elu", unary},
    {"aten::elu_", unary},
    {"aten::erf", unary},
    {"aten::erf_", unary},
    {"aten::erfinv", unary},
    {"aten::exp", unary},
    {"aten::exp2", unary},
    {"aten::exp_", unary},
    {"aten::expm1", unary},
    {"aten::expm1_", unary},
    {"aten::floor", unary},
    {"aten::floor_", unary},
    {"aten::frac", unary},
    {"aten::gelu", unary},
    {"aten::hardsigmoid", unary},
    {"aten::hardsigmoid_", unary},
    {"aten::hardswish", unary},
    {"aten::hardswish_", unary},
    {"aten::hardtanh", unary},
    {"aten::hardtanh_", unary},
    {"aten::leaky_relu", unary},
    {"aten::leaky_relu_", unary},
    {"aten::log", unary},
    {"aten::log10", unary},
    {"aten::log1p", unary},
    {"aten::log1p_", unary},
    {"aten::log2", unary},
    {"aten::log_", unary},
    {"aten::logit", unary},
    {"aten::mish", unary},
    {"aten::mish_", unary},
    {"aten::nan_to_num", unary},
    {"aten::nan_to_num_", unary},
    {"aten::neg", unary},
    {"aten::neg_", unary},
    {"aten::reciprocal", unary},
    {"aten::reciprocal_", unary},
    {"aten::round", unary},
    {"aten::round_", unary},
    {"aten::rsqrt", unary},
    {"aten::rsqrt_", unary},
    {"aten::sgn", unary},
    {"aten::sigmoid", unary},
    {"aten::sigmoid_", unary},
    {"aten::sign", unary},
    {"aten::silu", unary},
    {"aten::silu_", unary},
    {"aten::sin", unary},
    {"aten::sin_", unary},
    {"aten::softplus", unary},
    {"aten::softshrink", unary},
    {"aten::sqrt", unary},
    {"aten::sqrt_", unary},
    {"aten::tan", unary},
    {"aten::tanh", unary},
    {"aten::tanh_", unary},
    {"aten::trunc", unary},
    {"aten::logical_not", truth},
    {"aten::pow", power},
    {"aten::pow_", power},
    {"aten::native_dropout", dropout},
    {"aten::add", binary},
    {"aten::add_", binary},
    {"aten::atan2", binary},
    {"aten::bitwise_and", binary},
    {"aten::bitwise_and_", binary},
    {"aten::bitwise_or", binary},
    {"aten::bitwise_or_", binary},
    {"aten::bitwise_xor", binary},
    {"aten::floor_divide", binary},
    {"aten::fmod", binary},
    {"aten::gelu_backward", binary},
    {"aten::hardsigmoid_backward", binary},
    {"aten::hardswish_backward", binary},
    {"aten::hardtanh_backward", binary},
    {"aten::hypot", binary},
    {"aten::leaky_relu_backward", binary},
    {"aten::logaddexp", binary},
    {"aten::masked_fill_", binary},
    {"aten::maximum", binary},
    {"aten::minimum", binary},
    {"aten::mish_backward", binary},
    {"aten::mul", binary},
    {"aten::mul_", binary},
    {"aten::native_dropout_backward", binary},
    {"aten::remainder", binary},
    {"aten::sigmoid_backward", binary},
    {"aten::silu_backward", binary},
    {"aten::softplus_backward", binary},
    {"aten::sub", binary},
    {"aten::sub_", binary},
    {"aten::tanh_backward", binary},
    {"aten::threshold_backward", binary},
    {"aten::div", division},
    {"aten::div_", division},
    {"aten::eq", comparison},
    {"aten::ge", comparison},
    {"aten::gt", comparison},
    {"aten::le", comparison},
    {"aten::logical_and", comparison},
    {"aten::logical_or", comparison},
    {"aten::logical_xor", comparison},
    {"aten::lt", comparison},
    {"aten::ne", comparison},
    {"aten::addcdiv", ternary},
    {"aten::addcdiv_", ternary},
    {"aten::addcmul", ternary},
    {"aten::addcmul_", ternary},
    {"aten::huber_loss_backward", ternary, true},
    {"aten::lerp", ternary},
    {"aten::lerp_", ternary},
    {"aten::mse_loss_backward", ternary, true},
    {"aten::smooth_l1_loss_backward", ternary, true},
    {"aten::where", ternary},
    {"aten::copy", copy},
    {"aten::copy_", copy},
    {"aten::bernoulli_", fill},
    {"aten::exponential_", fill},
    {"aten::fill_", fill},
    {"aten::normal_", fill},
    {"aten::random_", fill},
    {"aten::uniform_", fill},
    {"_C::fatrelu_and_mul", gated},
    {"_C::gelu_and_mul", gated},
    {"_C::gelu_tanh_and_mul", gated},
    {"_C::mul_and_silu", gated},
    {"_C::silu_and_mul", gated},
    {"_C::swigluoai_and_mul", gated},
    {"aiter::gelu_and_mul", gated},
    {"aiter::gelu_tanh_and_mul", gated},
    {"aiter::silu_and_mul", gated},
    {"sgl_kernel::silu_and_mul", gated},
    {"_C::silu_and_mul_quant", gated_and_scaled},
    {"_C::gelu_fast", function_into},
    {"_C::gelu_new", function_into},
    {"_C::gelu_quick", function_into},
    {"_C::static_scaled_fp8_quant", scaled_into},
    {"_C::static_scaled_int8_quant", scaled_into},
    {"aiter::static_per_tensor_quant", scaled_into},
    {"_C::dynamic_per_token_scaled_fp8_quant", scaled_by_largest_into},
    {"_C::dynamic_scaled_fp8_quant", scaled_by_largest_into},
    {"_C::dynamic_scaled_int8_quant", scaled_by_largest_into},
    {"aiter::dynamic_per_tensor_quant", scaled_by_largest_into},
    {"aiter::dynamic_per_token_scaled_quant", scaled_by_largest_into},
    {"aten::upsample_nearest1d", upsample},
    {"aten::upsample_nearest2d", upsample},
    {"aten::upsample_nearest3d", upsample},
    {"aten::replication_pad1d", pad},
    {"aten::replication_pad2d", pad},
    {"aten::replication_pad3d", pad},
};

}  // namespace

std::span<const Model> elementwise_models() { return kElementwiseModels; }

}  // namespace skewscope::efficiency
