// Every cell of the tables that TraceLens (0.1.0) wrote of four real traces, beside ours over linked rows. TraceLens
// calculates in doubles of microseconds: an end at 1e12 us is exact to 0.25 ns, so that each GPU row of a sum may be
// off by a nanosecond.
#include <catch2/catch.hpp>

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
const char* const kReduced = "TraceLens takes every reduction to give one element (reference, section 8)";
const char* const kInvented = "TraceLens counts rows that it made up after the last event";

Exceptions in_columns(const std::vector<std::string>& columns, const std::vector<std::string>& operators,
                      const std::string& reason) {
  Exceptions exceptions;
  for (const std::string& column : columns) {
    for (const std::string& name : operators) exceptions.push_back({"unified_perf_summary", column, name, reason});
  }
  return exceptions;
}

// Operators whose work only we know.
Exceptions only_ours(const std::vector<std::string>& operators) {
  return in_columns({"GFLOPS", "Data Moved", "FLOPS/Byte", "TB/s", "TFLOPS/s", "has_perf_model"}, operators, kNoModel);
}

Exceptions other_bytes(const std::vector<std::string>& operators, const std::string& reason) {
  return in_columns({"Data Moved", "FLOPS/Byte", "TB/s"}, operators, reason);
}

Exceptions joined(const std::vector<Exceptions>& lists) {
  Exceptions all;
  for (const Exceptions& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace

TEST_CASE("h100_qwen and mi300_qwen have TraceLens' tables") {
  for (const char* trace : {"h100_qwen", "mi300_qwen"}) {
    compare_all(trace, trace, 0, 0, 3000,
                joined({other_bytes({"aten::mean "}, kReduced),
                        only_ours({"aten::all ", "aten::cos ", "aten::sin ", "aten::eq "}),
                        in_columns({"Compute Spec"}, {"aten::cos ", "aten::sin "}, kNoModel)}));
  }
}

TEST_CASE("b200_vllm_eager has TraceLens' tables") {
  const std::vector<std::string> ours = {"_C::fused_add_rms_norm ", "_C::rotary_embedding ", "aten::fill_ ",
                                         "aten::masked_fill_ ", "_C::rms_norm "};
  compare_all(
      "b200_vllm_eager", "b200_rank0of8_vllm_eager", 0, 73, 3000,
      joined({{{"kernel_summary", "Parent op category", "cuLaunchKernelEx|",
                "one category per launcher: a call is `other`, as in TraceLens' own ops_summary"},
               {"coll_analysis", "row", "all_reduce|",
                "collectives of symmetric memory have no group in the trace; TraceLens drops what lacks a key"}},
              only_ours(ours),
              only_ours({"aten::sub "}),
              in_columns({"Compute Spec"}, ours, kNoModel),
              other_bytes({"\"bool\""}, "bool has no size in TraceLens (reference, section 8)"),
              in_columns({"has_perf_model"}, {"vllm::unified_attention_with_output "},
                         "TraceLens' model gives no figure: the shapes of paged attention are not recorded"),
              in_columns({"GFLOPS", "Data Moved", "TB/s", "TFLOPS/s", "has_perf_model"}, {"triton_poi_fused_add_"},
                         "TraceLens guesses the work of generated code by its name, with 0 bytes"),
              in_columns({"ex_UID"}, {"cuLaunchKernelEx->", "aten::index->"}, kInvented)}));
}

TEST_CASE("mi300_resnet_checkpoint has TraceLens' tables, told apart by what checkpointing runs again") {
  compare_all(
      "mi300_resnet_checkpoint", "mi300_rank0of8_resnet_checkpoint", 81, 0, 10000,
      joined({other_bytes({"aten::mean ", "aten::sum "}, kReduced),
              other_bytes({"aten::native_batch_norm_backward "},
                          "the saved statistics are float and both parameter gradients are written"),
              other_bytes({"aten::div "}, "an expanded dimension (stride 0) is read once, a scalar not at all"),
              in_columns({"GFLOPS", "TFLOPS/s", "Data Moved", "TB/s"}, {"[[10,64,112,112],[10,3,224,224],[64,3,7,7]"},
                         "output_mask wants no gradient of the input; TraceLens counts it all the same"),
              only_ours({"aten::fill_ "}),
              in_columns({"Compute Spec"}, {"aten::fill_ "}, kNoModel),
              in_columns({"row"}, {"aten::max_pool2d_with_indices_backward", "aten::fill_ "},
                         "the fill within has a row of its own, as its work is known to us"),
              in_columns({"ex_UID"}, {"aten::mse_loss->"}, kInvented),
              {{"Reduce_bwd", "", "aten::mean", "a part of the rows of Reduce_fwd, once more"}}}));
}
