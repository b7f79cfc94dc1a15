#include <algorithm>
#include <catch2/catch.hpp>

#include "src/ingest/link/keep_steps.h"
#include "src/ingest/link/link_calls.h"
#include "tests/ingest/content_builder.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

constexpr const char* kAllReduceKernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
constexpr const char* kSendRecv = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)";
constexpr const char* kMultimem =
    "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)";

LinkedTrace link(ContentBuilder&& b, std::optional<std::pair<int64_t, int64_t>> steps = std::nullopt) {
  TraceFile file;
  file.linked = link_calls(std::move(b.content()));
  if (steps) keep_steps(file, *steps);
  LinkedTrace linked = std::move(file.linked);
  CHECK(check_invariants(linked.trace).empty());
  CHECK(linked.open_calls.size() == linked.trace.calls.size());
  return linked;
}

}  // namespace

TEST_CASE("GPU rows are sorted by start, the longest first") {
  ContentBuilder b;
  b.kernel("late", 20, 1, 1);
  b.kernel("short", 10, 1, 2);
  b.kernel("long", 10, 5, 3, 8);
  const LinkedTrace linked = link(std::move(b));
  CHECK(linked.strings.view(linked.trace.gpu.name[0]) == "long");
  CHECK(linked.strings.view(linked.trace.gpu.name[1]) == "short");
  CHECK(linked.strings.view(linked.trace.gpu.name[2]) == "late");
}

TEST_CASE("one launch may have many GPU rows, and launches without any are dropped") {
  ContentBuilder b;
  b.launch(9, 3);
  b.launch(5, 7);  // a graph launch
  b.launch(1, 4);  // launched nothing
  b.kernel("a", 10, 1, 7);
  b.kernel("b", 12, 1, 7);
  b.kernel("c", 14, 1, 3);
  const LinkedTrace linked = link(std::move(b));
  REQUIRE(linked.trace.launches.size() == 2);
  CHECK(linked.trace.launches.start[0] == at_us(5));
  CHECK(linked.trace.gpu.launch == Column<int32_t>{0, 0, 1});
}

TEST_CASE("rows launched before recording began stay, without a launch, and are counted") {
  ContentBuilder b;
  b.kernel("a", 10, 1, 7);
  b.kernel(kAllReduceKernel, 12, 1, 8);
  const LinkedTrace linked = link(std::move(b));
  CHECK(linked.trace.gpu.launch == Column<int32_t>{-1, -1});
  REQUIRE(linked.trace.calls.size() == 1);
  CHECK_FALSE(linked.trace.calls[0].launched);
  CHECK(linked.trace.calls[0].launch_start == at_us(12));
  CHECK(linked.trace.calls[0].step == -1);
  REQUIRE(linked.findings.size() == 1);
  CHECK(linked.findings[0].code.text() == "orphan-kernels");
  CHECK(linked.findings[0].count == 2);
}

TEST_CASE("a driver call within a runtime call shares its correlation and is no launch of its own") {
  ContentBuilder b;
  b.launch(5, 7);  // 5 us long
  b.launch(7, 7);
  b.kernel("a", 30, 1, 7);
  const LinkedTrace linked = link(std::move(b));
  REQUIRE(linked.trace.launches.size() == 1);
  CHECK(linked.trace.launches.start[0] == at_us(5));
  CHECK(linked.findings.empty());
}

TEST_CASE("of launches that share a correlation each GPU row gets the latest before it, and is counted") {
  ContentBuilder b;
  b.launch(0, 7);
  b.launch(100, 7);
  b.launch(102, 7);  // within the second
  b.launch(200, 7, 2);
  b.kernel("before any", -5, 1, 7);
  b.kernel("of the first", 50, 1, 7);
  b.kernel("of the second", 150, 1, 7);
  b.kernel("of the third", 250, 1, 7);
  b.kernel("another", 260, 1, 8);
  b.launch(255, 8);
  const LinkedTrace linked = link(std::move(b));
  CHECK(linked.trace.launches.start == Column<LocalNs>{at_us(0), at_us(100), at_us(200), at_us(255)});
  CHECK(linked.trace.gpu.launch == Column<int32_t>{0, 0, 1, 2, 3});
  REQUIRE(linked.findings.size() == 1);
  CHECK(linked.findings[0].code.text() == "reused-correlation");
  CHECK(linked.findings[0].count == 2);
}

