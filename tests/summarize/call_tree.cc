// The call tree: small cases worked out by hand.
#include "src/summarize/operators/call_tree.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "detail_builder.h"
#include "src/summarize/operators/recompute.h"

using namespace skewscope;
using namespace skewscope::summarize;
using skewscope::test::DetailBuilder;

namespace {

// -1 or the row of `number`.
int32_t row_or_none(const DetailBuilder& b, int32_t number) {
  return number < 0 ? -1 : static_cast<int32_t>(b.row(number));
}

void check_parent(const DetailBuilder& b, const CallTree& tree, int32_t child, int32_t parent) {
  INFO("row " << child << " below " << parent);
  CHECK(tree.parent[b.row(child)] == row_or_none(b, parent));
}

}  // namespace

TEST_CASE("a row's parent is the innermost row of its thread that is around it") {
  DetailBuilder b;
  const int32_t module = b.python("nn.Module: Linear_0", 0, 100);
  const int32_t linear = b.op("aten::linear", 10, 90);
  const int32_t addmm = b.op("aten::addmm", 20, 80);
  const int32_t launch = b.call("cudaLaunchKernel", 30, 40);
  const int32_t next = b.op("aten::relu", 90, 95);  // starts where linear ends
  const int32_t elsewhere = b.op("aten::mul", 20, 30, 1);
  b.finish();
  REQUIRE(check_invariants(b.detail, b.trace).empty());
  const CallTree tree = call_tree(b.detail.host);
  check_parent(b, tree, module, -1);
  check_parent(b, tree, linear, module);
  check_parent(b, tree, addmm, linear);
  check_parent(b, tree, launch, addmm);
  check_parent(b, tree, next, module);
  check_parent(b, tree, elsewhere, -1);
}

TEST_CASE("a row that outlasts every open row hangs on the innermost, and what starts in its overhang is its own") {
  DetailBuilder b;
  const int32_t outer = b.op("outer", 0, 50);
  const int32_t overhanging = b.op("overhanging", 40, 60);
  const int32_t within = b.call("cudaLaunchKernel", 52, 55);
  const int32_t after = b.op("after", 60, 70);
  b.finish();
  const CallTree tree = call_tree(b.detail.host);
  check_parent(b, tree, overhanging, outer);
  check_parent(b, tree, within, overhanging);
  check_parent(b, tree, after, -1);
}

TEST_CASE("a range that one function opens and another closes hangs on what is around both, as do its ends") {
  DetailBuilder b;
  const int32_t train = b.python("train", 0, 100);
  const int32_t enter = b.python("__enter__", 10, 14);
  const int32_t range = b.annotation("step", 12, 50);
  const int32_t op = b.op("aten::mm", 20, 40);
  const int32_t exit = b.python("__exit__", 46, 60);
  const int32_t inside = b.python("record_function_exit", 47, 55);
  b.finish();
  const CallTree tree = call_tree(b.detail.host);
  check_parent(b, tree, enter, train);
  check_parent(b, tree, range, train);
  check_parent(b, tree, op, range);
  check_parent(b, tree, exit, train);
  check_parent(b, tree, inside, exit);
}

TEST_CASE("an overhang of a microsecond is rounding and changes no parent") {
  DetailBuilder b;
  const int32_t linear = b.op("aten::linear", 0, 60);
  const int32_t mm = b.op("aten::mm", 5, 50);
  const int32_t launch = b.call("cudaLaunchKernel", 48, 51);
  const int32_t later = b.call("cudaLaunchKernel", 49, 51.001);
  b.finish();
  const CallTree tree = call_tree(b.detail.host);
  check_parent(b, tree, mm, linear);
  check_parent(b, tree, launch, mm);
  check_parent(b, tree, later, launch);
}

