// Operators that move elements to or from where an index says, and sort: no FLOPs but the additions of those that
// accumulate. What an index picks is as large as the result, wherever it lies; each picked element crosses memory once.
// Orders of arguments: PyTorch's native_functions.yaml, vLLM's torch_bindings.cpp.
#include <fmt/format.h>

#include "models.h"

namespace skewscope::efficiency {
namespace {

Work moved(const Tensor& tensor, const Amount& flops, const Amount& bytes) {
  return make_work(ComputeKind::vector, precision_of(tensor.type), flops, bytes, {{"op_shape", text(tensor.dims)}});
}

// The place in dims that a recorded dimension names.
std::optional<size_t> place_of(const Argument& argument, size_t rank) {
  const auto dimension = argument.integer();
  const auto size = static_cast<int64_t>(rank);
  if (!dimension || *dimension < -size || *dimension >= size) return std::nullopt;
  return static_cast<size_t>(*dimension < 0 ? *dimension + size : *dimension);
}

// self with `count` in place of the size of the dimension at this argument; unknown without the dimension.
Amount elements_with(const Call& call, size_t dimension_place, const Amount& count) {
  const Tensor& self = *call.tensor(0);
  const auto dimension = place_of(call.at(dimension_place), self.dims.size());
  if (!dimension) return Amount::unknown("dimension not recorded");
  Amount product = count;
  for (size_t at = 0; at < self.dims.size(); ++at) {
    if (at != *dimension) product = product * self.dims[at];
  }
  return product;
}

// index_select(self, dim, index)
Work index_select(const Call& call) {
  if (call.tensor(0) == nullptr || call.tensor(2) == nullptr) return unknown_work("an operand is no tensor");
  const Amount picked = elements_with(call, 1, elements(*call.tensor(2)));
  return moved(*call.tensor(0), 0, 2 * picked * element_size(call.at(0)) + bytes_of(call.at(2)));
}

// gather(self, dim, index, …): the result has the shape of the index.
Work gather(const Call& call) {
  if (call.tensor(0) == nullptr || call.tensor(2) == nullptr) return unknown_work("an operand is no tensor");
  const Amount picked = elements(*call.tensor(2));
  return moved(*call.tensor(0), 0, 2 * picked * element_size(call.at(0)) + bytes_of(call.at(2)));
}

// scatter_(self, dim, index, source or a number): the rest of self is not touched.
Work scatter_into(const Call& call) {
  if (call.tensor(0) == nullptr || call.tensor(2) == nullptr) return unknown_work("an operand is no tensor");
  const Amount placed = elements(*call.tensor(2)) * element_size(call.at(0));
  return moved(*call.tensor(0), 0, (call.tensor(3) == nullptr ? 1 : 2) * placed + bytes_of(call.at(2)));
}

// scatter_add_(self, dim, index, source): source and self are read.
Work scatter_add(const Call& call) {
  if (call.tensor(0) == nullptr || call.tensor(2) == nullptr) return unknown_work("an operand is no tensor");
  const Amount placed = elements(*call.tensor(2));
  return moved(*call.tensor(0), placed, 3 * placed * element_size(call.at(0)) + bytes_of(call.at(2)));
}

// index_add_(self, dim, index, source, alpha)
Work index_add(const Call& call) {
  const Tensor* source = call.tensor(3);
  if (call.tensor(0) == nullptr || source == nullptr) return unknown_work("an operand is no tensor");
  const Amount added = elements(*source);
  return moved(*call.tensor(0), added, 3 * added * element_size(call.at(0)) + bytes_of(call.at(2)));
}

// embedding_dense_backward(grad, indices, num_weights, …): the whole gradient of the weights is written.
Work embedding_gradient(const Call& call) {
  const Tensor* grad = call.tensor(0);
  const auto rows = call.at(2).integer();
  if (grad == nullptr || call.tensor(1) == nullptr || grad->dims.empty()) return unknown_work("shapes of another rank");
  const Amount written = rows ? Amount(*rows) * grad->dims.back() : Amount::unknown("rows of the weight not recorded");
  const size_t reads[] = {0, 1};
  return moved(*grad, elements(*grad), bytes_of(call, reads) + written * element_size(call.at(0)));
}

// _embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
// …)
Work embedding_bag(const Call& call) {
  const Tensor* weight = call.tensor(0);
  const Tensor* indices = call.tensor(1);
  const Tensor* offsets = call.tensor(2);
  if (weight == nullptr || indices == nullptr || offsets == nullptr || weight->dims.size() != 2) {
    return unknown_work("shapes of another rank");
  }
  const int64_t last = call.at(7).boolean().value_or(false) ? 1 : 0;
  const Amount read = elements(*indices) * weight->dims[1];
  const Amount written = (elements(*offsets) + -last) * weight->dims[1];
  const size_t tables[] = {1, 2, 6};
  return moved(*weight, read, (read + written) * element_size(call.at(0)) + bytes_of(call, tables));
}

// sort(self, …): values and where they stood.
Work sort(const Call& call) {
  const Tensor* self = call.tensor(0);
  if (self == nullptr) return unknown_work("an operand is no tensor");
  return moved(*self, 0,
               bytes_of(call.at(0)) + elements(*self) * (element_size(call.at(0)) + element_bytes(DType::int64)));
}

// topk(self, k, dim, …): values and where they are.
Work topk(const Call& call) {
  const Tensor* self = call.tensor(0);
  if (self == nullptr) return unknown_work("an operand is no tensor");
  const auto k = call.at(1).integer();
  const Amount kept = k ? elements_with(call, 2, *k) : Amount::unknown("k not recorded");
  return moved(*self, 0, bytes_of(call.at(0)) + kept * (element_size(call.at(0)) + element_bytes(DType::int64)));
}

// flip, roll, tril: each element of the result is one of the input, or 0.
Work rearranged(const Call& call) {
  const Tensor* self = call.tensor(0);
  if (self == nullptr) return unknown_work("an operand is no tensor");
  return moved(*self, 0, bytes_of(call.at(0)) + elements(*self) * element_size(call.at(0)));
}

// Keys and values at places 0 and 1 into the caches behind them, each element in the cache's type; a cache of another
// type scales them: one FLOP each.
Work into_cache(const Call& call, size_t cache, size_t slots) {
  const Tensor* first = call.tensor(0);
  const Tensor* second = call.tensor(1);
  if (first == nullptr || second == nullptr || call.tensor(cache) == nullptr) {
    return unknown_work("an operand is no tensor");
  }
  const Amount n = elements(*first) + elements(*second);
  const size_t reads[] = {0, 1, slots};
  const bool scales = call.tensor(cache)->type != first->type;
  return moved(*first, scales ? n : Amount(0), bytes_of(call, reads) + n * element_size(call.at(cache)));
}

// reshape_and_cache(key, value, key_cache, value_cache, slot_mapping, …), reshape_and_cache_flash alike
Work key_value_cache(const Call& call) { return into_cache(call, 2, 4); }
// concat_and_cache_mla(kv_c, k_pe, kv_cache, slot_mapping, …)
Work latent_cache(const Call& call) { return into_cache(call, 2, 3); }

constexpr Model kIndexingModels[] = {
    {"aten::index_select", index_select, true},
    {"aten::gather", gather, true},
    {"aten::scatter_", scatter_into},
    {"aten::scatter_add_", scatter_add},
    {"aten::index_add_", index_add},
    {"aten::embedding_dense_backward", embedding_gradient},
    {"aten::_embedding_bag", embedding_bag},
    {"aten::sort", sort},
    {"aten::topk", topk},
    {"aten::flip", rearranged},
    {"aten::roll", rearranged},
    {"aten::tril", rearranged},
    {"aten::tril_", rearranged},
    {"aten::triu", rearranged},
    {"aten::triu_", rearranged},
    {"_C_cache_ops::reshape_and_cache", key_value_cache},
    {"_C_cache_ops::reshape_and_cache_flash", key_value_cache},
    {"_C_cache_ops::concat_and_cache_mla", latent_cache},
};

}  // namespace

std::span<const Model> index_models() { return kIndexingModels; }

}  // namespace skewscope::efficiency