TEST_CASE("a thousand launches of one correlation with a thousand rows are joined one by one") {
  ContentBuilder b;
  for (int64_t i = 0; i < 1000; ++i) {
    b.launch(10 * i, 7);
    b.kernel("k", 10 * i + 6, 1, 7);
  }
  const LinkedTrace linked = link(std::move(b));
  REQUIRE(linked.trace.launches.size() == 1000);
  for (int32_t i = 0; i < 1000; ++i) CHECK(linked.trace.gpu.launch[static_cast<size_t>(i)] == i);
}

TEST_CASE("rows of a trace too long for one task are joined and counted as those of a short one") {
  constexpr int64_t kRows = 40'000;  // the launch of every seventh precedes the recording, every tenth id has two
  ContentBuilder b;
  for (int64_t i = 0; i < kRows; ++i) {
    if (i % 7 != 0) b.launch(10 * i, i);
    if (i % 10 == 1) b.launch(10 * i + 1, i, 2);
    b.kernel("k", 10 * i + 5, 1, i);
  }
  const LinkedTrace linked = link(std::move(b));
  int64_t orphans = 0, wrong = 0, later = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    const int32_t launch = linked.trace.gpu.launch[static_cast<size_t>(i)];
    const bool twice = i % 10 == 1;
    orphans += launch < 0 ? 1 : 0;
    wrong += (launch < 0) != (i % 7 == 0 && !twice) ? 1 : 0;
    if (launch < 0) continue;
    later += twice && i % 7 != 0 ? 1 : 0;
    wrong += linked.trace.launches.start[static_cast<size_t>(launch)] != at_us(10 * i + (twice ? 1 : 0)) ? 1 : 0;
  }
  CHECK(wrong == 0);
  CHECK(orphans > 4'000);
  const auto ambiguous = std::find_if(linked.findings.begin(), linked.findings.end(),
                                      [](const Finding& f) { return f.code.text() == "reused-correlation"; });
  REQUIRE(ambiguous != linked.findings.end());
  CHECK(ambiguous->count == later);
}

TEST_CASE("a call belongs to the step in which its launch starts, not in which it runs") {
  ContentBuilder b;
  b.step(7, 0, 100);
  b.step(8, 100, 100);
  b.launch(99, 1);
  b.launch(100, 2);
  b.launch(200, 3);
  for (int64_t i = 1; i <= 3; ++i) b.kernel(kAllReduceKernel, 150 + 20 * i, 10, i);
  const LinkedTrace linked = link(std::move(b));
  CHECK(linked.trace.calls[0].step == 7);
  CHECK(linked.trace.calls[1].step == 8);
  CHECK(linked.trace.calls[2].step == -1);
}

TEST_CASE("the step filter keeps rows, calls and steps of A <= step < B") {
  ContentBuilder b;
  for (int64_t i = 0; i < 4; ++i) {
    b.step(i, i * 100, 100);
    b.launch(i * 100 + 10, i);
    b.kernel(kAllReduceKernel, i * 100 + 20, 10, i);
  }
  b.kernel("orphan", 5, 1, 99);
  const LinkedTrace linked = link(std::move(b), std::make_pair(int64_t{1}, int64_t{3}));
  CHECK(linked.trace.gpu.size() == 2);
  CHECK(linked.trace.launches.size() == 2);
  CHECK(linked.trace.calls.size() == 2);
  REQUIRE(linked.trace.steps.size() == 2);
  CHECK(linked.trace.steps[0].number == 1);
  CHECK(linked.trace.first_event == at_us(100));
  CHECK(linked.trace.last_event == at_us(300));
}

TEST_CASE("filtering by --steps keeps the groups that the calls it keeps mention, and no others") {
  ContentBuilder b;
  for (int64_t i = 0; i < 3; ++i) {
    b.step(i, i * 100, 100);
    b.launch(i * 100 + 10, i);
    const std::string group = i == 0 ? "first" : "second";
    b.kernel(kAllReduceKernel, i * 100 + 20, 10, i).args =
        b.add(b.args("allreduce", "Float", 10, 10, group, "[0, 1]", 2));
  }
  const LinkedTrace linked = link(std::move(b), std::make_pair(int64_t{1}, int64_t{3}));
  REQUIRE(linked.groups.size() == 1);
  CHECK(linked.groups[0].name == "second");
  CHECK(linked.open_calls[0].group == 0);
  CHECK(linked.open_calls[1].group == 0);
}

