// What is around operators: annotations, queries, prologues, the other pass, Python functions, modules. Times
// placed by hand.
#include <algorithm>
#include <catch2/catch.hpp>

#include "hand_made_tables.h"

using namespace skewscope;
using skewscope::test::DetailBuilder;
using skewscope::test::row_of;
using skewscope::test::tables_of;

TEST_CASE("an annotation says how long it takes until its first operator begins, those around it as well") {
  DetailBuilder b;
  b.annotation("step", 0, 100);
  b.annotation("load", 10, 40);
  b.annotation("forward", 50, 90);
  b.op("aten::mm", 57, 80);
  b.op("aten::add", 82, 85);
  b.annotation("forward", 200, 300);
  b.op("aten::mm", 213, 280);
  const OperatorTables tables = tables_of(b);
  const AnnotationRow& forward = row_of(tables.annotations, "forward");
  CHECK(forward.with_operators == 2);
  CHECK(forward.before_first_operator_ns == 7'000 + 13'000);
  CHECK(row_of(tables.annotations, "step").before_first_operator_ns == 57'000);
  CHECK(row_of(tables.annotations, "load").with_operators == 0);
}

TEST_CASE("a launch right after an occupancy query of its operator is adapted to the device, the next one is not") {
  DetailBuilder b;
  b.op("aten::add", 0, 100);
  b.call("cudaOccupancyMaxActiveBlocksPerMultiprocessor", 10, 12);
  const int32_t adapted = b.call("cudaLaunchKernel", 15, 20);
  const int32_t plain = b.call("cudaLaunchKernel", 30, 35);
  b.op("aten::mul", 200, 300);
  b.call("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 210, 212);
  b.op("aten::neg", 400, 500);
  const int32_t other = b.call("cudaLaunchKernel", 410, 420);  // the question was of another operator
  b.gpu(adapted, "adaptive", 600, 610);
  b.gpu(plain, "adaptive", 620, 630);
  b.gpu(other, "elementwise", 640, 650);
  const OperatorTables tables = tables_of(b);
  CHECK(row_of(tables.kernels, "adaptive").count == 2);
  CHECK(row_of(tables.kernels, "adaptive").after_occupancy_query == 1);
  CHECK(row_of(tables.kernels, "elementwise").after_occupancy_query == 0);
}

TEST_CASE("a compiled region pays for the look-up right before it and for the prologue within it") {
  DetailBuilder b;
  b.op("TorchDynamo Cache Lookup", 0, 6);
  b.op("Torch-Compiled Region: 0/0", 10, 100);
  b.op("AOTDispatcher Runtime Wrapper Prologue", 12, 20);
  b.op("## Call CompiledFxGraph fab ##", 25, 90);
  b.op("TorchDynamo Cache Lookup", 110, 114);  // of a frame that runs uncompiled
  b.op("TorchDynamo Cache Lookup", 120, 123);
  b.op("Torch-Compiled Region: 1/0", 130, 200);
  b.op("Pregraph bytecode", 131, 133);
  b.op("Torch-Compiled Region: 0/0", 210, 300);  // nothing looked up
  const OperatorTables tables = tables_of(b);
  const CompiledRegionRow& first = row_of(tables.regions, "Torch-Compiled Region: 0/0");
  CHECK(first.calls == 2);
  CHECK(first.cache_lookup_ns == 6'000);
  CHECK(first.prologue_ns == 8'000);
  const CompiledRegionRow& second = row_of(tables.regions, "Torch-Compiled Region: 1/0");
  CHECK(second.cache_lookup_ns == 3'000);
  CHECK(second.prologue_ns == 2'000);
  CHECK(row_of(tables.compile_events, "Pregraph bytecode").event == CompileEvent::prologue);
}

TEST_CASE("a forward operator is paired with its backward node, with the GPU time of each") {
  DetailBuilder b;
  const int32_t linear = b.op("aten::linear", 0, 50);
  const int32_t addmm = b.op("aten::addmm", 5, 45);
  const int32_t forward_call = b.call("cudaLaunchKernel", 10, 20);
  b.sequence(linear, 3);
  b.sequence(addmm, 3);
  const int32_t engine = b.op("autograd::engine::evaluate_function: AddmmBackward0", 100, 180, 1);
  const int32_t node = b.op("AddmmBackward0", 105, 170, 1);
  b.sequence(engine, 3, 1);
  b.sequence(node, 3, 1);
  const int32_t first = b.call("cudaLaunchKernel", 110, 120, 1);
  const int32_t second = b.call("cudaLaunchKernel", 130, 140, 1);
  b.gpu(forward_call, "gemm", 200, 230);
  b.gpu(first, "gemm", 300, 340);
  b.gpu(second, "gemm", 330, 370);  // overlaps by 10
  const OperatorTables tables = tables_of(b);
  REQUIRE(tables.passes.size() == 1);  // the engine's range and the node are one
  const OperatorPassRow& pair = tables.passes[0];
  CHECK(pair.forward == "aten::addmm");
  CHECK(pair.backward == "AddmmBackward0");
  CHECK(pair.calls == 1);
  CHECK(pair.forward_gpu_ns == 30'000);
  CHECK(pair.backward_gpu_ns == 70'000);
  CHECK(pair.forward_host_ns == 40'000);
  CHECK(pair.backward_host_ns == 80'000);
}

TEST_CASE("launches from one line of the program share a stack, whatever row of the trace they stand in") {
  DetailBuilder b;
  for (const double at : {0.0, 100.0}) {
    b.python("train.py(9): main", at, at + 60);
    b.python("model.py(3): forward", at + 5, at + 50);
    b.op("aten::mm", at + 10, at + 40);
    b.gpu(b.call("cudaLaunchKernel", at + 20, at + 30), "gemm", at + 1000, at + 1007);
  }
  b.python("train.py(9): main", 200, 260);
  b.op("aten::mm", 210, 240);
  b.gpu(b.call("cudaLaunchKernel", 220, 230), "gemm", 2000, 2003);
  const OperatorTables tables = tables_of(b);
  REQUIRE(tables.stacks.size() == 2);
  CHECK(tables.stacks[0].name == "gemm");
  CHECK(tables.stacks[0].launcher == "aten::mm");
  CHECK(tables.stacks[0].stack == "aten::mm\nmodel.py(3): forward\ntrain.py(9): main");
  CHECK(tables.stacks[0].launches == 2);
  CHECK(tables.stacks[0].gpu_ns == 14'000);
  CHECK(tables.stacks[1].stack == "aten::mm\ntrain.py(9): main");
}

TEST_CASE("a module names the module that its first call ran within") {
  DetailBuilder b;
  b.python("nn.Module: Model_0", 0, 100);
  b.python("model.py(3): forward", 5, 95);
  b.python("nn.Module: Linear_0", 10, 40);
  b.python("nn.Module: Linear_1", 50, 90);
  const OperatorTables tables = tables_of(b);
  CHECK(row_of(tables.modules, "Model_0").parent.empty());
  CHECK(row_of(tables.modules, "Linear_0").parent == "Model_0");
  CHECK(row_of(tables.modules, "Linear_1").parent == "Model_0");
}

TEST_CASE("cumulative shares add up from the largest row to all of the time") {
  DetailBuilder b;
  for (const double us : {60.0, 30.0, 10.0}) {
    b.op("op" + std::to_string(static_cast<int>(us)), us * 100, us * 100 + 50);
    b.gpu(b.call("cudaLaunchKernel", us * 100 + 10, us * 100 + 20), "kernel", us * 1000, us * 1001);
  }
  b.finish();
  const OperatorTables tables = tabulate_operators(b.trace, b.detail, b.strings);
  REQUIRE(tables.operators.size() >= 3);
  CHECK(tables.operators[0].cumulative_share == Approx(0.6));
  CHECK(tables.operators[1].cumulative_share == Approx(0.9));
  CHECK(tables.operators[2].cumulative_share == Approx(1.0));
}

TEST_CASE(
    "in traces of PyTorch 1.8 to 1.12 the Python frames are those that the outermost operator has as an argument") {
  DetailBuilder b;
  const int32_t linear = b.op("aten::linear", 0, 40), addmm = b.op("aten::addmm", 5, 35);
  for (const int32_t op : {linear, addmm}) {
    b.arguments(op, "[[8, 16]]");
    b.detail.arguments.back().call_stack = b.strings.intern("model.py(3): forward;train.py(9): main;");
  }
  b.gpu(b.call("cudaLaunchKernel", 10, 20), "gemm", 22, 30);
  b.finish();
  const OperatorTables tables = tabulate_operators(b.trace, b.detail, b.strings);
  REQUIRE(tables.stacks.size() == 1);
  CHECK(tables.stacks[0].stack == "aten::addmm\naten::linear\nmodel.py(3): forward\ntrain.py(9): main");
}
