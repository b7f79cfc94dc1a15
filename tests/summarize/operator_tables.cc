// The tables of operators: small cases worked out by hand.
#include "skewscope/model/operator_tables.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "hand_made_tables.h"
#include "src/summarize/operators/forward_links.h"

using namespace skewscope;
using skewscope::test::DetailBuilder;
using skewscope::test::row_of;
using skewscope::test::tables_of;

TEST_CASE("direct time is of the rows an operator launched itself, subtree time of all below, each as a union") {
  DetailBuilder b;
  b.op("aten::linear", 0, 100);
  b.op("aten::addmm", 5, 95);
  b.op("aten::copy_", 10, 40);
  const int32_t copy_call = b.call("cudaMemcpyAsync", 20, 30);
  const int32_t first = b.call("cudaLaunchKernel", 50, 60);
  const int32_t second = b.call("cudaLaunchKernel", 70, 80);
  b.gpu(copy_call, "Memcpy DtoD", 100, 110, GpuWork::memcpy);
  b.gpu(first, "gemm", 105, 125, GpuWork::compute, 8);   // overlaps the copy by 5
  b.gpu(second, "split_k", 120, 130, GpuWork::compute);  // overlaps gemm by 5
  const OperatorTables tables = tables_of(b);
  const OperatorRow& addmm = row_of(tables.operators, "aten::addmm");
  CHECK(addmm.calls == 1);
  CHECK(addmm.launches == 1);
  CHECK(addmm.direct_ns == 25'000);
  CHECK(addmm.subtree_ns == 30'000);
  CHECK(addmm.device_self_ns == 30'000);  // plain sum
  CHECK(addmm.device_total_ns == 40'000);
  CHECK(addmm.host_total_ns == 90'000);
  CHECK(addmm.host_self_ns == 40'000);  // less 30 of copy_, 10 and 10 of the calls
  CHECK(addmm.categories == std::vector<std::string>{"GEMM"});
  const OperatorRow& linear = row_of(tables.operators, "aten::linear");
  CHECK(linear.launches == 0);
  CHECK(linear.direct_ns == 0);
  CHECK(linear.device_self_ns == 0);
  CHECK(linear.device_total_ns == 40'000);
  const OperatorRow& copies = row_of(tables.operators, "aten::copy_");
  CHECK(copies.direct_ns == 10'000);
  CHECK(copies.share == Approx(10.0 / 35));
}

TEST_CASE("orphans stand in the category of their kernel's name, and nowhere when only linked rows count") {
  DetailBuilder b;
  b.op("aten::mm", 0, 20);
  const int32_t call = b.call("cudaLaunchKernel", 5, 10);
  b.gpu(-1, "void at::native::vectorized_elementwise_kernel<4>", 0, 7);
  b.gpu(call, "gemm", 30, 40);
  OperatorTables all = tables_of(b);
  REQUIRE(all.categories.size() == 2);
  CHECK(all.categories[0].category == "GEMM");
  CHECK(all.categories[0].direct_ns == 10'000);
  CHECK(all.categories[1].category == "elementwise");
  CHECK(all.categories[1].count == 1);
  CHECK(all.categories[1].direct_ns == 7'000);
  REQUIRE(all.kernels.size() == 2);
  CHECK(all.kernels[1].launcher.empty());
  OperatorOptions linked;
  linked.linked_only = true;
  const OperatorTables tables = tabulate_operators(b.trace, b.detail, b.strings, linked);
  REQUIRE(tables.categories.size() == 1);
  CHECK(tables.categories[0].category == "GEMM");
  CHECK(tables.kernels.size() == 1);
}

TEST_CASE("communication rows count in the subtree of what launched them, not in direct time or as launchers") {
  DetailBuilder b;
  b.op("c10d::allreduce_", 0, 50);
  const int32_t copy_call = b.call("cudaMemcpyAsync", 1, 2);
  const int32_t call = b.call("cudaLaunchKernel", 10, 20);
  b.gpu(copy_call, "Memcpy DtoD", 30, 40, GpuWork::memcpy);
  b.gpu(call, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 50, 90, GpuWork::communication);
  const OperatorTables tables = tables_of(b);
  const OperatorRow& row = row_of(tables.operators, "c10d::allreduce_");
  CHECK(row.direct_ns == 10'000);
  CHECK(row.subtree_ns == 50'000);
  CHECK(row.device_total_ns == 50'000);
}

TEST_CASE("calls with equal arguments share a row, with statistics over instances and per kernel position") {
  DetailBuilder b;
  const double lengths[] = {10, 14, 30};
  for (int i = 0; i < 3; ++i) {
    const int32_t op = b.op("aten::mm", i * 100, i * 100 + 50);
    b.arguments(op, "[[8, 16], [16, 4]]", "[\"float\", \"float\"]");
    const int32_t fill = b.call("cudaMemsetAsync", i * 100 + 5, i * 100 + 6);
    const int32_t call = b.call("cudaLaunchKernel", i * 100 + 10, i * 100 + 20);
    b.gpu(fill, "Memset (Device)", 1000 + i * 100, 1001 + i * 100, GpuWork::memset);
    b.gpu(call, "gemm", 1010 + i * 100, 1010 + i * 100 + lengths[i]);
  }
  const int32_t other = b.op("aten::mm", 400, 450);
  b.arguments(other, "[[8, 16], [16, 8]]", "[\"float\", \"float\"]");
  b.gpu(b.call("cudaLaunchKernel", 410, 420), "gemm", 2000, 2001);
  const OperatorTables tables = tables_of(b);
  REQUIRE(tables.arguments.size() == 2);
  const ArgumentsRow& row = tables.arguments[0];
  CHECK(row.arguments.dims == "[[8, 16], [16, 4]]");
  CHECK(row.process_name == "python3");
  CHECK(row.first_place == 0);
  CHECK(row.direct.count == 3);
  CHECK(row.direct.sum_ns == 57'000);
  CHECK(row.direct.min_ns == 11'000);
  CHECK(row.direct.max_ns == 31'000);
  CHECK(row.direct.median_ns == 15'000);
  CHECK(row.direct.mean_ns() == 19'000);
  CHECK(row.direct.deviation_ns == Approx(std::sqrt((64.0 + 16.0 + 144.0) / 2) * 1000));
  REQUIRE(row.kernels.size() == 2);
  CHECK(row.kernels[0].name == "Memset (Device)");
  CHECK(row.kernels[0].time.sum_ns == 3'000);
  CHECK(row.kernels[1].name == "gemm");
  CHECK(row.kernels[1].time.median_ns == 14'000);
  CHECK(tables.arguments[1].direct.count == 1);
}

TEST_CASE("short kernels fall into equal bins from the shortest to the longest, the last with its upper end") {
  DetailBuilder b;
  const int32_t op = b.op("aten::add", 0, 50);
  b.arguments(op, "[[4]]");
  const int32_t call = b.call("cudaLaunchKernel", 10, 20);
  for (const double us : {1.0, 1.5, 2.0, 3.0, 10.0}) b.gpu(call, "add_kernel", 100 + us * 20, 100 + us * 21);
  b.gpu(call, "Memset (Device)", 500, 501, GpuWork::memset);  // no kernel
  OperatorOptions options;
  options.short_kernel_bins = 4;
  const OperatorTables tables = tables_of(b, options);
  REQUIRE(tables.short_bins.size() == 4);
  CHECK(tables.short_bins[0].from_ns == 1000);
  CHECK(tables.short_bins[3].to_ns == 3000);
  std::vector<int64_t> counts;
  for (const ShortBin& bin : tables.short_bins) counts.push_back(bin.count);
  CHECK(counts == std::vector<int64_t>{1, 1, 1, 1});
  REQUIRE(tables.short_kernels.size() == 1);
  CHECK(tables.short_kernels[0].launcher == "aten::add");
  CHECK(tables.short_kernels[0].arguments.dims == "[[4]]");
  CHECK(tables.short_kernels[0].count == 4);
  CHECK(tables.short_kernels[0].sum_ns == 7'500);
}

TEST_CASE("work stands at the outermost operator with known work, and what it does not cover is left over") {
  DetailBuilder b;
  b.op("aten::conv2d", 0, 100);
  b.op("aten::convolution", 5, 95);
  b.op("aten::miopen_convolution", 10, 90);
  const int32_t conv = b.call("hipLaunchKernel", 20, 30);
  b.op("aten::index", 200, 300);  // launches itself, and runs an operator with known work
  const int32_t own = b.call("hipLaunchKernel", 210, 220);
  b.op("aten::copy_", 230, 260);
  const int32_t copy = b.call("hipMemcpyAsync", 240, 250);
  b.op("aten::nonzero", 400, 450);  // unknown work
  const int32_t nonzero = b.call("hipLaunchKernel", 410, 420);
  b.gpu(conv, "conv_kernel", 500, 540);
  b.gpu(own, "index_kernel", 550, 560);
  b.gpu(copy, "Memcpy DtoD", 570, 575, GpuWork::memcpy);
  b.gpu(nonzero, "select_kernel", 580, 600);
  b.gpu(nonzero, "ncclDevKernel_x", 610, 700, GpuWork::communication);
  const OperatorTables tables = tables_of(b);
  REQUIRE(tables.work.size() == 4);
  CHECK(row_of(tables.work, "aten::convolution").known_operator);
  CHECK(row_of(tables.work, "aten::convolution").gpu.sum_ns == 40'000);
  CHECK(row_of(tables.work, "aten::convolution").host.sum_ns == 90'000);
  CHECK(row_of(tables.work, "aten::copy_").gpu.sum_ns == 5'000);
  const WorkRow& left = row_of(tables.work, "aten::index->index_kernel");
  CHECK(left.leftover);
  CHECK(left.gpu.sum_ns == 10'000);
  CHECK(left.host.sum_ns == 100'000);
  CHECK_FALSE(row_of(tables.work, "aten::nonzero").known_operator);
}

TEST_CASE("the kernel of a cat tells the size of its elements; what cat leaves to copies, they stand for") {
  DetailBuilder b;
  const std::string dims = "[[[3, 4], [5, 4]], []]", types = R"(["TensorList", "Scalar"])";
  const int32_t fast = b.op("aten::cat", 0, 50);
  b.arguments(fast, dims, types);
  const int32_t own = b.call("cudaLaunchKernel", 10, 20);
  const int32_t slow = b.op("aten::cat", 100, 150);
  b.arguments(slow, dims, types);
  b.op("aten::copy_", 110, 140);
  const int32_t copy = b.call("cudaLaunchKernel", 120, 130);
  b.gpu(
      own,
      "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, "
      "unsigned int, 2, 64, 64>(…)",
      200, 240);
  b.gpu(copy, "copy_kernel", 300, 310);
  const OperatorTables tables = tables_of(b);
  REQUIRE(tables.work.size() == 2);
  const WorkRow& cat = row_of(tables.work, "aten::cat");
  CHECK(cat.gpu.count == 1);
  CHECK(cat.flops == 0);
  CHECK(cat.bytes == 2 * 2 * (3 * 4 + 5 * 4));
  CHECK(row_of(tables.work, "aten::copy_").gpu.sum_ns == 10'000);
}

TEST_CASE("a backward row belongs to the innermost forward row of its sequence number that started before it") {
  DetailBuilder b;
  const int32_t conv2d = b.op("aten::conv2d", 0, 50);
  const int32_t convolution = b.op("aten::convolution", 10, 40);
  const int32_t node = b.op("autograd::engine::evaluate_function: ConvolutionBackward0", 100, 150, 1);
  const int32_t alone = b.op("AddBackward0", 160, 170, 1);
  const int32_t later = b.op("aten::conv2d", 200, 250);
  b.sequence(conv2d, 5);
  b.sequence(convolution, 5);
  b.sequence(later, 5);
  b.sequence(node, 5, 1);
  b.sequence(alone, 6, 1);
  b.finish();
  const std::vector<int32_t> forward = summarize::forward_rows(b.detail.host);
  CHECK(forward[b.row(node)] == static_cast<int32_t>(b.row(convolution)));
  CHECK(forward[b.row(alone)] == -1);
  CHECK(forward[b.row(conv2d)] == -1);
}

TEST_CASE("a module has the rows launched in its calls, and those that backward launched for its operators") {
  DetailBuilder b;
  b.python("nn.Module: Sequential_0", 0, 100);
  b.python("nn.Module: Linear_0", 10, 60);
  const int32_t mm = b.op("aten::mm", 20, 50);
  b.sequence(mm, 3);
  const int32_t call = b.call("cudaLaunchKernel", 30, 40);
  const int32_t node = b.op("autograd::engine::evaluate_function: MmBackward0", 200, 250, 1);
  b.sequence(node, 3, 1);
  const int32_t backward = b.call("cudaLaunchKernel", 210, 220, 1);
  b.gpu(call, "gemm", 300, 310);
  b.gpu(backward, "gemm", 320, 350);
  const OperatorTables tables = tables_of(b);
  for (const char* name : {"Sequential_0", "Linear_0"}) {
    CHECK(row_of(tables.modules, name).gpu_ns == 10'000);
    CHECK(row_of(tables.modules, name).backward_gpu_ns == 30'000);
  }
  CHECK(row_of(tables.modules, "Sequential_0").host_self_ns == 50'000);
  CHECK(row_of(tables.modules, "Sequential_0").host_total_ns == 100'000);
}

TEST_CASE("what checkpointing runs again counts for the modules it runs in, not as backward of who asked for it") {
  DetailBuilder b;
  b.python("nn.Module: Relu_0", 0, 20);
  const int32_t relu = b.op("aten::relu", 5, 15);
  b.sequence(relu, 9);
  const int32_t node = b.op("autograd::engine::evaluate_function: ReluBackward0", 100, 200, 1);
  b.sequence(node, 9, 1);
  b.python("torch/utils/checkpoint.py(1500): recompute_fn", 110, 150, 1);
  b.python("nn.Module: Linear_0", 115, 145, 1);
  b.op("aten::mm", 120, 140, 1);
  const int32_t again = b.call("cudaLaunchKernel", 125, 130, 1);
  b.gpu(again, "gemm", 300, 340);
  const OperatorTables tables = tables_of(b);
  CHECK(row_of(tables.modules, "Linear_0").gpu_ns == 40'000);
  CHECK(row_of(tables.modules, "Relu_0").backward_gpu_ns == 0);
  REQUIRE(tables.categories.size() == 1);
  CHECK(tables.categories[0].recompute);
}

TEST_CASE("an annotation has the rows launched within it; one on the GPU its own ranges") {
  DetailBuilder b;
  b.annotation("forward", 0, 50);
  b.annotation("forward", 60, 100);
  const int32_t call = b.call("cudaLaunchKernel", 10, 20);
  b.gpu(call, "kernel", 200, 230);
  b.detail.gpu_annotations = {{LocalNs{200'000}, LocalNs{210'000}}, {30'000, 5'000}, {}, {0, 0}, {7, 7}};
  b.detail.gpu_annotations.name.assign(2, b.strings.intern("forward"));
  const OperatorTables tables = tables_of(b);
  REQUIRE(tables.annotations.size() == 2);
  CHECK_FALSE(tables.annotations[0].on_gpu);
  CHECK(tables.annotations[0].count == 2);
  CHECK(tables.annotations[0].total_ns == 90'000);
  CHECK(tables.annotations[0].gpu_ns == 30'000);
  CHECK(tables.annotations[1].on_gpu);
  CHECK(tables.annotations[1].total_ns == 35'000);
  CHECK(tables.annotations[1].gpu_ns == 30'000);
}

TEST_CASE("nested compiled regions are graph breaks, and a frame with several compile ids was recompiled") {
  DetailBuilder b;
  b.op("TorchDynamo Cache Lookup", 0, 5);
  b.op("Torch-Compiled Region: 0/0", 10, 100);
  b.op("Torch-Compiled Region: 1/0", 40, 60);  // after a graph break in frame 0
  b.op("TorchDynamo Cache Lookup", 110, 118);
  b.op("Torch-Compiled Region: 0/1", 120, 200);
  b.op("## Call CompiledFxGraph fab123 ##", 130, 190);
  b.annotation("compile_fx_inner (dynamo_timed)", 300, 350);
  b.op("triton_poi_fused_add_0", 140, 160);
  const int32_t inductor = b.call("cuLaunchKernel", 145, 150);
  const int32_t own = b.call("cuLaunchKernel", 170, 175);
  b.gpu(inductor, "triton_poi_fused_add_0", 400, 410);
  b.gpu(own, "_fwd_kernel", 420, 440);
  const OperatorTables tables = tables_of(b);
  REQUIRE(tables.regions.size() == 3);
  CHECK(tables.regions[0].recompiled);  // 0/0
  CHECK(tables.regions[1].recompiled);  // 0/1
  CHECK(tables.regions[1].gpu_ns == 30'000);
  CHECK_FALSE(tables.regions[2].recompiled);  // 1/0
  CHECK(tables.regions[2].nested == 1);
  CHECK(tables.regions[2].outer == std::vector<std::string>{"Torch-Compiled Region: 0/0"});
  const CompileEventRow& lookups = row_of(tables.compile_events, "TorchDynamo Cache Lookup");
  CHECK(lookups.event == CompileEvent::cache_lookup);
  CHECK(lookups.count == 2);
  CHECK(lookups.host_ns == 13'000);
  CHECK(row_of(tables.compile_events, "compile_fx_inner (dynamo_timed)").event == CompileEvent::compilation);
  CHECK(row_of(tables.compile_events, "## Call CompiledFxGraph fab123 ##").gpu_ns == 30'000);
  CHECK(row_of(tables.triton, "triton_poi_fused_add_0").by_compiler);
  CHECK_FALSE(row_of(tables.triton, "_fwd_kernel").by_compiler);
}

TEST_CASE("parts of compilation that lie within each other, or run beside each other, are one time") {
  DetailBuilder b;
  b.annotation("_compile.compile_inner (dynamo_timed)", 0, 800);
  b.annotation("OutputGraph.call_user_compiler (dynamo_timed)", 100, 700);
  b.annotation("compile_fx_inner (dynamo_timed)", 200, 600);
  b.annotation("compile_fx_inner (dynamo_timed)", 300, 400);
  b.annotation("_compile.compile_inner (dynamo_timed)", 900, 1000);
  b.op("Torch-Compiled Region: 0/0", 1000, 2000);
  const OperatorTables tables = tables_of(b);
  CHECK(tables.compiling_ns == 900'000);
  CHECK(row_of(tables.compile_events, "compile_fx_inner (dynamo_timed)").host_ns == 500'000);
}

TEST_CASE("the plain region names of before PyTorch 2.5 have no ids and tell no recompilation") {
  DetailBuilder b;
  b.op("Torch-Compiled Region", 0, 10);
  const OperatorTables tables = tables_of(b);
  REQUIRE(tables.regions.size() == 1);
  CHECK(tables.regions[0].frame == -1);
  CHECK_FALSE(tables.regions[0].recompiled);
}

TEST_CASE("rows of a graph replay are attributed to their launch") {
  DetailBuilder b;
  const int32_t first = b.call("cudaGraphLaunch", 0, 10);
  const int32_t second = b.call("cudaGraphLaunch", 20, 35);
  b.call("cudaGraphLaunch", 40, 45);  // of an empty graph
  for (const int32_t launch : {first, second}) {
    const double at = launch == first ? 100 : 200;
    b.gpu(launch, "gemm", at, at + 10);
    b.gpu(launch, "relu", at + 5, at + 20, GpuWork::compute, 8);
  }
  const OperatorTables tables = tables_of(b);
  REQUIRE(tables.graphs.size() == 2);
  CHECK(tables.graphs[0].gpu_rows == 0);
  CHECK(tables.graphs[1].gpu_rows == 2);
  CHECK(tables.graphs[1].launches == 2);
  CHECK(tables.graphs[1].host_ns == 25'000);
  CHECK(tables.graphs[1].sum_ns == 50'000);
  CHECK(tables.graphs[1].busy_ns == 40'000);
}

TEST_CASE("equal collectives of a rank share a row") {
  DetailBuilder b;
  for (int i = 0; i < 2; ++i) {
    CollectiveCall call;
    call.start = LocalNs{i * 1000};
    call.duration_ns = 100 + i * 50;
    call.stream = 4;
    call.dtype = DType::bfloat16;
    call.in_elements = call.out_elements = 20;
    b.trace.calls.push_back(call);
    CallDetails& details = b.detail.calls;
    details.name.push_back(b.strings.intern("allreduce"));
    details.dtype.push_back(b.strings.intern("BFloat16"));
    details.group_name.push_back(b.strings.intern("0"));
    details.group_ranks.push_back(b.strings.intern("[0, 1]"));
    details.group_size.push_back(2);
    details.in_split.push_back(StringId());
    details.out_split.push_back(StringId());
  }
  const OperatorTables tables = tables_of(b);
  REQUIRE(tables.collectives.size() == 1);
  CHECK(tables.collectives[0].name == "allreduce");
  CHECK(tables.collectives[0].in_bytes == 40);
  CHECK(tables.collectives[0].time.count == 2);
  CHECK(tables.collectives[0].time.sum_ns == 250);
}

TEST_CASE("a trace without host rows has only what its GPU rows tell") {
  DetailBuilder b;
  b.gpu(-1, "gemm", 0, 10);
  const OperatorTables tables = tables_of(b);
  CHECK(tables.operators.empty());
  CHECK(tables.work.empty());
  CHECK(tables.kernels.size() == 1);
}

TEST_CASE("tables that are not asked for are not made") {
  DetailBuilder b;
  b.annotation("step", 0, 30);
  b.op("aten::mm", 0, 20);
  b.gpu(b.call("cudaGraphLaunch", 5, 10), "gemm", 30, 35);
  OperatorOptions none{false, false, false, false, false, false, false, false};
  const OperatorTables tables = tables_of(b, none);
  CHECK(tables.operators.empty());
  CHECK(tables.kernels.empty());
  CHECK(tables.work.empty());
  CHECK(tables.annotations.empty());
  CHECK(tables.graphs.empty());
}