// Era A: 2022-23, whole microseconds, no metadata.
TEST_CASE("era A: the nccl range around the launch tells operation, type and elements, even against the kernel name") {
  ContentBuilder b;
  b.op("record_param_comms", 90, 80, 5);
  b.shaped_op("nccl:all_to_all", 100, 60, 6144, "float", 5);
  b.launch(110, 42, 5);
  b.kernel(kSendRecv, 120, 30, 42).external_id = 42;  // says nothing: its own correlation
  const LinkedTrace linked = link(std::move(b));
  REQUIRE(linked.trace.calls.size() == 1);
  const CollectiveCall& call = linked.trace.calls[0];
  CHECK(call.kind == CollectiveKind::all_to_all);
  CHECK(call.source == MetadataSource::annotation);
  CHECK(call.in_elements == 6144);
  CHECK(call.out_elements == -1);
  CHECK(call.dtype == DType::float32);
  CHECK(call.launched);
  CHECK(call.launch_start == at_us(110));
  CHECK(linked.open_calls[0].group == -1);
}

TEST_CASE("era A: an External id that equals the correlation in all rows links to no op") {
  ContentBuilder b;
  CommOpRow& other = b.op("record_param_comms", 0, 10, 9);
  other.external_id = 42;  // the same number by chance
  other.args = b.add(b.args("broadcast", "Float", 5, 5, "0", "[0, 1]", 2));
  b.launch(110, 42, 5);
  b.kernel(kAllReduceKernel, 120, 30, 42).external_id = 42;
  const LinkedTrace linked = link(std::move(b));
  CHECK(linked.trace.calls[0].kind == CollectiveKind::all_reduce);
  CHECK(linked.trace.calls[0].source == MetadataSource::kernel_name);
}

TEST_CASE("a range on another thread tells nothing of the launch") {
  ContentBuilder b;
  b.shaped_op("nccl:all_to_all", 100, 60, 6144, "float", 6);
  b.launch(110, 42, 5);
  b.kernel(kSendRecv, 120, 30, 42);
  const LinkedTrace linked = link(std::move(b));
  CHECK(linked.trace.calls[0].kind == CollectiveKind::unknown);
  CHECK(linked.trace.calls[0].source == MetadataSource::kernel_name);
}

// Era B: spring 2024, metadata on the op, group as an id.
TEST_CASE("era B: the op with the kernel's External id tells all") {
  ContentBuilder b;
  CommOpRow& op = b.op("record_param_comms", 0, 10, 3);
  op.external_id = 2099;
  op.args = b.add(b.args("allreduce", "Float", 2049000, 2049000, "0", "[0]", 1));
  b.launch(110, 42, 5);
  b.kernel(kAllReduceKernel, 120, 30, 42).external_id = 2099;
  const LinkedTrace linked = link(std::move(b));
  const CollectiveCall& call = linked.trace.calls[0];
  CHECK(call.source == MetadataSource::record_param_comms);
  CHECK(call.in_elements == 2049000);
  CHECK(call.dtype == DType::float32);
  REQUIRE(linked.groups.size() == 1);
  CHECK(linked.groups[0].name == "0");
  CHECK(linked.groups[0].ranks == "[0]");
  CHECK(linked.open_calls[0].group == 0);
}

