// Softmax, rotary embedding, cross entropy, causal convolution, mixture of experts; and the autograd nodes whose work
// follows from the forward call.
#include <fmt/format.h>
#include <cmath>

#include "gradients.h"
#include "models.h"

namespace skewscope::efficiency {
namespace {

// Per element: maximum, difference, exponential, sum, quotient (softmax) or difference (log-softmax). half_to_float
// (third argument): the result is float.
Work softmax(const Call& call) {
  const Tensor* in = call.tensor(0);
  if (in == nullptr) return unknown_work("an operand is no tensor");
  const bool to_float = call.at(2).boolean().value_or(false);
  const Amount out_size = to_float ? Amount(element_bytes(DType::float32)) : element_size(call.at(0));
  return make_work(ComputeKind::vector, precision_of(in->type), 5 * elements(*in),
                   bytes_of(call.at(0)) + elements(*in) * out_size, {{"op_shape", text(in->dims)}});
}

// (grad, output, dim, input_dtype): product, sum, difference (or exponential and product), product.
Work softmax_backward(const Call& call) {
  const Tensor* out = call.tensor(1);
  if (call.tensor(0) == nullptr || out == nullptr) return unknown_work("an operand is no tensor");
  const size_t reads[] = {0, 1};
  return make_work(ComputeKind::vector, precision_of(out->type), 4 * elements(*out),
                   bytes_of(call, reads) + elements(*out) * element_size(call.at(1)), {{"op_shape", text(out->dims)}});
}

// A pair (x, y) becomes (x cos - y sin, y cos + x sin): 3 FLOPs per element, read and written once.
Work rotated(const Argument& argument, const Amount& share, const Amount& tables) {
  const Tensor& tensor = argument.tensors[0];
  return make_work(ComputeKind::vector, precision_of(tensor.type), 3 * share,
                   2 * share * element_size(argument) + tables, {{"op_shape", text(tensor.dims)}});
}

// FusedRoPEFunc(t, freqs, …)
Work fused_rope(const Call& call) {
  const Tensor* tensor = call.tensor(0);
  if (tensor == nullptr) return unknown_work("an operand is no tensor");
  return rotated(call.at(0), elements(*tensor), bytes_of(call.at(1)));
}

// vLLM's rotary_embedding(positions, query, key, head_size, cos_sin_cache, is_neox), in place. Only the first
// `rotated` of each head's elements turn: the width of the cache, of which each position reads its row.
Work rotary_embedding(const Call& call) {
  const Tensor* positions = call.tensor(0);
  const Tensor* query = call.tensor(1);
  const Tensor* cache = call.tensor(4);
  const auto head = call.at(3).integer();
  if (positions == nullptr || query == nullptr || cache == nullptr || cache->dims.size() != 2 || !head || *head <= 0) {
    return unknown_work("shapes of another rank");
  }
  const Amount both = elements(*query) + (call.tensor(2) == nullptr ? Amount(0) : elements(*call.tensor(2)));
  const auto heads = both.value();
  if (!heads || *heads % *head != 0) return unknown_work("shapes do not fit");
  const Amount rows = elements(*positions) * cache->dims[1] * element_size(call.at(4));
  return rotated(call.at(1), Amount(*heads / *head) * cache->dims[1], bytes_of(call.at(0)) + rows);
}

// CrossEntropyFunction(logits [..., V], target, …): per logit maximum, difference, exponential, sum, quotient; the
// gradient is written over the logits.
Work cross_entropy(const Call& call) {
  const Tensor* logits = call.tensor(0);
  if (logits == nullptr || logits->dims.empty()) return unknown_work("an operand is no tensor");
  return make_work(ComputeKind::vector, precision_of(logits->type), 5 * elements(*logits),
                   2 * bytes_of(call.at(0)) + bytes_of(call.at(1)), {{"op_shape", text(logits->dims)}});
}

// Its backward scales that gradient by the incoming one, in place.
Work cross_entropy_gradients(const Call& call) {
  const Tensor* logits = call.tensor(0);
  if (logits == nullptr) return unknown_work("an operand is no tensor");
  return make_work(ComputeKind::vector, precision_of(logits->type), elements(*logits), 2 * bytes_of(call.at(0)),
                   {{"op_shape", text(logits->dims)}});
}

// Depthwise convolution over time, x [B, C, L] by weight [C, k]: 2 B C L k. products: 1 forward, 2 for both gradients.
Work causal_conv(const Call& call, int64_t products, const Amount& bytes) {
  const Tensor* x = call.tensor(0);
  const Tensor* weight = call.tensor(1);
  if (x == nullptr || weight == nullptr || x->dims.size() != 3 || weight->dims.size() != 2) {
    return unknown_work("shapes of another rank");
  }
  return make_work(ComputeKind::vector, precision_of(x->type), 2 * products * elements(*x) * weight->dims[1], bytes,
                   {{"input_shape", text(x->dims)}, {"filter_shape", text(weight->dims)}});
}

// (x, weight, bias, …)
Work causal_conv_forward(const Call& call) {
  const size_t parameters[] = {1, 2};
  return causal_conv(call, 1, 2 * bytes_of(call.at(0)) + bytes_of(call, parameters));
}

// (x, weight, bias, dout, …): gradients of x and the weight.
Work causal_conv_backward(const Call& call) {
  return causal_conv(call, 2, 3 * bytes_of(call.at(0)) + 2 * bytes_of(call.at(1)));
}

// The part of the `bytes` weights of E experts that the chosen ones hold. Which they are is not recorded; if all are
// equally likely, a share of 1 - (1 - topk/E)^M is expected to be read.
Amount expected_weights(const Amount& bytes, const Amount& tokens, int64_t experts, int64_t topk) {
  const auto all = bytes.value(), m = tokens.value();
  if (!all || !m) return all ? tokens : bytes;
  const double chosen =
      -std::expm1(static_cast<double>(*m) * std::log1p(-static_cast<double>(topk) / static_cast<double>(experts)));
  return std::llround(static_cast<double>(*all) * chosen);
}

// Tokens [M, K], each to topk of E experts: up (w1 [E, N or 2N, K], the doubled one gated), down (w2 [E, K, N]), and
// the weighted sum of topk results.
Work experts(const Argument& tokens, const Argument& up, const Argument& down, int64_t topk) {
  if (tokens.tensor() == nullptr || up.tensor() == nullptr || down.tensor() == nullptr) {
    return unknown_work("an operand is no tensor");
  }
  const auto& m_k = tokens.tensors[0].dims;
  const auto& w1 = up.tensors[0].dims;
  const auto& w2 = down.tensors[0].dims;
  if (m_k.size() != 2 || w1.size() != 3 || w2.size() != 3 || w1[0] != w2[0])
    return unknown_work("shapes of another rank");
  if (topk <= 0 || topk > w1[0] || w1[2] != m_k[1] || w2[1] != m_k[1]) return unknown_work("shapes do not fit");
  const bool gated = (2 * Amount(w2[2])).value() == w1[1];
  if (!gated && w2[2] != w1[1]) return unknown_work("shapes do not fit");
  const Amount token_elements = Amount(m_k[0]) * m_k[1];
  const Amount flops = (gated ? 6 : 4) * token_elements * w2[2] * topk + token_elements * (2 * Amount(topk) + -1);
  const Amount read = expected_weights(bytes_of(up) + bytes_of(down), m_k[0], w1[0], topk);
  return make_work(ComputeKind::matrix, precision_of(up.tensors[0].type), flops, 2 * bytes_of(tokens) + read,
                   {{"M", fmt::format("{}", m_k[0])},
                    {"K", fmt::format("{}", m_k[1])},
                    {"N", fmt::format("{}", w2[2])},
                    {"experts", fmt::format("{}", w1[0])},
                    {"topk", fmt::format("{}", topk)},
                    {"gated", text(gated)}});
}

// One of the two products of experts, each of `rows` rows (a token for each of its topk experts): [E, N, K] weights.
Work expert_product(const Argument& tokens, const Argument& weights, const Argument& out, const Amount& rows,
                    const Amount& tokens_in, int64_t topk) {
  if (tokens.tensor() == nullptr || weights.tensor() == nullptr || out.tensor() == nullptr) {
    return unknown_work("an operand is no tensor");
  }
  const auto& w = weights.tensors[0].dims;
  if (w.size() != 3 || tokens.tensors[0].dims.empty()) return unknown_work("shapes of another rank");
  const DType type = weights.tensors[0].type;
  if (type == DType::uint8 || type == DType::uint32 || element_bytes(type) == 0) return unknown_work("packed weights");
  if (tokens.tensors[0].dims.back() != w[2] || topk <= 0 || topk > w[0]) return unknown_work("shapes do not fit");
  const Amount read = expected_weights(bytes_of(weights), tokens_in, w[0], topk);
  return make_work(ComputeKind::matrix, precision_of(weights.tensors[0].type), 2 * rows * w[1] * w[2],
                   bytes_of(tokens) + read + bytes_of(out),
                   {{"K", fmt::format("{}", w[2])},
                    {"N", fmt::format("{}", w[1])},
                    {"experts", fmt::format("{}", w[0])},
                    {"topk", fmt::format("{}", topk)}});
}

// aiter's ck_moe_stage1(hidden_states [M, K], w1 [E, N, K], w2, …, out, topk)
Work first_expert_product(const Call& call) {
  const Tensor* tokens = call.tensor(0);
  const int64_t topk = call.at(7).integer().value_or(0);
  if (tokens == nullptr || tokens->dims.size() != 2) return unknown_work("shapes of another rank");
  return expert_product(call.at(0), call.at(1), call.at(6), Amount(tokens->dims[0]) * topk, tokens->dims[0], topk);
}

// ck_moe_stage2(inter_states [M, topk, N], w1, w2 [E, K, N], …, out, topk), and the sum of the topk results.
Work second_expert_product(const Call& call) {
  const Tensor* tokens = call.tensor(0);
  const Tensor* out = call.tensor(6);
  const int64_t topk = call.at(7).integer().value_or(0);
  if (tokens == nullptr || tokens->dims.size() != 3 || tokens->dims[1] != topk || out == nullptr) {
    return unknown_work("shapes of another rank");
  }
  Work work = expert_product(call.at(0), call.at(2), call.at(6), Amount(tokens->dims[0]) * topk, tokens->dims[0], topk);
  if (!work.flops) return work;
  const Amount flops = Amount(*work.flops) + elements(*out) * (2 * Amount(topk) + -1);
  work.flops = flops.value();
  if (!work.flops) work.unknown = flops.why();
  return work;
}

// topk_softmax(topk_weights, topk_indices, token_expert_indices, gating_output, …): a softmax over the experts.
Work topk_softmax(const Call& call) {
  const Tensor* gating = call.tensor(3);
  if (gating == nullptr) return unknown_work("an operand is no tensor");
  const size_t places[] = {0, 1, 2, 3};
  return make_work(ComputeKind::vector, precision_of(gating->type), 5 * elements(*gating), bytes_of(call, places),
                   {{"op_shape", text(gating->dims)}});
}

// moe_sum(input [M, topk, K], output [M, K])
Work expert_sum(const Call& call) {
  const Tensor* in = call.tensor(0);
  const Tensor* out = call.tensor(1);
  if (in == nullptr || out == nullptr) return unknown_work("an operand is no tensor");
  const size_t places[] = {0, 1};
  const Amount additions = elements(*in) + -1 * elements(*out);
  if (additions.value().value_or(0) < 0) return unknown_work("shapes do not fit");
  return make_work(ComputeKind::vector, precision_of(in->type), additions, bytes_of(call, places),
                   {{"op_shape", text(in->dims)}});
}

// vLLM's and SGLang's (hidden_states, w1, w2, topk_weights [M, topk], …)
Work fused_experts(const Call& call) {
  const Tensor* chosen = call.tensor(3);
  const int64_t topk = chosen == nullptr || chosen->dims.empty() ? 0 : chosen->dims.back();
  return experts(call.at(0), call.at(1), call.at(2), topk);
}

// aiter's (out, input, gate, down, sorted_token_ids, sorted_weights, sorted_expert_ids, num_valid_ids, topk, …)
Work fused_experts_into(const Call& call) {
  return experts(call.at(1), call.at(2), call.at(3), call.at(8).integer().value_or(0));
}

constexpr Model kOtherModels[] = {
    {"aten::_softmax", softmax},
    {"aten::_log_softmax", softmax},
    {"aten::_softmax_backward_data", softmax_backward},
    {"aten::_log_softmax_backward_data", softmax_backward},
    {"FusedRoPEFunc", fused_rope},
    {"_C::rotary_embedding", rotary_embedding},
    {"sgl_kernel::rotary_embedding", rotary_embedding},
    {"CrossEntropyFunction", cross_entropy},
    {"DaoAILab::_causal_conv1d_fwd_cpp", causal_conv_forward},
    {"DaoAILab::_causal_conv1d_bwd_cpp", causal_conv_backward},
    {"vllm::inplace_fused_experts", fused_experts},
    {"vllm::outplace_fused_experts", fused_experts},
    {"sglang::inplace_fused_experts", fused_experts},
    {"sglang::outplace_fused_experts", fused_experts},
    {"_moe_C::topk_softmax", topk_softmax},
    {"aiter::topk_softmax", topk_softmax},
    {"_moe_C::moe_sum", expert_sum},
    {"aiter::moe_sum", expert_sum},
    {"sgl_kernel::moe_sum", expert_sum},
    {"aiter::ck_moe_stage1", first_expert_product},
    {"aiter::ck_moe_stage2", second_expert_product},
    {"aiter::fmoe_g1u1", fused_experts_into},
    {"aiter::fmoe_fp8_blockscale_g1u1", fused_experts_into},
};

// A trace does not tell which inputs want a gradient: all of them are taken to.
constexpr Model kNodeModels[] = {
    {"MmBackward0", mm_gradients},
    {"BmmBackward0", bmm_gradients},
    {"AddmmBackward0", addmm_gradients},
    {"ConvolutionBackward0", convolution_gradients},
    {"FlashAttnFuncBackward", flash_attn_gradients},
    {"ScaledDotProductFlashAttentionBackward0", dot_product_gradients},
    {"ScaledDotProductEfficientAttentionBackward0", dot_product_gradients},
    {"ScaledDotProductCudnnAttentionBackward0", dot_product_gradients},
    {"FusedRoPEFuncBackward", fused_rope},
    {"CrossEntropyFunctionBackward", cross_entropy_gradients},
};

}  // namespace

std::span<const Model> other_models() { return kOtherModels; }
std::span<const Model> node_models() { return kNodeModels; }

}  // namespace skewscope::efficiency
