// Scaled dot-product attention. Every pair of a query and a key that it may see costs a dot product of d_qk and, with
// the weight it gets, a sum over d_v: 2 * (d_qk + d_v) FLOPs per pair and head. Kernels that never store the weights
// calculate them again in the backward pass: with dP = dO V', dQ = dS K, dK = dS' Q, dV = P' dO and Q K' once more, 2 *
// (3 d_qk + 2 d_v) (FlashAttention 2, Dao 2023, section 3.1; the memory-efficient and the cuDNN kernels save the
// log-sum-exp alone too). Softmax, scale and dropout are left out, as everywhere in the literature.
//
// A causal mask hides pairs: with queries aligned to the first key (PyTorch's is_causal) or to the last (flash_attn);
// areas are taken as triangles, half of N_Q * N_KV for equal lengths.
#include <fmt/format.h>
#include <algorithm>

#include "gradients.h"
#include "models.h"

namespace skewscope::efficiency {
namespace {

enum class Layout { heads_first, tokens_first, packed };  // [B, H, N, d]; [B, N, H, d]; [tokens, H, d]
enum class Mask { none, first_key, last_key };            // which key the diagonal of a causal mask starts or ends at

// Where an operator takes what. q, k, v are consecutive.
struct Places {
  Layout layout;
  size_t query;
  size_t causal = kNone;        // boolean
  size_t custom_mask = kNone;   // 0 none, 1 causal from the first key, 2 from the last (_efficient_attention_*)
  Mask mask = Mask::first_key;  // what `causal` means
  size_t bias = kNone;          // added to the scores
  size_t lengths = kNone;       // cumulated sequence lengths of queries; those of keys follow
  size_t longest = kNone;       // longest query sequence; that of keys follows
  size_t used_keys = kNone;     // how much of a cache is filled, per sequence
  size_t window = kNone;        // sliding window to the left, then to the right; -1: none
};

struct Shape {
  int64_t batch, queries, heads, keys, key_heads, qk_size, v_size;
};

std::optional<Shape> shape_of(const Tensor& q, const Tensor& k, const Tensor& v, Layout layout) {
  const size_t rank = layout == Layout::packed ? 3 : 4;
  if (q.dims.size() != rank || k.dims.size() != rank || v.dims.size() != rank) return std::nullopt;
  const size_t tokens = layout == Layout::heads_first ? 2 : rank - 3;
  const size_t heads = layout == Layout::heads_first ? 1 : rank - 2;
  if (q.dims.back() != k.dims.back() || k.dims[tokens] != v.dims[tokens]) return std::nullopt;
  return Shape{.batch = layout == Layout::packed ? 1 : q.dims[0],
               .queries = q.dims[tokens],
               .heads = q.dims[heads],
               .keys = k.dims[tokens],
               .key_heads = k.dims[heads],
               .qk_size = q.dims.back(),
               .v_size = v.dims.back()};
}

// Sequences packed one behind the other: their lengths are values of a tensor, which a trace has not. Known all the
// same where there is one, or where all must be as long as the longest. Then the shape is as if they were a batch.
std::optional<Shape> unpacked(const Call& call, const Places& places, Shape shape) {
  const Tensor* lengths = call.tensor(places.lengths);
  if (call.tensor(places.used_keys) != nullptr) return std::nullopt;
  if (lengths == nullptr) return places.layout == Layout::packed ? std::nullopt : std::optional(shape);
  if (lengths->dims.size() != 1 || lengths->dims[0] < 2 || shape.batch != 1) return std::nullopt;
  const int64_t sequences = lengths->dims[0] - 1;
  if (sequences > 1) {
    const auto queries = call.at(places.longest).integer();
    const auto keys = call.at(places.longest + 1).integer();
    if (!queries || !keys) return std::nullopt;
    if ((Amount(*queries) * sequences).value() != shape.queries || (Amount(*keys) * sequences).value() != shape.keys) {
      return std::nullopt;
    }
    shape.queries = *queries;
    shape.keys = *keys;
  }
  shape.batch = sequences;
  return shape;
}

// nullopt: not recorded.
std::optional<Mask> mask_of(const Call& call, const Places& places) {
  if (places.custom_mask != kNone) {
    const auto type = call.at(places.custom_mask).integer();
    if (!type || *type < 0 || *type > 2) return std::nullopt;
    return *type == 0 ? Mask::none : *type == 1 ? Mask::first_key : Mask::last_key;
  }
  const auto causal = call.at(places.causal).boolean();
  if (!causal) return std::nullopt;
  return *causal ? places.mask : Mask::none;
}

// Twice the pairs of query and key that see each other.
Amount twice_the_pairs(const Shape& shape, Mask mask) {
  const int64_t overlap = std::min(shape.queries, shape.keys);
  Amount all = 2 * (Amount(shape.queries) * shape.keys);
  Amount triangle = Amount(overlap) * overlap;
  if (mask == Mask::none) return all;
  // The diagonal starts at the first key: further keys are seen by none, further queries see all.
  if (mask == Mask::first_key) return shape.queries > shape.keys ? all + -1 * triangle : triangle;
  // It ends at the last: further keys are seen by all, further queries see none.
  return shape.queries > shape.keys ? triangle : all + -1 * triangle;
}

Amount flops_of(const Shape& shape, Mask mask, bool backward) {
  const Amount per_pair =
      backward ? 3 * Amount(shape.qk_size) + 2 * Amount(shape.v_size) : Amount(shape.qk_size) + shape.v_size;
  return Amount(shape.batch) * shape.heads * twice_the_pairs(shape, mask) * per_pair;
}

std::vector<Parameter> parameters_of(const Call& call, const Places& places, const Shape& shape,
                                     const std::optional<Mask>& mask) {
  std::vector<Parameter> parameters;
  for (const auto& [name, value] :
       {std::pair{"B", shape.batch}, std::pair{"N_Q", shape.queries}, std::pair{"H_Q", shape.heads},
        std::pair{"N_KV", shape.keys}, std::pair{"H_KV", shape.key_heads}, std::pair{"d_h_qk", shape.qk_size},
        std::pair{"d_h_v", shape.v_size}}) {
    parameters.push_back({name, fmt::format("{}", value)});
  }
  if (mask) parameters.push_back({"causal", text(*mask != Mask::none)});
  parameters.push_back({"dtype_A_B", call.at(places.query).type + ", " + call.at(places.query + 1).type});
  return parameters;
}

bool has_window(const Call& call, size_t place) {
  const auto both = call.at(place).integers();
  if (both) return std::any_of(both->begin(), both->end(), [](int64_t side) { return side >= 0; });
  return call.at(place).integer().value_or(-1) >= 0 || call.at(place + 1).integer().value_or(-1) > 0;
}

Work attention(const Call& call, const Places& places, bool backward) {
  const Tensor* q = call.tensor(places.query);
  const Tensor* k = call.tensor(places.query + 1);
  const Tensor* v = call.tensor(places.query + 2);
  if (q == nullptr || k == nullptr || v == nullptr) return unknown_work("an operand is no tensor");
  Places as_called = places;
  if (q->dims.size() == 3) as_called.layout = Layout::packed;
  const auto recorded = shape_of(*q, *k, *v, as_called.layout);
  if (!recorded) return unknown_work("shapes do not fit");
  const auto shape = unpacked(call, as_called, *recorded);
  const auto mask = mask_of(call, places);

  const size_t reads[] = {places.query, places.query + 1, places.query + 2, places.bias};
  const Argument& query = call.at(places.query);
  // The result has the queries' type; of 8-bit queries it is a half precision.
  const Amount size = q->type == DType::float8 ? Amount(2) : element_size(query);
  const Amount out = Amount(recorded->batch) * recorded->queries * recorded->heads * recorded->v_size * size;
  Amount bytes = bytes_of(call, reads) + out;
  if (backward) bytes += (elements(*q) + elements(*k) + elements(*v)) * size;

  Amount flops = 0;
  if (!shape) {
    flops = Amount::unknown("sequence lengths not recorded");
  } else if (!mask) {
    flops = Amount::unknown("mask not recorded");
  } else if (has_window(call, places.window)) {
    flops = Amount::unknown("sliding window");
  } else {
    flops = flops_of(*shape, *mask, backward);
  }
  return make_work(ComputeKind::matrix, precision_of(q->type), flops, bytes,
                   parameters_of(call, places, shape.value_or(*recorded), mask));
}

template <Places kPlaces>
Work forward(const Call& call) {
  return attention(call, kPlaces, false);
}

template <Places kPlaces>
Work backward(const Call& call) {
  return attention(call, kPlaces, true);
}

// vLLM's unified_attention_with_output(query, key, value, output, layer, …) reads a cache that is no argument: nothing
// of it is known but that it is attention.
Work cached_attention(const Call&) { return unknown_work("lengths of the cached sequences not recorded"); }

constexpr auto kHeadsFirst = Layout::heads_first;
constexpr auto kTokensFirst = Layout::tokens_first;
constexpr auto kPacked = Layout::packed;
constexpr auto kLastKey = Mask::last_key;

// flash_attn's autograd function and its forward: q, k, v, dropout, scale, causal, window to the left, to the right
constexpr Places kFlashAttn = {.layout = kTokensFirst, .query = 0, .causal = 5, .mask = kLastKey, .window = 6};
constexpr Places kFlashBackward = {.layout = kTokensFirst, .query = 1, .causal = 8, .mask = kLastKey, .window = 9};

// Orders: PyTorch's native_functions.yaml, flash_attn's and aiter's operator declarations.
constexpr Model kAttentionModels[] = {
    {"aten::_scaled_dot_product_flash_attention", forward<Places{.layout = kHeadsFirst, .query = 0, .causal = 4}>},
    {"aten::_scaled_dot_product_efficient_attention",
     forward<Places{.layout = kHeadsFirst, .query = 0, .causal = 6, .bias = 3}>},
    {"aten::_scaled_dot_product_cudnn_attention",
     forward<Places{.layout = kHeadsFirst, .query = 0, .causal = 6, .bias = 3}>},
    {"aten::_efficient_attention_forward",
     forward<Places{.layout = kTokensFirst, .query = 0, .custom_mask = 9, .bias = 3, .lengths = 4, .longest = 6}>},
    {"aten::_flash_attention_forward",
     forward<Places{
         .layout = kTokensFirst, .query = 0, .causal = 8, .mask = kLastKey, .lengths = 3, .longest = 5, .window = 11}>},
    {"vllm::unified_attention_with_output", cached_attention},
    {"flash_attn::_flash_attn_forward", forward<kFlashAttn>},
    {"flash_attn::_flash_attn_varlen_forward",
     forward<Places{
         .layout = kPacked, .query = 0, .causal = 9, .mask = kLastKey, .lengths = 3, .longest = 5, .window = 10}>},
    {"flash_attn_3::fwd", forward<Places{.layout = kTokensFirst,
                                         .query = 0,
                                         .causal = 24,
                                         .mask = kLastKey,
                                         .lengths = 7,
                                         .longest = 12,
                                         .used_keys = 11,
                                         .window = 25}>},
    {"FlashAttnFunc", forward<kFlashAttn>},
    {"aiter::_flash_attn_forward", forward<kFlashAttn>},
    {"aiter::mha_fwd", forward<kFlashAttn>},
    {"aiter::fmha_v3_fwd", forward<kFlashAttn>},
    {"aiter::mha_varlen_fwd",
     forward<Places{
         .layout = kPacked, .query = 0, .causal = 12, .mask = kLastKey, .lengths = 3, .longest = 5, .window = 13}>},
    {"aiter::fmha_v3_varlen_fwd",
     forward<Places{
         .layout = kPacked, .query = 0, .causal = 12, .mask = kLastKey, .lengths = 3, .longest = 5, .window = 13}>},
    {"aten::_scaled_dot_product_flash_attention_backward",
     backward<Places{.layout = kHeadsFirst, .query = 1, .causal = 11}>},
    {"aten::_scaled_dot_product_efficient_attention_backward",
     backward<Places{.layout = kHeadsFirst, .query = 1, .causal = 11, .bias = 4}>},
    {"aten::_scaled_dot_product_cudnn_attention_backward",
     backward<Places{.layout = kHeadsFirst, .query = 1, .causal = 14, .bias = 8}>},
    {"aten::_efficient_attention_backward",
     backward<Places{.layout = kTokensFirst, .query = 1, .custom_mask = 14, .bias = 4, .lengths = 6, .longest = 8}>},
    {"aten::_flash_attention_backward", backward<Places{.layout = kTokensFirst,
                                                        .query = 1,
                                                        .causal = 11,
                                                        .mask = kLastKey,
                                                        .lengths = 6,
                                                        .longest = 8,
                                                        .window = 15}>},
    {"flash_attn::_flash_attn_backward",
     backward<Places{.layout = kTokensFirst, .query = 1, .causal = 11, .mask = kLastKey, .window = 12}>},
    {"flash_attn::_flash_attn_varlen_backward",
     backward<Places{
         .layout = kPacked, .query = 1, .causal = 15, .mask = kLastKey, .lengths = 9, .longest = 11, .window = 16}>},
    {"aiter::mha_bwd", backward<kFlashBackward>},
    {"aiter::fmha_v3_bwd", backward<kFlashBackward>},
};

}  // namespace

std::span<const Model> attention_models() { return kAttentionModels; }

Work flash_attn_gradients(const Call& call) { return attention(call, kFlashAttn, true); }
Work dot_product_gradients(const Call& call) {
  const bool flash = call.name.find("Flash") != std::string_view::npos;
  return attention(call, {.layout = kHeadsFirst, .query = 0, .causal = flash ? 4u : 6u, .bias = flash ? kNone : 3u},
                   true);
}

}  // namespace skewscope::efficiency
