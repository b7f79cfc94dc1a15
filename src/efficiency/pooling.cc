// Pooling: each result is the maximum or the mean of a window; a FLOP per element of every window, and a division per
// mean. Backward adds each incoming gradient to the element it came from, or to each element of its window. Output
// sizes: torch.nn.MaxPool2d and AvgPool2d. Orders of arguments: PyTorch's native_functions.yaml.
#include <fmt/format.h>

#include "models.h"

namespace skewscope::efficiency {
namespace {

using Sizes = std::vector<int64_t>;

struct Window {
  Sizes size, stride, padding, dilation;
  bool ceiling = false;
};

// One size for both dimensions or one for each; `otherwise` where the list is empty or was not given.
std::optional<Sizes> pair_at(const Call& call, size_t place, const Sizes& otherwise) {
  const Argument& argument = call.at(place);
  const auto given = argument.integers();
  if (!given) return argument.kind == ArgumentKind::none ? std::optional(otherwise) : std::nullopt;
  if (given->empty()) return otherwise;
  if (given->size() == 1) return Sizes(2, given->front());
  return given->size() == 2 ? given : std::nullopt;
}

// (…, kernel_size, stride, padding, [dilation,] ceil_mode, …) from `first`.
std::optional<Window> window_at(const Call& call, size_t first, bool dilated) {
  const auto size = pair_at(call, first, {});
  if (!size || size->size() != 2) return std::nullopt;
  const auto stride = pair_at(call, first + 1, *size);
  const auto padding = pair_at(call, first + 2, {0, 0});
  const auto dilation = dilated ? pair_at(call, first + 3, {1, 1}) : Sizes{1, 1};
  if (!stride || !padding || !dilation) return std::nullopt;
  return Window{.size = *size,
                .stride = *stride,
                .padding = *padding,
                .dilation = *dilation,
                .ceiling = call.at(first + (dilated ? 4 : 3)).boolean().value_or(false)};
}

// The documented size; with ceil_mode the last window may begin in the input or its left padding only.
std::optional<int64_t> pooled_size(int64_t in, const Window& window, size_t at) {
  const int64_t stride = window.stride[at], padding = window.padding[at];
  const Amount reach = Amount(window.dilation[at]) * (window.size[at] + -1) + 1;
  const auto room = (Amount(in) + 2 * Amount(padding) + -1 * reach).value();
  if (!room || *room < 0 || stride <= 0 || padding < 0) return std::nullopt;
  const Amount size = Amount(*room / stride) + 1;
  const auto begin = (size * stride).value(), end = (Amount(in) + padding).value();  // of one more window
  const bool one_more = window.ceiling && *room % stride != 0 && begin && end && *begin < *end;
  return (size + (one_more ? 1 : 0)).value();
}

// The shape of the result of pooling `in`, whose last two dimensions are pooled.
std::optional<Sizes> pooled(const Sizes& in, const Window& window) {
  if (in.size() < 3) return std::nullopt;
  Sizes out = in;
  for (size_t at = 0; at < 2; ++at) {
    const auto size = pooled_size(in[in.size() - 2 + at], window, at);
    if (!size) return std::nullopt;
    out[in.size() - 2 + at] = *size;
  }
  return out;
}

Amount elements_of(const Sizes& sizes) { return elements({.dims = sizes, .strides = {}, .type = DType::unknown}); }

Work pooling(const Tensor& in, const Amount& flops, const Amount& bytes) {
  return make_work(ComputeKind::vector, precision_of(in.type), flops, bytes, {{"op_shape", text(in.dims)}});
}

Work pool(const Call& call, bool dilated, int64_t divisions, const Amount& index_bytes) {
  const Tensor* in = call.tensor(0);
  if (in == nullptr) return unknown_work("an operand is no tensor");
  const auto window = window_at(call, 1, dilated);
  if (!window) return unknown_work("window not recorded");
  const auto out = pooled(in->dims, *window);
  if (!out) return unknown_work("shapes do not fit");
  const Amount per_result = Amount(window->size[0]) * window->size[1] + divisions;
  const Amount outputs = elements_of(*out);
  return pooling(*in, per_result * outputs, bytes_of(call.at(0)) + outputs * (element_size(call.at(0)) + index_bytes));
}

// max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode): also writes where each stood.
Work max_pool(const Call& call) { return pool(call, true, 0, element_bytes(DType::int64)); }

// avg_pool2d(self, kernel_size, stride, padding, ceil_mode, …)
Work mean_pool(const Call& call) { return pool(call, false, 1, 0); }

// (grad, self, …, indices): self only tells the size of what is written.
Work max_pool_gradient(const Call& call) {
  const Tensor* grad = call.tensor(0);
  const Tensor* self = call.tensor(1);
  if (grad == nullptr || self == nullptr) return unknown_work("an operand is no tensor");
  const size_t reads[] = {0, 7};
  return pooling(*self, elements(*grad), bytes_of(call, reads) + elements(*self) * element_size(call.at(1)));
}

// (grad, self, kernel_size, …)
Work mean_pool_gradient(const Call& call) {
  const Tensor* grad = call.tensor(0);
  const Tensor* self = call.tensor(1);
  if (grad == nullptr || self == nullptr) return unknown_work("an operand is no tensor");
  const auto size = pair_at(call, 2, {});
  if (!size || size->size() != 2) return unknown_work("window not recorded");
  const Amount per_result = Amount((*size)[0]) * (*size)[1] + 1;
  return pooling(*self, per_result * elements(*grad),
                 bytes_of(call.at(0)) + elements(*self) * element_size(call.at(1)));
}

// _adaptive_avg_pool2d(self, output_size): windows that share the input out.
Work adaptive_mean_pool(const Call& call) {
  const Tensor* in = call.tensor(0);
  const auto sizes = pair_at(call, 1, {});
  if (in == nullptr || in->dims.size() < 3) return unknown_work("shapes of another rank");
  if (!sizes || sizes->size() != 2) return unknown_work("output size not recorded");
  Sizes out = in->dims;
  for (size_t at = 0; at < 2; ++at) {
    if ((*sizes)[at] < 0) return unknown_work("shapes do not fit");
    out[out.size() - 2 + at] = (*sizes)[at];
  }
  const Amount outputs = elements_of(out);
  return pooling(*in, elements(*in) + outputs, bytes_of(call.at(0)) + outputs * element_size(call.at(0)));
}

// (grad, self)
Work adaptive_mean_pool_gradient(const Call& call) {
  const Tensor* grad = call.tensor(0);
  const Tensor* self = call.tensor(1);
  if (grad == nullptr || self == nullptr) return unknown_work("an operand is no tensor");
  return pooling(*self, elements(*self) + elements(*grad),
                 bytes_of(call.at(0)) + elements(*self) * element_size(call.at(1)));
}

constexpr Model kPoolingModels[] = {
    {"aten::max_pool2d_with_indices", max_pool},
    {"aten::max_pool2d_with_indices_backward", max_pool_gradient},
    {"aten::avg_pool2d", mean_pool},
    {"aten::avg_pool2d_backward", mean_pool_gradient},
    {"aten::_adaptive_avg_pool2d", adaptive_mean_pool},
    {"aten::_adaptive_avg_pool2d_backward", adaptive_mean_pool_gradient},
};

}  // namespace

std::span<const Model> pooling_models() { return kPoolingModels; }

}  // namespace skewscope::efficiency
