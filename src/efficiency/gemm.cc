// Matrix products. An M x K by K x N product is 2MNK FLOPs (a multiply and an add each), a bias one more per output
// element; each matrix crosses memory once.
#include <fmt/format.h>

#include "gradients.h"
#include "models.h"
#include "scalar_type.h"

namespace skewscope::efficiency {
namespace {

struct Product {
  Amount batch = 1, m = 0, n = 0, k = 0;
  const Argument* a = nullptr;
  const Argument* b = nullptr;
  const Argument* bias = nullptr;  // null: none
  Amount output_size = 0;          // bytes of an element of the result
};

Work work_of_product(const Product& product, bool show_batch = true) {
  const Amount outputs = product.batch * product.m * product.n;
  Amount flops = 2 * outputs * product.k;
  Amount bytes = bytes_of(*product.a) + bytes_of(*product.b) + outputs * product.output_size;
  if (product.bias != nullptr) {
    flops += outputs;
    bytes += bytes_of(*product.bias);
  }
  const auto number = [](const Amount& amount) { return fmt::format("{}", amount.value().value_or(-1)); };
  std::vector<Parameter> parameters;
  if (show_batch) parameters.push_back({"B", number(product.batch)});
  parameters.insert(parameters.end(), {{"M", number(product.m)},
                                       {"N", number(product.n)},
                                       {"K", number(product.k)},
                                       {"bias", text(product.bias != nullptr)},
                                       {"stride_A", text(product.a->tensors[0].strides)},
                                       {"stride_B", text(product.b->tensors[0].strides)},
                                       {"dtype_A_B", product.a->type + ", " + product.b->type}});
  Precision precision = precision_of(product.a->tensors[0].type);
  if (precision == Precision::integer) precision = Precision::int8;
  return make_work(ComputeKind::matrix, precision, flops, bytes, std::move(parameters));
}

// The bias at this place; none where there is no tensor, and where beta is 0, as then it is not read.
const Argument* bias_at(const Call& call, size_t place, size_t beta_place) {
  return call.tensor(place) == nullptr || call.at(beta_place).number() == 0.0 ? nullptr : &call.at(place);
}

// [B,] M x K by [B,] K x N, at consecutive places.
Work plain_product(const Call& call, size_t first, const Argument* bias, size_t rank, Amount output_size) {
  const Tensor* a = call.tensor(first);
  const Tensor* b = call.tensor(first + 1);
  if (a == nullptr || b == nullptr) return unknown_work("an operand is no tensor");
  if (a->dims.size() != rank || b->dims.size() != rank) return unknown_work("shapes of another rank");
  if (a->dims[rank - 1] != b->dims[rank - 2] || (rank == 3 && a->dims[0] != b->dims[0])) {
    return unknown_work("shapes do not fit");
  }
  return work_of_product({.batch = rank == 3 ? a->dims[0] : 1,
                          .m = a->dims[rank - 2],
                          .n = b->dims[rank - 1],
                          .k = a->dims[rank - 1],
                          .a = &call.at(first),
                          .b = &call.at(first + 1),
                          .bias = bias,
                          .output_size = std::move(output_size)});
}

Work mm(const Call& call) { return plain_product(call, 0, nullptr, 2, element_size(call.at(0))); }
Work bmm(const Call& call) { return plain_product(call, 0, nullptr, 3, element_size(call.at(0))); }
Work int_mm(const Call& call) { return plain_product(call, 0, nullptr, 2, element_bytes(DType::int32)); }
Work addmm(const Call& call) { return plain_product(call, 1, bias_at(call, 0, 3), 2, element_size(call.at(1))); }
Work baddbmm(const Call& call) { return plain_product(call, 1, bias_at(call, 0, 3), 3, element_size(call.at(1))); }

// _scaled_mm(a, b, scale_a, scale_b, bias, scale_result, out_dtype): the result has its own type.
Work scaled_mm(const Call& call) {
  const auto number = call.at(6).integer();
  const int64_t given = number ? element_bytes(dtype_of_number(*number)) : 0;
  const Argument* bias = call.tensor(4) == nullptr ? nullptr : &call.at(4);
  return plain_product(call, 0, bias, 2, given == 0 ? element_size(call.at(0)) : Amount(given));
}

// TensorRT-LLM's cublas_scaled_mm(a, b, scale_a, scale_b, bias, out_dtype, …)
Work scaled_mm_of_trtllm(const Call& call) {
  const auto number = call.at(5).integer();
  const int64_t given = number ? element_bytes(dtype_of_number(*number)) : 0;
  return plain_product(call, 0, bias_at(call, 4, kNone), 2, given == 0 ? element_size(call.at(0)) : Amount(given));
}

// vLLM's cutlass_scaled_mm(out, a, b, a_scales, b_scales, bias), dsv3_fused_a_gemm(out, a, b): the result comes first.
Work product_into(const Call& call) {
  return plain_product(call, 1, bias_at(call, 5, kNone), 2, element_size(call.at(0)));
}

// addmv(self, matrix, vector, beta, alpha): a product with one column.
Work matrix_vector(const Call& call) {
  const Tensor* matrix = call.tensor(1);
  const Tensor* vector = call.tensor(2);
  if (matrix == nullptr || vector == nullptr) return unknown_work("an operand is no tensor");
  if (matrix->dims.size() != 2 || vector->dims.size() != 1) return unknown_work("shapes of another rank");
  if (matrix->dims[1] != vector->dims[0]) return unknown_work("shapes do not fit");
  return work_of_product({.batch = 1,
                          .m = matrix->dims[0],
                          .n = 1,
                          .k = matrix->dims[1],
                          .a = &call.at(1),
                          .b = &call.at(2),
                          .bias = bias_at(call, 0, 3),
                          .output_size = element_size(call.at(1))});
}

// Activations [..., M, K] by weights stored as N rows of K; the result is among the arguments, or its type is not
// known. packed: values in each recorded element, two of four bits in a byte.
Work weights_by_row(const Call& call, int64_t packed, const std::optional<Amount>& output_size = std::nullopt) {
  const Tensor* a = call.tensor(0);
  const Tensor* b = call.tensor(1);
  if (a == nullptr || b == nullptr || a->dims.empty()) return unknown_work("an operand is no tensor");
  const int64_t row = a->dims.back();
  const auto a_elements = elements(*a).value();
  const auto b_elements = elements(*b).value();
  if (row == 0 || !a_elements || !b_elements || *b_elements % row != 0) return unknown_work("shapes do not fit");
  Product product{.batch = 1,
                  .m = *a_elements / row,
                  .n = *b_elements / row,
                  .k = Amount(row) * packed,
                  .a = &call.at(0),
                  .b = &call.at(1)};
  product.output_size = output_size.value_or(Amount::unknown("type of the result not recorded"));
  const int64_t outputs = (product.m * product.n).value().value_or(-1);
  for (size_t at = 2; at < call.arguments.size() && !output_size; ++at) {
    const Tensor* other = call.tensor(at);
    if (other != nullptr && other->dims.size() > 1 && elements(*other).value() == outputs) {
      product.output_size = element_size(call.at(at));
    }
  }
  Work work = work_of_product(product);
  if (packed > 1) work.precision = Precision::fp4;
  return work;
}

Work by_row(const Call& call) { return weights_by_row(call, 1); }
// bitsandbytes' int8_linear_matmul(a, b) gives int32.
Work int8_by_row(const Call& call) { return weights_by_row(call, 1, element_bytes(DType::int32)); }
Work packed_fp4(const Call& call) { return weights_by_row(call, 2); }

// Rows of a, grouped, each by its group's matrix: [M, K] by [G, ...] of G * K * N elements; or the gradient of the
// weights, [M, K] by [M, N] with one K x N result per group. Which rows are whose does not change the sum.
Work grouped_product(const Call& call) {
  const Tensor* a = call.tensor(0);
  const Tensor* b = call.tensor(1);
  if (a == nullptr || b == nullptr || a->dims.size() != 2) return unknown_work("shapes of another rank");
  const Amount size = element_size(call.at(0));
  Product product{.batch = 1, .m = a->dims[0], .k = a->dims[1], .a = &call.at(0), .b = &call.at(1)};
  product.output_size =
      precision_of(a->type) == Precision::fp8 ? Amount::unknown("type of the result not recorded") : size;
  if (b->dims.size() != 3) return unknown_work("groups of another form");
  const auto b_elements = elements(*b).value();
  const auto rows = (Amount(b->dims[0]) * a->dims[1]).value();
  if (!b_elements || !rows || *rows == 0 || *b_elements % *rows != 0) return unknown_work("shapes do not fit");
  product.n = *b_elements / *rows;
  Work work = work_of_product(product, false);
  work.parameters.insert(work.parameters.begin(), {"G", fmt::format("{}", b->dims[0])});
  return work;
}

// The gradients of a product: dA = dC by B', dB = A' by dC, each as much work as the product itself.
Work product_gradients(const Call& call, size_t first, size_t rank) {
  Work forward = plain_product(call, first, nullptr, rank, element_size(call.at(first)));
  if (!forward.flops || !forward.bytes) return forward;
  return make_work(forward.compute, forward.precision, 2 * Amount(*forward.flops), 2 * Amount(*forward.bytes),
                   forward.parameters);
}

constexpr Model kGemmModels[] = {
    {"aten::mm", mm},
    {"aten::bmm", bmm},
    {"aten::_int_mm", int_mm},
    {"aten::addmm", addmm},
    {"aten::addmm_", addmm},
    {"aten::_addmm_activation", addmm},
    {"aten::baddbmm", baddbmm},
    {"aten::baddbmm_", baddbmm},
    {"aten::addmv", matrix_vector},
    {"aten::addmv_", matrix_vector},
    {"aten::_scaled_mm", scaled_mm},
    {"trtllm::cublas_scaled_mm", scaled_mm_of_trtllm},
    {"_C::cutlass_scaled_mm", product_into},
    {"_C::dsv3_fused_a_gemm", product_into},
    {"bitsandbytes::int8_linear_matmul", int8_by_row},
    {"aten::_grouped_mm", grouped_product},
    {"aten::_scaled_grouped_mm", grouped_product},
    {"primus_turbo::grouped_gemm", grouped_product},
    {"primus_turbo::grouped_gemm_impl", grouped_product},
    {"primus_turbo_cpp_extension::ck_grouped_gemm", grouped_product},
    {"primus_turbo_cpp_extension::grouped_gemm", grouped_product},
    {"aiter::gemm_a16w16", by_row},
    {"aiter::_gemm_a16w16_asm", by_row},
    {"aiter::gemm_a8w8_ck", by_row},
    {"aiter::gemm_a8w8_bpreshuffle", by_row},
    {"aiter::gemm_a8w8_bpreshuffle_ck", by_row},
    {"aiter::gemm_a8w8_blockscale_ck", by_row},
    {"aiter::gemm_a8w8_blockscale_cktile", by_row},
    {"aiter::gemm_a8w8_blockscale_bpreshuffle_ck", by_row},
    {"aiter::gemm_a8w8_blockscale_bpreshuffle_cktile", by_row},
    {"aiter::flatmm_a8w8_blockscale_asm", by_row},
    {"aiter::gfx950_a8w8_blockscale_asm", by_row},
    {"vllm::rocm_unquantized_gemm", by_row},
    {"aiter::_gemm_a4w4_asm", packed_fp4},
    {"aiter::gemm_a4w4", packed_fp4},
};

}  // namespace

std::span<const Model> gemm_models() { return kGemmModels; }

Work mm_gradients(const Call& call) { return product_gradients(call, 0, 2); }
Work bmm_gradients(const Call& call) { return product_gradients(call, 0, 3); }
Work addmm_gradients(const Call& call) { return product_gradients(call, 1, 2); }

}  // namespace skewscope::efficiency
