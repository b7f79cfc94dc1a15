// Convolutions. Every output element is a dot product over the filter of one output channel, w = [Cout, Cin / groups,
// k...]: 2 * prod(w[1:]) * prod(out) FLOPs. A transposed one scatters each input element instead, w = [Cin, Cout /
// groups, k...]: 2 * prod(w[1:]) * prod(in). Both gradients take as many multiply-adds as the forward, as each pairs
// the same (input, weight, output) triples.
#include <fmt/format.h>
#include <array>

#include "gradients.h"
#include "models.h"

namespace skewscope::efficiency {
namespace {

using Sizes = std::vector<int64_t>;

struct Convolution {
  const Argument* input = nullptr;
  const Argument* weight = nullptr;
  const Argument* bias = nullptr;
  Sizes stride, padding, dilation, output_padding;
  bool transposed = false;
  int64_t groups = 1;
};

// Where an operator takes what.
struct ConvolutionPlaces {
  size_t input, weight, stride, padding, dilation, transposed, output_padding, groups;
};
// One size for each of the spatial dimensions; PyTorch lets one represent all.
std::optional<Sizes> per_dimension(const Argument& argument, size_t dimensions, int64_t otherwise) {
  auto given = argument.integers();
  if (!given) return argument.kind == ArgumentKind::none ? std::optional(Sizes(dimensions, otherwise)) : std::nullopt;
  if (given->size() == 1) return Sizes(dimensions, given->front());
  return given->size() == dimensions ? given : std::nullopt;
}

// What is read of a call; the reason why not in `unknown`.
std::optional<Convolution> read(const Call& call, const ConvolutionPlaces& places, std::string& unknown) {
  const Tensor* input = call.tensor(places.input);
  const Tensor* weight = call.tensor(places.weight);
  if (input == nullptr || weight == nullptr || input->dims.size() < 3 || input->dims.size() != weight->dims.size()) {
    unknown = "shapes of another rank";
    return std::nullopt;
  }
  const size_t dimensions = input->dims.size() - 2;
  const auto stride = per_dimension(call.at(places.stride), dimensions, 1);
  const auto padding = per_dimension(call.at(places.padding), dimensions, 0);
  const auto dilation = per_dimension(call.at(places.dilation), dimensions, 1);
  const auto output_padding = per_dimension(call.at(places.output_padding), dimensions, 0);
  if (!stride || !padding || !dilation || !output_padding) {
    unknown = "stride, padding or dilation not recorded";
    return std::nullopt;
  }
  return Convolution{.input = &call.at(places.input),
                     .weight = &call.at(places.weight),
                     .bias = nullptr,
                     .stride = *stride,
                     .padding = *padding,
                     .dilation = *dilation,
                     .output_padding = *output_padding,
                     .transposed = call.at(places.transposed).boolean().value_or(false),
                     .groups = call.at(places.groups).integer().value_or(1)};
}

// The documented output size of torch.nn.ConvNd and ConvTransposeNd; nullopt where the sizes do not fit.
std::optional<Sizes> output_shape(const Convolution& conv) {
  const Sizes& in = conv.input->tensors[0].dims;
  const Sizes& filter = conv.weight->tensors[0].dims;
  const auto channels = conv.transposed ? (Amount(filter[1]) * conv.groups).value() : std::optional(filter[0]);
  if (!channels) return std::nullopt;
  Sizes out{in[0], *channels};
  for (size_t at = 0; at < conv.stride.size(); ++at) {
    const Amount reach = Amount(conv.dilation[at]) * (filter[at + 2] - 1) + 1;  // input covered by one filter
    const Amount padded = 2 * Amount(conv.padding[at]);
    Amount size = 0;
    if (conv.transposed) {
      size = Amount(in[at + 2] - 1) * conv.stride[at] + reach + conv.output_padding[at] + -1 * padded;
    } else {
      const auto room = (Amount(in[at + 2]) + padded + -1 * reach).value();
      if (!room || *room < 0 || conv.stride[at] <= 0) return std::nullopt;
      size = *room / conv.stride[at] + 1;
    }
    if (size.value().value_or(-1) < 0) return std::nullopt;
    out.push_back(*size.value());
  }
  return out;
}

Amount product(const Sizes& sizes, size_t from = 0) {
  Amount all = 1;
  for (size_t at = from; at < sizes.size(); ++at) all = all * sizes[at];
  return all;
}

// Multiply-adds count two.
Amount dot_products(const Convolution& conv, const Sizes& out) {
  const Amount per_element = 2 * product(conv.weight->tensors[0].dims, 1);
  return per_element * product(conv.transposed ? conv.input->tensors[0].dims : out);
}

std::vector<Parameter> parameters_of(const Convolution& conv, bool with_bias) {
  const Tensor& input = conv.input->tensors[0];
  const Tensor& weight = conv.weight->tensors[0];
  return {{"convNd", fmt::format("conv{}d", input.dims.size() - 2)},
          {"input_shape", text(input.dims)},
          {"filter_shape", text(weight.dims)},
          {"dtype_input_weight", conv.input->type + ", " + conv.weight->type},
          {"input_stride", text(input.strides)},
          {"weight_stride", text(weight.strides)},
          {"bias", text(with_bias)},
          {"stride", text(conv.stride)},
          {"padding", text(conv.padding)},
          {"dilation", text(conv.dilation)},
          {"transposed_conv", text(conv.transposed)},
          {"output_padding", text(conv.output_padding)},
          {"groups", fmt::format("{}", conv.groups)}};
}

Work forward(const Call& call, const ConvolutionPlaces& places, size_t bias_place) {
  std::string unknown;
  auto conv = read(call, places, unknown);
  if (!conv) return unknown_work(unknown);
  const auto out = output_shape(*conv);
  if (!out) return unknown_work("shapes do not fit");
  const bool with_bias = call.tensor(bias_place) != nullptr;
  const Amount outputs = product(*out);
  const Amount bytes = bytes_of(*conv->input) + bytes_of(*conv->weight) + outputs * element_size(*conv->input) +
                       bytes_of(call.at(bias_place));
  return make_work(ComputeKind::matrix, precision_of(conv->input->tensors[0].type),
                   dot_products(*conv, *out) + (with_bias ? outputs : Amount(0)), bytes,
                   parameters_of(*conv, with_bias));
}

// mask: which gradients are calculated: of the input, the weight, the bias. `out` has the shape of the gradient that
// comes in; each gradient kernel reads it.
Work gradients(const Convolution& conv, const Sizes& out, const std::array<bool, 3>& mask) {
  const Amount size = element_size(*conv.input);
  const Amount incoming = product(out) * size;
  const Amount each = dot_products(conv, out);
  Amount flops = 0, bytes = 0;
  for (const bool wanted : {mask[0], mask[1]}) {
    if (!wanted) continue;
    flops += each;
    bytes += incoming + bytes_of(*conv.input) + bytes_of(*conv.weight);
  }
  if (mask[2]) {
    flops += product(out);
    bytes += Amount(out[1]) * size + (mask[0] || mask[1] ? Amount(0) : incoming);
  }
  return make_work(ComputeKind::matrix, precision_of(conv.input->tensors[0].type), flops, bytes,
                   parameters_of(conv, mask[2]));
}

// convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
// groups, output_mask)
Work backward(const Call& call) {
  std::string unknown;
  const auto conv = read(call, {1, 2, 4, 5, 6, 7, 8, 9}, unknown);
  if (!conv) return unknown_work(unknown);
  const Tensor* incoming = call.tensor(0);
  const auto mask = call.at(10).integers();
  if (incoming == nullptr || incoming->dims.size() != conv->stride.size() + 2) return unknown_work("shapes do not fit");
  if (!mask || mask->size() != 3) return unknown_work("which gradients are wanted is not recorded");
  return gradients(*conv, incoming->dims, {(*mask)[0] != 0, (*mask)[1] != 0, (*mask)[2] != 0});
}

constexpr ConvolutionPlaces kConvolution = {0, 1, 3, 4,
                                            5, 6, 7, 8};  // input, weight, bias, stride, padding, dilation, …
// cudnn_convolution(input, weight, padding, stride, dilation, groups, …)
constexpr ConvolutionPlaces kCudnn = {0, 1, 3, 2, 4, kNone, kNone, 5};
// miopen_convolution(input, weight, bias, padding, stride, dilation, groups, …)
constexpr ConvolutionPlaces kMiopen = {0, 1, 4, 3, 5, kNone, kNone, 6};

constexpr Model kConvolutionModels[] = {
    {"aten::convolution", [](const Call& call) { return forward(call, kConvolution, 2); }},
    {"aten::cudnn_convolution", [](const Call& call) { return forward(call, kCudnn, kNone); }},
    {"aten::miopen_convolution", [](const Call& call) { return forward(call, kMiopen, 2); }},
    {"aten::convolution_backward", backward},
};

}  // namespace

std::span<const Model> convolution_models() { return kConvolutionModels; }

Work convolution_gradients(const Call& call) {
  std::string unknown;
  const auto conv = read(call, kConvolution, unknown);
  if (!conv) return unknown_work(unknown);
  const auto out = output_shape(*conv);
  if (!out) return unknown_work("shapes do not fit");
  return gradients(*conv, *out, {true, true, call.tensor(2) != nullptr});
}

}  // namespace skewscope::efficiency