// Era C and later: metadata on the kernel.
TEST_CASE("era D: the kernel's arguments are completed by the op's root, start and stride") {
  ContentBuilder b;
  CommArgs args = b.args("broadcast", "BFloat16", 9600, 9600, "0", "[0, 1, 2, 3]", 4);
  CommArgs on_op = args;
  on_op.rank = 2;
  on_op.rank_start = 0;
  on_op.rank_stride = 1;
  CommOpRow& op = b.op("record_param_comms", 100, 50);
  op.external_id = 47;
  op.args = b.add(on_op);
  b.launch(110, 42);
  GpuRow& kernel = b.kernel("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", 120, 30, 42);
  kernel.external_id = 47;
  kernel.args = b.add(args);
  const LinkedTrace linked = link(std::move(b));
  const CollectiveCall& call = linked.trace.calls[0];
  CHECK(call.kind == CollectiveKind::broadcast);
  CHECK(call.source == MetadataSource::kernel_args);
  CHECK(call.dtype == DType::bfloat16);
  CHECK(linked.open_calls[0].root_in_group == 2);
  CHECK(linked.groups[0].rank_start == 0);
  CHECK(linked.groups[0].rank_stride == 1);
}

TEST_CASE("era E: Seq and Comms Id pass through") {
  ContentBuilder b;
  CommArgs args = b.args("allreduce", "Float", 10, 10, "0", "[0, 1]", 2);
  args.seq = 17;
  args.comms_id = 18446744073709551615ULL;
  b.kernel(kAllReduceKernel, 120, 30, 42).args = b.add(args);
  const LinkedTrace linked = link(std::move(b));
  CHECK(linked.trace.calls[0].seq == 17);
  CHECK(linked.trace.calls[0].comms_id == 18446744073709551615ULL);
}

TEST_CASE("equal mentions of a group are one") {
  ContentBuilder b;
  const CommArgs args = b.args("allreduce", "Float", 10, 10, "0", "[0, 1]", 2);
  for (int64_t i = 0; i < 3; ++i) b.kernel(kAllReduceKernel, 100 * i, 30, i).args = b.add(args);
  const LinkedTrace linked = link(std::move(b));
  CHECK(linked.groups.size() == 1);
  CHECK(linked.open_calls[2].group == 0);
}

