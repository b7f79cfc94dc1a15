// Every cell of the tables that TraceLens (0.1.0) wrote of four real traces, beside ours over linked rows. TraceLens
// calculates in doubles of microseconds: an end at 1e12 us is exact to 0.25 ns, so that each GPU row of a sum may be
// off by a nanosecond.
//
//   gpu_timeline                                        RankSummary
//   ops_summary_by_category, ops_summary                OperatorTables::categories, operators
//   ops_unique_args, unified_perf_summary               arguments, work
//   kernel_summary, short_kernel_histogram, -s_summary  kernels, short_bins, short_kernels
//   coll_analysis                                       collectives
//   GEMM, CONV_fwd, CONV_bwd, SDPA_fwd, Unary- and      every run of the operators, by TraceLens' parameters: our
//   BinaryElementwise, Reduce_fwd, Reduce_bwd,          parameters and what it repeats of the arguments
//   Normalization                                       (tracelens_parameters.h)
//
// A file or a column that nothing compares fails the test, and so does an exception that no cell needs.
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "../real_trace_folder.h"
#include "tracelens.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

void compare_all(const std::string& name, const std::string& file, int64_t unlinked_fills, int64_t custom_communication,
                 int64_t cells, const std::vector<Exception>& exceptions) {
  const std::string folder = traces("expected/tracelens/" + name), files = traces("single/tracelens");
  if (folder.empty() || files.empty()) return;
  const TraceLensView view = tracelens_view(files + "/" + file + ".json.gz");
  CHECK(view.unlinked_fills == unlinked_fills);
  CHECK(view.custom_communication == custom_communication);
  Comparison comparison(folder, exceptions);
  compare_timeline(comparison, view);
  compare_categories(comparison, view);
  compare_operators(comparison, view);
  compare_arguments(comparison, view);
  compare_kernels(comparison, view);
  compare_short_kernels(comparison, view);
  compare_collectives(comparison, view);
  compare_work(comparison, view);
  compare_modelled(comparison, view);
  CHECK(comparison.cells() >= cells);
}

using Exceptions = std::vector<Exception>;

const char* const kNoModel = "TraceLens has no model of it";
const char* const kReduced = "TraceLens takes every reduction to give one element";
const char* const kInvented = "TraceLens counts rows that it made up after the last event";
const char* const kNoSize = "bool has no size in TraceLens";

using Texts = std::vector<std::string>;

Exceptions in_columns(const Texts& tables, const Texts& columns, const Texts& operators, const std::string& reason) {
  Exceptions exceptions;
  for (const std::string& table : tables) {
    for (const std::string& column : columns) {
      for (const std::string& name : operators) exceptions.push_back({table, column, name, reason});
    }
  }
  return exceptions;
}

const Texts kUnified = {"unified_perf_summary"};

// Operators whose work only we know.
Exceptions only_ours(const Texts& operators) {
  return in_columns(kUnified,
                    {"GFLOPS", "Data Moved", "FLOPS/Byte", "TB/s", "TFLOPS/s", "has_perf_model", "perf_params"},
                    operators, kNoModel);
}

Exceptions other_bytes(const Texts& tables, const Texts& operators, const std::string& reason) {
  return in_columns(tables, {"Data Moved", "FLOPS/Byte", "TB/s"}, operators, reason);
}

// A parameter as both kinds of table name it.
Exceptions other_parameter(const std::string& table, const std::string& parameter, const Texts& operators,
                           const std::string& reason) {
  Exceptions exceptions = in_columns({table}, {"param: " + parameter}, operators, reason);
  const Exceptions unified = in_columns(kUnified, {"perf_params " + parameter}, operators, reason);
  exceptions.insert(exceptions.end(), unified.begin(), unified.end());
  return exceptions;
}

Exceptions joined(const std::vector<Exceptions>& lists) {
  Exceptions all;
  for (const Exceptions& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Exceptions of_qwen() {
  return joined(
      {other_bytes({"unified_perf_summary", "Reduce_fwd"}, {"aten::mean "}, kReduced),
       other_parameter("Reduce_fwd", "num_output_elems", {"aten::mean "}, kReduced),
       only_ours({"aten::all ", "aten::cos ", "aten::sin ", "aten::eq ", "aten::cat ", "aten::index_select "}),
       in_columns(kUnified, {"Compute Spec"}, {"aten::cos ", "aten::sin ", "aten::index_select "}, kNoModel)});
}

}  // namespace

TEST_CASE("every folder of TraceLens' tables is compared") {
  const std::string folder = traces("expected/tracelens");
  if (folder.empty()) return;
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename().string());
  CHECK(names == std::set<std::string>{"h100_qwen", "mi300_qwen", "b200_vllm_eager", "mi300_resnet_checkpoint"});
}

