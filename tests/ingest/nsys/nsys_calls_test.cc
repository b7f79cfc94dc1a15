// What calls are: by ranges of NCCL and their payloads, of PyTorch, of XLA.
#include "made_export.h"
#include "src/ingest/nsys/payloads.h"
#include "src/ingest/nsys/range_names.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

const char* const kReduceKernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
const char* const kGenericKernel = "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)";
const char* const kMessages = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";

// Rank 1 of the two in communicator 0xabc.
MadeExport of_two() {
  MadeExport file;
  file.schemas().range(9, "ncclCommInitRank", 1, 2, payload_hex(218, 0xabc, 2, 1));
  return file;
}

}  // namespace

TEST_CASE("a range of NCCL says operation, size and communicator of the kernel launched in it") {
  MadeExport file = of_two();
  file.range(9, "ncclAllReduce", 100, 200, payload_hex(223, 0xabc, 4096, 0));
  file.launch(9, 150, 7).kernel(9, kReduceKernel, 1000, 3000, 7);
  const TraceFile rank = file.link();
  REQUIRE(rank.linked.trace.calls.size() == 1);
  const CollectiveCall& call = rank.linked.trace.calls[0];
  CHECK(call.kind == CollectiveKind::all_reduce);
  CHECK(call.dtype == DType::float32);  // the kernel's name says it
  CHECK(call.in_elements == 1024);
  CHECK(call.out_elements == 1024);
  REQUIRE(rank.linked.groups.size() == 1);
  CHECK(rank.linked.groups[0].name == "0xabc");
  CHECK(rank.linked.groups[0].size == 2);
}