TEST_CASE("kernels that one operation launched on one stream are one call, from the first start to the last end") {
  constexpr const char* kReduceScatter = "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(x)";
  ContentBuilder b;
  CommOpRow& record = b.op("record_param_comms", 100, 50);
  record.external_id = 47;
  record.args = b.add(b.args("reduce_scatter_tensor_coalesced", "BFloat16", 800, 200, "0", "[0, 1, 2, 3]", 4));
  b.launch(110, 1);
  b.launch(120, 2);
  b.launch(130, 3);
  b.launch(300, 4);  // after the operation: whoever launched it, another one
  b.kernel(kReduceScatter, 150, 30, 1).external_id = 47;
  b.kernel(kReduceScatter, 185, 25, 2).external_id = 47;
  b.launch(132, 6);
  b.kernel(kReduceScatter, 160, 10, 3, 8).external_id = 47;
  b.kernel(kReduceScatter, 175, 15, 6, 8).external_id = 47;
  b.kernel(kReduceScatter, 310, 10, 4).external_id = 47;
  b.launch(135, 5);
  GpuRow& elsewhere = b.kernel(kReduceScatter, 320, 10, 5);
  elsewhere.external_id = 47;
  elsewhere.device = 1;
  const LinkedTrace linked = link(std::move(b));
  REQUIRE(linked.trace.calls.size() == 4);
  CHECK(linked.trace.calls[0].start == at_us(150));
  CHECK(linked.trace.calls[0].duration_ns == 60'000);
  CHECK(linked.trace.calls[1].stream == 8);
  CHECK(linked.trace.calls[1].duration_ns == 30'000);
  CHECK(linked.trace.calls[2].start == at_us(310));
  REQUIRE(linked.findings.size() == 1);
  CHECK(linked.findings[0].code.text() == "several-kernels");
}

TEST_CASE("the row of a wait says nothing of the kernel it is linked to") {
  ContentBuilder b;
  CommOpRow& op = b.op("record_param_comms", 100, 50);
  op.external_id = 74;
  op.args = b.add(b.args("wait", "Byte", 0, 0, "0", "[]", 1));
  b.launch(110, 42);
  b.kernel(kAllReduceKernel, 120, 30, 42).external_id = 74;
  const LinkedTrace linked = link(std::move(b));
  REQUIRE(linked.trace.calls.size() == 1);
  CHECK(linked.trace.calls[0].source == MetadataSource::kernel_name);
  CHECK(linked.groups.empty());
}

TEST_CASE("an operation nobody taught us keeps group, type and size; its range or kernel tells the kind") {
  ContentBuilder b;
  const CommArgs args = b.args("fancy_all_gather", "BFloat16", 4096, 16384, "7", "[0, 1, 2, 3]", 4);
  b.launch(110, 1);
  b.kernel("ncclDevKernel_AllGather_RING_LL(x)", 120, 30, 1).args = b.add(args);
  CommOpRow& record = b.op("record_param_comms", 200, 50);
  record.external_id = 47;
  record.args = b.add(args);
  b.op("nccl:broadcast", 205, 40);
  b.launch(210, 2);
  b.kernel("ncclDevKernel_Generic(x)", 220, 30, 2).external_id = 47;
  const LinkedTrace linked = link(std::move(b));
  REQUIRE(linked.trace.calls.size() == 2);
  CHECK(linked.trace.calls[0].kind == CollectiveKind::all_gather);
  CHECK(linked.trace.calls[0].source == MetadataSource::kernel_args);
  CHECK(linked.trace.calls[1].kind == CollectiveKind::broadcast);
  CHECK(linked.trace.calls[1].source == MetadataSource::record_param_comms);
  for (const CollectiveCall& call : linked.trace.calls) {
    CHECK(call.dtype == DType::bfloat16);
    CHECK(call.out_elements == 16384);
  }
  REQUIRE(linked.groups.size() == 1);
  CHECK(linked.groups[0].name == "7");
}

TEST_CASE("metadata on a kernel that is no communication makes no call") {
  ContentBuilder b;
  b.kernel("void at::native::vectorized_elementwise_kernel<4>", 120, 30, 42).args =
      b.add(b.args("allreduce", "Float", 10, 10, "0", "[0, 1]", 2));
  const LinkedTrace linked = link(std::move(b));
  CHECK(linked.trace.calls.empty());
}

TEST_CASE("of nested ranges the innermost over the launch counts") {
  ContentBuilder b;
  b.op("nccl:coalesced", 100, 100);
  b.shaped_op("nccl:all_gather", 120, 20, 8, "float");
  b.launch(130, 1);
  b.launch(160, 2);
  b.kernel(kSendRecv, 200, 10, 1);
  b.kernel(kSendRecv, 220, 10, 2);
  const LinkedTrace linked = link(std::move(b));
  CHECK(linked.trace.calls[0].kind == CollectiveKind::all_gather);
  CHECK(linked.trace.calls[1].kind == CollectiveKind::coalesced);
}

TEST_CASE("a GPU range on the kernel's stream tells the operation where no launch does") {
  ContentBuilder b;
  b.gpu_range("nccl:all_reduce", 120, 30, 40);
  b.kernel("ncclDevKernel_Generic(x)", 120, 30, 1, 40);
  b.kernel("ncclDevKernel_Generic(x)", 120, 30, 2, 41);
  b.kernel("ncclDevKernel_Generic(x)", 140, 30, 3, 40);  // ends after the range
  const LinkedTrace linked = link(std::move(b));
  CHECK(linked.trace.calls[0].kind == CollectiveKind::all_reduce);
  CHECK(linked.trace.calls[0].source == MetadataSource::annotation);
  CHECK(linked.trace.calls[1].kind == CollectiveKind::unknown);
  CHECK(linked.trace.calls[2].kind == CollectiveKind::unknown);
}

TEST_CASE("a send's peer is global by Dst Rank, inside the group by Rank or by its range") {
  ContentBuilder b;
  CommArgs global = b.args("send", "Float", 10, 10, "4", "[0, 4]", 2);
  global.peer = 4;
  b.kernel(kSendRecv, 100, 10, 1).args = b.add(global);
  CommArgs local = b.args("recv", "Float", 10, 10, "4", "[0, 4]", 2);
  local.rank = 1;
  b.kernel(kSendRecv, 200, 10, 2).args = b.add(local);
  b.op("nccl:recv 1<-0", 290, 20);
  b.launch(295, 3);
  b.kernel(kSendRecv, 300, 10, 3);
  const LinkedTrace linked = link(std::move(b));
  CHECK(linked.trace.calls[0].peer == Rank(4));
  CHECK(linked.open_calls[1].peer_in_group == 1);
  CHECK(linked.trace.calls[2].kind == CollectiveKind::recv);
  CHECK(linked.open_calls[2].peer_in_group == 0);
}

TEST_CASE("a custom all-reduce is a call, sized by the op that launched it") {
  ContentBuilder b;
  CommOpRow& op = b.shaped_op("symm_mem::multimem_all_reduce_", 100, 30, 2557440, "c10::BFloat16");
  op.external_id = 241;
  b.launch(110, 328);
  b.kernel(kMultimem, 150, 20, 328).external_id = 241;
  const LinkedTrace linked = link(std::move(b));
  REQUIRE(linked.trace.calls.size() == 1);
  const CollectiveCall& call = linked.trace.calls[0];
  CHECK(call.custom);
  CHECK(call.kind == CollectiveKind::all_reduce);
  CHECK(call.in_elements == 2557440);
  CHECK(call.dtype == DType::bfloat16);
  CHECK(call.source == MetadataSource::kernel_name);
}

TEST_CASE("an NCCL kernel that vLLM launched past PyTorch is sized by vLLM's op") {
  ContentBuilder b;
  CommOpRow& op = b.shaped_op("vllm::all_reduce", 100, 30, 1048576, "c10::BFloat16");
  op.external_id = 102;
  b.launch(110, 7);
  b.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", 150, 20, 7).external_id = 102;
  const LinkedTrace linked = link(std::move(b));
  REQUIRE(linked.trace.calls.size() == 1);
  CHECK(linked.trace.calls[0].kind == CollectiveKind::all_reduce);
  CHECK(linked.trace.calls[0].in_elements == 1048576);
  CHECK(linked.trace.calls[0].dtype == DType::bfloat16);
}

TEST_CASE("without GPU rows every gloo range is a call, with the record around it or inside it") {
  ContentBuilder b;
  b.step(551, 0, 1000);
  b.shaped_op("gloo:all_reduce", 100, 50, 321271, "float", 3);
  b.op("record_param_comms", 190, 100, 3).args = b.add(b.args("broadcast", "Long", 5, 5, "2", "[0, 1]", 2));
  b.op("gloo:broadcast", 200, 50, 3);
  b.op("gloo:allgather", 1200, 50, 4);
  b.op("record_param_comms", 1210, 5, 4).args = b.add(b.args("allgather", "Int", 6, 12, "2", "[0, 1]", 2));
  b.op("nccl:all_reduce", 1300, 50, 4);  // a GPU operation whose kernel is not in the file
  const LinkedTrace linked = link(std::move(b));
  REQUIRE(linked.trace.calls.size() == 3);
  const Column<CollectiveCall>& calls = linked.trace.calls;
  CHECK(calls[0].gpu_row == -1);
  CHECK(calls[0].stream == -1);
  CHECK(calls[0].step == 551);
  CHECK(calls[0].in_elements == 321271);
  CHECK(calls[0].source == MetadataSource::annotation);
  CHECK(calls[1].source == MetadataSource::record_param_comms);
  CHECK(calls[1].dtype == DType::int64);
  CHECK(calls[2].out_elements == 12);
  CHECK(calls[2].step == -1);
}

TEST_CASE("gloo ranges beside NCCL are not calls, but counted") {
  ContentBuilder b;
  b.op("gloo:barrier", 100, 50);
  b.op("gloo:all_reduce", 200, 50);
  b.op("nccl:all_reduce", 300, 50);
  b.launch(5, 7);
  b.kernel("a", 10, 1, 7);
  const LinkedTrace linked = link(std::move(b));
  CHECK(linked.trace.calls.empty());
  REQUIRE(linked.findings.size() == 2);
  CHECK(linked.findings[0].code.text() == "calls-without-kernel");
  CHECK(linked.findings[0].count == 1);
  CHECK(linked.findings[1].code.text() == "host-collectives");
  CHECK(linked.findings[1].count == 2);
}

TEST_CASE("a trace without any row links to an empty one") {
  const LinkedTrace linked = link(ContentBuilder());
  CHECK(linked.trace.gpu.size() == 0);
  CHECK(linked.trace.device == -1);
  CHECK(linked.findings.empty());
}