TEST_CASE("a hundred thousand rows that all overlap cost no more than as many that nest") {
  DetailBuilder b;
  const int32_t root = b.op("root", 0, 1e6);
  constexpr int32_t kRows = 100'000;
  for (int32_t i = 0; i < kRows; ++i) b.op("span", 2 * i + 1, 2 * i + 500'001);  // each outlasts those before
  b.finish();
  const CallTree tree = call_tree(b.detail.host);
  CHECK(std::count(tree.parent.begin(), tree.parent.end(), static_cast<int32_t>(b.row(root))) == kRows);
}

TEST_CASE("no row is more than 4096 rows away from its root, however deep rows nest") {
  DetailBuilder b;
  constexpr int32_t kRows = 100'000;
  for (int32_t i = 0; i < kRows; ++i) b.python("frame", i, 3 * kRows - i);
  b.finish();
  const CallTree tree = call_tree(b.detail.host);
  int32_t depth = 0;
  for (int32_t row = kRows - 1; row >= 0; row = tree.parent[static_cast<size_t>(row)]) ++depth;
  CHECK(depth == 4097);
}

TEST_CASE("rows of no length enclose nothing, and of rows that start together the longer encloses the shorter") {
  DetailBuilder b;
  const int32_t shorter = b.op("shorter", 0, 5);
  const int32_t longer = b.op("longer", 0, 10);
  const int32_t instant = b.op("instant", 6, 6);
  const int32_t after = b.op("after", 6.5, 7);
  b.finish();
  const CallTree tree = call_tree(b.detail.host);
  check_parent(b, tree, longer, -1);
  check_parent(b, tree, shorter, longer);
  check_parent(b, tree, instant, longer);
  check_parent(b, tree, after, longer);
}

TEST_CASE("self time is what operators, calls and annotations directly below did not take") {
  DetailBuilder b;
  const int32_t outer = b.op("outer", 0, 100);
  b.python("frame", 10, 60);
  const int32_t inner = b.op("inner", 20, 50);  // below the frame, which takes nothing
  b.call("cudaLaunchKernel", 30, 35);
  const int32_t overhanging = b.op("overhanging", 90, 120);  // takes 10 of outer
  b.finish();
  const std::vector<int64_t> self = self_times(b.detail.host, call_tree(b.detail.host));
  CHECK(self[b.row(outer)] == 60'000);
  CHECK(self[b.row(inner)] == 25'000);
  CHECK(self[b.row(overhanging)] == 30'000);
}

TEST_CASE("a GPU row's launcher is the first operator above its call, past python frames and `execute`") {
  DetailBuilder b;
  const int32_t conv = b.op("conv_bn_fused", 0, 100);
  b.op("execute", 10, 90);
  b.python("frame", 20, 80);
  const int32_t call = b.call("cudaLaunchKernel", 30, 40);
  const int32_t bare = b.call("cuLaunchKernel", 200, 210);
  b.gpu(call, "conv_kernel", 50, 60);
  b.gpu(bare, "user_kernel", 220, 230);
  b.gpu(-1, "orphan", 300, 310);
  b.finish();
  const std::vector<int32_t> launchers = launchers_of(b.detail, call_tree(b.detail.host), b.strings);
  CHECK(launchers == std::vector<int32_t>{row_or_none(b, conv), row_or_none(b, bare), -1});
}

TEST_CASE("the union of rows in the order of their starts counts no nanosecond twice") {
  BusyTime busy;
  busy.add(LocalNs{-5}, 10);  // -5..5
  busy.add(LocalNs{0}, 3);    // within
  busy.add(LocalNs{5}, 5);    // touches: ..10
  busy.add(LocalNs{8}, 7);    // overlaps: ..15
  busy.add(LocalNs{20}, 0);
  busy.add(LocalNs{20}, 1);
  CHECK(busy.ns() == 21);
}

TEST_CASE("what checkpointing runs again is told by the frames of torch.utils.checkpoint") {
  DetailBuilder b;
  const int32_t first = b.op("aten::mm", 0, 5);
  b.python("torch/utils/checkpoint.py(1500): recompute_fn", 10, 30);
  b.python("torch/utils/checkpoint.py(841): check_recomputed_tensors_match", 11, 12);
  const int32_t again = b.op("aten::mm", 15, 20);
  b.python("torch/utils/checkpoint.py(300): backward", 40, 80);
  const int32_t reentrant = b.op("aten::mm", 45, 50);
  b.python("torch/autograd/__init__.py(243): backward", 55, 75);
  const int32_t gradient = b.op("MmBackward0", 60, 70);
  b.finish();
  const std::vector<uint8_t> rows = recomputed_rows(b.detail.host, call_tree(b.detail.host), b.strings);
  REQUIRE(rows.size() == b.detail.host.size());
  CHECK(rows[b.row(first)] == 0);
  CHECK(rows[b.row(again)] == 1);
  CHECK(rows[b.row(reentrant)] == 1);
  CHECK(rows[b.row(gradient)] == 0);
}