TEST_CASE("a kernel whose name tells no type moves bytes; an all-gather gives out all parts") {
  MadeExport file = of_two();
  file.range(9, "ncclAllGather", 100, 200, payload_hex(223, 0xabc, 4096, 0));
  file.launch(9, 150, 7).kernel(9, "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 1000, 3000, 7);
  const TraceFile rank = file.link();
  const CollectiveCall& call = rank.linked.trace.calls.at(0);
  CHECK(call.kind == CollectiveKind::all_gather);
  CHECK(call.dtype == DType::uint8);
  CHECK(call.in_elements == 4096);
  CHECK(call.out_elements == 8192);
}

TEST_CASE("a range without payload says the operation that the kernel's name does not") {
  MadeExport file;
  file.range(9, "ncclReduceScatter", 100, 200).launch(9, 150, 7).kernel(9, kGenericKernel, 1000, 3000, 7);
  const TraceFile rank = file.link();
  const CollectiveCall& call = rank.linked.trace.calls.at(0);
  CHECK(call.kind == CollectiveKind::reduce_scatter);
  CHECK(call.in_elements == -1);
  CHECK(rank.linked.open_calls[0].group == -1);
}

TEST_CASE("a group of one call launches it at its end") {
  MadeExport file = of_two();
  file.range(9, "ncclGroupStart", 100, 110).range(9, "ncclBroadcast", 120, 130, payload_hex(223, 0xabc, 512, 0));
  file.range(9, "ncclGroupEnd", 140, 200).launch(9, 150, 7).kernel(9, kGenericKernel, 1000, 3000, 7);
  const TraceFile rank = file.link();
  CHECK(rank.linked.trace.calls.at(0).kind == CollectiveKind::broadcast);
  CHECK(rank.linked.trace.calls.at(0).in_elements == 512);
}

TEST_CASE("sends and receives to and from everybody are an all-to-all, with its parts") {
  MadeExport file = of_two();
  file.range(9, "ncclGroupStart", 100, 110);
  file.range(9, "ncclSend", 111, 112, payload_hex(226, 0xabc, 100, 0, 0));
  file.range(9, "ncclRecv", 113, 114, payload_hex(226, 0xabc, 40, 0, 0));
  file.range(9, "ncclSend", 115, 116, payload_hex(226, 0xabc, 300, 0, 1));
  file.range(9, "ncclRecv", 117, 118, payload_hex(226, 0xabc, 300, 0, 1));
  file.range(9, "ncclGroupEnd", 140, 200).launch(9, 150, 7).kernel(9, kMessages, 1000, 3000, 7);
  const TraceFile rank = file.link();
  const RankTrace& trace = rank.linked.trace;
  REQUIRE(trace.calls.size() == 1);
  CHECK(trace.calls[0].kind == CollectiveKind::all_to_all);
  CHECK(trace.calls[0].in_elements == 400);
  CHECK(trace.calls[0].out_elements == 340);
  REQUIRE(trace.splits.size() == 2);
  CHECK(trace.splits[0].sends == 100);
  CHECK(trace.splits[0].receives == 40);
}

TEST_CASE("a send and a receive of one peer in a group are one exchange") {
  MadeExport file;
  file.schemas().range(9, "ncclCommInitRank", 1, 2, payload_hex(218, 0xabc, 8, 1));
  file.range(9, "ncclGroupStart", 100, 110);
  file.range(9, "ncclSend", 111, 112, payload_hex(226, 0xabc, 100, 0, 5));
  file.range(9, "ncclRecv", 113, 114, payload_hex(226, 0xabc, 60, 0, 5));
  file.range(9, "ncclGroupEnd", 140, 200).launch(9, 150, 7).kernel(9, kMessages, 1000, 3000, 7);
  const TraceFile rank = file.link();
  REQUIRE(rank.linked.trace.calls.size() == 1);
  CHECK(rank.linked.trace.calls[0].kind == CollectiveKind::send_recv);
  CHECK(rank.linked.open_calls[0].peer_in_group == 5);
}

TEST_CASE("PyTorch's range over a group of messages names the operation, whatever payloads say") {
  MadeExport file;
  file.range(9, "nccl:all_to_all, op_id = 12", 90, 300);
  file.range(9, "record_param_comms, op_id = 11", 80, 310);
  file.range(9, "ncclGroupStart", 100, 110).range(9, "ncclSend", 111, 112).range(9, "ncclRecv", 113, 114);
  file.range(9, "ncclGroupEnd", 140, 200).launch(9, 150, 7).kernel(9, kMessages, 1000, 3000, 7);
  CHECK(file.link().linked.trace.calls.at(0).kind == CollectiveKind::all_to_all);
}

TEST_CASE("a thunk of XLA says the operation of a kernel without a telling name") {
  MadeExport file;
  file.range(9, "TSL:Thunk:#name=pjit(f)/jit(main),hlo_op=all-gather-start.3#", 100, 200);
  file.launch(9, 150, 7).kernel(9, kGenericKernel, 1000, 3000, 7);
  CHECK(file.link().linked.trace.calls.at(0).kind == CollectiveKind::all_gather);
}

TEST_CASE("payloads are read by the schema of the file, and by none but its own") {
  MadeExport file;
  // Another version of NCCL: the size comes first.
  file.sql(
      "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (1, 7, 0, 22, 'Message size [bytes]', NULL), "
      "(1, 7, 1, 18, 'NCCL communicator ID', 8)");
  file.range(9, "ncclAllReduce", 100, 200, payload_hex(7, 640, 0xabc, 0));
  file.range(9, "ncclAllReduce", 300, 400, payload_hex(8, 640, 0xabc, 0));  // of an unknown schema
  file.launch(9, 150, 7).kernel(9, kGenericKernel, 1000, 3000, 7);
  file.launch(9, 350, 8).kernel(9, kGenericKernel, 4000, 5000, 8);
  const TraceFile rank = file.link();
  CHECK(rank.linked.trace.calls.at(0).in_elements == 640);
  CHECK(rank.linked.groups.at(0).name == "0xabc");
  CHECK(rank.linked.trace.calls.at(1).in_elements == -1);
}

TEST_CASE("a payload shorter than its schema says nothing beyond its end") {
  MadeExport file = of_two();
  file.range(9, "ncclAllReduce", 100, 200, payload_hex(223, 0xabc, 4096, 0).substr(0, 40 * 2));
  file.launch(9, 150, 7).kernel(9, kGenericKernel, 1000, 3000, 7);
  CHECK(file.link().linked.trace.calls.at(0).in_elements == -1);
}

TEST_CASE("payloads that were exported as JSON are read by their names") {
  const NcclPayload payload = PayloadSchemas::of_json(
      R"({"Payload": {"NCCL communicator ID": 18446744073709551615, "Message size [bytes]": 512, "Peer rank": 3}})");
  CHECK(payload.communicator == UINT64_MAX);
  CHECK(payload.bytes == 512);
  CHECK(payload.peer == 3);
  CHECK(payload.root == -1);
  CHECK_FALSE(PayloadSchemas::of_json("{\"Message size [bytes]\"").any());
}

TEST_CASE("names of ranges are read without their arguments") {
  const RangeName operation = read_range_name("aten::mm, seq = 7, op_id = 9, sizes = [[8, 16], [16, 4]]");
  CHECK(operation.of == RangeName::Of::operation);
  CHECK(operation.name == "aten::mm");
  CHECK(operation.sequence == 7);
  CHECK(operation.sizes == "[[8, 16], [16, 4]]");
  CHECK(read_range_name("ncclCommInitRank").of == RangeName::Of::nccl_other);
  CHECK(read_range_name("nccl_setup").of == RangeName::Of::program);
  CHECK(read_range_name("TSL:Thunk:#hlo_op=all-reduce-done.1#").kind == CollectiveKind::unknown);
  CHECK(read_range_name("TSL:XlaModule:#hlo_module=jit_train_step,program_id=7#").name == "jit_train_step");
  CHECK(read_range_name("").of == RangeName::Of::program);
}