TEST_CASE("h100_qwen and mi300_qwen have TraceLens' tables") {
  compare_all(
      "h100_qwen", "h100_qwen", 0, 0, 4300,
      joined({of_qwen(), other_parameter("GEMM", "transpose", {"aten::mm ", "aten::addmm ", "aten::bmm "},
                                         "TraceLens reads it from the names of Tensile's and nvjet's kernels")}));
  compare_all("mi300_qwen", "mi300_qwen", 0, 0, 4300, of_qwen());
}

TEST_CASE("b200_vllm_eager has TraceLens' tables") {
  const Texts ours = {"_C::fused_add_rms_norm ", "_C::rotary_embedding ",        "aten::fill_ ", "aten::masked_fill_ ",
                      "_C::rms_norm ",           "_C::static_scaled_fp8_quant ", "aten::gather "};
  compare_all(
      "b200_vllm_eager", "b200_rank0of8_vllm_eager", 0, 73, 4000,
      joined(
          {{{"kernel_summary", "Parent op category", "cuLaunchKernelEx|",
             "one category per launcher: a call is `other`, as in TraceLens' own ops_summary"},
            {"coll_analysis", "row", "all_reduce|",
             "collectives of symmetric memory have no group in the trace; TraceLens drops what lacks a key"}},
           only_ours(ours),
           only_ours({"aten::sub "}),
           in_columns(kUnified, {"Compute Spec"}, ours, kNoModel),
           other_bytes({"unified_perf_summary", "UnaryElementwise"}, {"\"bool\""}, kNoSize),
           in_columns(kUnified, {"GFLOPS", "Data Moved", "TB/s", "TFLOPS/s", "perf_params"}, {"triton_poi_fused_add_"},
                      "TraceLens guesses the work of generated code by its name, with 0 bytes"),
           in_columns(kUnified, {"ex_UID"}, {"cuLaunchKernelEx->", "aten::index->"}, kInvented)}));
}

TEST_CASE("mi300_resnet_checkpoint has TraceLens' tables, told apart by what checkpointing runs again") {
  const char* const kStem = "[10,64,112,112],[10,3,224,224],[64,3,7,7]";
  const char* const kUnwanted = "output_mask wants no gradient of the input; TraceLens counts it all the same";
  const Texts work = {"GFLOPS", "TFLOPS/s", "Data Moved", "TB/s"};
  compare_all(
      "mi300_resnet_checkpoint", "mi300_rank0of8_resnet_checkpoint", 81, 0, 17500,
      joined(
          {other_bytes({"unified_perf_summary", "Reduce_fwd"}, {"aten::mean ", "aten::sum "}, kReduced),
           other_parameter("Reduce_fwd", "num_output_elems", {"aten::mean ", "aten::sum "}, kReduced),
           other_bytes({"Reduce_bwd"}, {"aten::mean "}, "TraceLens prices the gradient as its forward, reduced to one"),
           in_columns({"Reduce_bwd"}, {"param: num_output_elems"}, {"aten::mean "}, kReduced),
           other_bytes({"unified_perf_summary", "Normalization"}, {"aten::native_batch_norm_backward "},
                       "the saved statistics are float and both parameter gradients are written"),
           other_parameter("Normalization", "output_mask", {"aten::native_batch_norm_backward "},
                           "TraceLens keeps the first of the three flags"),
           other_parameter("CONV_bwd", "bias", {"aten::convolution_backward "},
                           "TraceLens prints the empty shape it takes [0] for"),
           other_bytes({"unified_perf_summary", "BinaryElementwise"}, {"aten::div "},
                       "an expanded dimension (stride 0) is read once, a scalar not at all"),
           in_columns(kUnified, work, {kStem}, kUnwanted),
           in_columns({"CONV_bwd"}, work, {"filter_shape=[64,3,7,7]"}, kUnwanted),
           {{"CONV_fwd", "row", "aten::miopen_convolution", "TraceLens prices the operator that calls it only"}},
           in_columns({"UnaryElementwise"}, {"Compute Spec"}, {"\"unsigned char\""}, "bytes are no fp8"),
           only_ours({"aten::fill_ "}),
           in_columns(kUnified, {"Compute Spec"}, {"aten::fill_ "}, kNoModel),
           only_ours({"aten::cat ", "aten::max_pool2d_with_indices ", "aten::max_pool2d_with_indices_backward ",
                      "aten::mse_loss_backward "}),
           in_columns(kUnified, {"has_perf_model"}, {"aten::_foreach_add_ "}, kNoModel),
           in_columns(kUnified, {"Compute Spec"},
                      {"aten::max_pool2d_with_indices ", "aten::max_pool2d_with_indices_backward ",
                       "aten::mse_loss_backward "},
                      kNoModel),
           in_columns(kUnified, {"ex_UID"}, {"aten::mse_loss->"}, kInvented)}));
}
