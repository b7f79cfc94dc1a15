// batch_isend_irecv as PyTorch records it: each send and receive by itself, then the launch in a range of its own.
#include <algorithm>
#include <catch2/catch.hpp>
#include <tuple>

#include "src/ingest/link/link_calls.h"
#include "tests/ingest/content_builder.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

constexpr const char* kBatchKernel = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";

class BatchBuilder : public ContentBuilder {
 public:
  // A record of 5 us.
  void record(const char* operation, int64_t peer, int64_t elements, int64_t start_us, int64_t thread = 1,
              const char* group = "3") {
    CommArgs a = args(operation, "BFloat16", elements, elements, group, "[0, 4, 8]", 3);
    a.peer = peer;
    op("record_param_comms", start_us, 5, thread).args = add(a);
  }
  // The launch and its kernel, 100 us later.
  GpuRow& carry_out(int64_t start_us, int64_t correlation, int64_t thread = 1) {
    op("nccl:coalesced", start_us, 20, thread);
    launch(start_us + 5, correlation, thread);
    return kernel(kBatchKernel, start_us + 100, 30, correlation);
  }
  Column<CollectiveCall> calls() {
    linked = link_calls(std::move(content()));
    CHECK(check_invariants(linked.trace).empty());
    return linked.trace.calls;
  }
  LinkedTrace linked;
};

}  // namespace

TEST_CASE("a batch that sends to one peer and receives from it is one operation of the two") {
  BatchBuilder b;
  b.record("send", 4, 1000, 100);
  b.record("recv", 4, 3000, 110);
  b.carry_out(120, 1);
  const Column<CollectiveCall> calls = b.calls();
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].kind == CollectiveKind::send_recv);
  CHECK(calls[0].peer == Rank(4));
  CHECK(calls[0].in_elements == 1000);
  CHECK(calls[0].out_elements == 3000);
  CHECK(calls[0].dtype == DType::bfloat16);
  CHECK(calls[0].source == MetadataSource::record_param_comms);
  REQUIRE(b.linked.groups.size() == 1);
  CHECK(b.linked.groups[0].ranks == "[0, 4, 8]");
}

TEST_CASE("a batch of sends alone is a send of their sum, one of receives a recv") {
  BatchBuilder b;
  b.record("send", 8, 1000, 100);
  b.record("send", 8, 24, 110);
  b.carry_out(120, 1);
  b.record("recv", 0, 7, 300);
  b.carry_out(310, 2);
  const Column<CollectiveCall> calls = b.calls();
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].kind == CollectiveKind::send);
  CHECK(calls[0].in_elements == 1024);
  CHECK(calls[1].kind == CollectiveKind::recv);
  CHECK(calls[1].peer == Rank(0));
}

TEST_CASE("a batch with several peers has a message for each peer and direction") {
  BatchBuilder b;
  b.record("send", 8, 1000, 100);
  b.record("recv", 0, 2000, 106);
  b.record("send", 8, 24, 112);
  b.record("send", 0, 7, 118);
  b.carry_out(130, 1);
  const Column<CollectiveCall> calls = b.calls();
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].kind == CollectiveKind::coalesced);
  CHECK_FALSE(calls[0].peer.known());
  CHECK(calls[0].source == MetadataSource::record_param_comms);
  CHECK(calls[0].in_elements == 1031);
  CHECK(calls[0].out_elements == 2000);
  REQUIRE(b.linked.groups.size() == 1);
  std::vector<std::tuple<bool, int32_t, int64_t>> messages;
  for (const BatchMessage& m : b.linked.trace.messages) {
    CHECK(m.call == 0);
    CHECK(m.dtype == DType::bfloat16);
    messages.emplace_back(m.sends, m.peer.value, m.elements);
  }
  std::sort(messages.begin(), messages.end());
  CHECK(messages == std::vector<std::tuple<bool, int32_t, int64_t>>{{false, 0, 2000}, {true, 0, 7}, {true, 8, 1024}});
}

TEST_CASE("of a batch in several groups nobody says who waits for whom") {
  BatchBuilder b;
  b.record("send", 8, 1000, 100);
  b.record("recv", 0, 1000, 110, 1, "4");
  b.carry_out(120, 1);
  CHECK(b.calls()[0].kind == CollectiveKind::coalesced);
  CHECK(b.linked.trace.messages.empty());
  CHECK(b.linked.groups.empty());
  REQUIRE(b.linked.findings.size() == 1);
  CHECK(b.linked.findings[0].code.text() == "several-groups");
}

TEST_CASE("messages keep to their call where calls are put in order") {
  BatchBuilder b;
  b.record("send", 8, 10, 100);
  b.record("recv", 0, 10, 106);
  b.carry_out(112, 1).start.ns += 1'000'000;  // its kernel runs behind the next one's
  b.record("send", 8, 20, 200);
  b.record("recv", 0, 20, 206);
  b.carry_out(212, 2);
  REQUIRE(b.calls().size() == 2);
  for (const BatchMessage& m : b.linked.trace.messages) CHECK(m.elements == (m.call == 0 ? 20 : 10));
  CHECK(messages_of(b.linked.trace, 1).size() == 2);
}

TEST_CASE("also where the kernel is linked to one of its records, or names it itself") {
  BatchBuilder b;
  b.record("send", 8, 1000, 100);
  b.record("recv", 0, 1000, 110);
  b.content().comm_ops.back().external_id = 77;
  GpuRow& kernel = b.carry_out(120, 1);
  kernel.external_id = 77;
  kernel.args = 1;  // of the second record
  CHECK(b.calls()[0].kind == CollectiveKind::coalesced);
}

TEST_CASE("a batch holds what was recorded on its thread since the last one, without what was launched by itself") {
  BatchBuilder b;
  b.record("recv", 0, 7, 50);
  b.carry_out(60, 1);
  b.record("send", 0, 9, 200);  // alone: launches its own kernel
  b.launch(201, 2);
  b.kernel(kBatchKernel, 300, 10, 2);
  b.record("recv", 8, 5, 210, 2);  // another thread
  b.record("send", 4, 11, 400);
  b.carry_out(410, 3);
  const Column<CollectiveCall> calls = b.calls();
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].kind == CollectiveKind::recv);
  CHECK(calls[1].kind == CollectiveKind::send);
  CHECK(calls[1].peer == Rank(0));
  CHECK(calls[2].kind == CollectiveKind::send);
  CHECK(calls[2].peer == Rank(4));
  CHECK(calls[2].in_elements == 11);
}

TEST_CASE("a coalesced range over collectives takes no send from in front of them") {
  BatchBuilder b;
  b.record("send", 4, 1000, 100);
  b.op("record_param_comms", 110, 5).args = b.add(b.args("all_gather", "Float", 8, 32, "0", "[0, 1, 2, 3]", 4));
  b.carry_out(120, 1);
  CHECK(b.calls()[0].kind == CollectiveKind::coalesced);
}

TEST_CASE("a range that ends late takes no other operation for its batch") {
  BatchBuilder b;
  b.record("send", 4, 1000, 100);
  b.carry_out(110, 1);
  b.content().comm_ops.back().duration_ns = 5'000'000;
  b.launch(400, 2);
  b.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 500, 30, 2);
  b.launch(600, 3);
  b.kernel(kBatchKernel, 700, 30, 3).args = b.add(b.args("all_to_all", "Float", 8, 8, "0", "[0, 1]", 2));
  const Column<CollectiveCall> calls = b.calls();
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].kind == CollectiveKind::send);
  CHECK(calls[1].kind != CollectiveKind::send);
  CHECK(calls[2].kind == CollectiveKind::all_to_all);
}

TEST_CASE("ranges that never end hide no batch behind another") {
  BatchBuilder b;
  for (int64_t i = 0; i < 20'000; ++i) {  // quick only where open ranges are not searched for records
    b.record(i % 2 == 0 ? "send" : "recv", 4, 100 + i, 100 + 200 * i);
    b.carry_out(110 + 200 * i, i);
    b.content().comm_ops.back().duration_ns = 1'000'000'000'000;
  }
  const Column<CollectiveCall> calls = b.calls();
  REQUIRE(calls.size() == 20'000);
  for (size_t i = 0; i < calls.size(); ++i) {
    REQUIRE(calls[i].kind == (i % 2 == 0 ? CollectiveKind::send : CollectiveKind::recv));
    REQUIRE(calls[i].in_elements == 100 + static_cast<int64_t>(i));
  }
}

TEST_CASE("only the first launch in a batch's range is the batch's") {
  BatchBuilder b;
  b.record("send", 4, 1000, 100);
  b.record("recv", 4, 1000, 110);
  b.carry_out(120, 1);
  b.content().comm_ops.back().duration_ns = 5'000'000;
  b.launch(400, 2);  // of another library, or of a graph
  b.kernel(kBatchKernel, 500, 30, 2);
  const Column<CollectiveCall> calls = b.calls();
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].kind == CollectiveKind::send_recv);
  CHECK(calls[0].duration_ns == 30'000);
  CHECK(calls[1].kind == CollectiveKind::coalesced);
}

TEST_CASE("records that name no peer tell nothing of a batch") {
  BatchBuilder b;
  b.record("send", -1, 1000, 100);
  b.record("recv", -1, 1000, 110);
  b.carry_out(120, 1);
  CHECK(b.calls()[0].kind == CollectiveKind::coalesced);
  CHECK(b.linked.findings.empty());
}

TEST_CASE("collectives that a coalescing manager launches as one kernel are one operation of their sum") {
  BatchBuilder b;
  const auto record = [&](const char* operation, int64_t elements, int64_t start_us, const char* group = "3") {
    b.op("record_param_comms", start_us, 5).args =
        b.add(b.args(operation, "Float", elements, elements, group, "[0, 4, 8]", 3));
  };
  const auto carry_out = [&](int64_t start_us, int64_t correlation) {
    b.carry_out(start_us, correlation).name = b.text("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)");
  };
  record("allreduce_coalesced", 300, 100);
  carry_out(110, 1);
  record("allreduce", 8, 300);
  record("allreduce", 2, 310);
  carry_out(320, 2);
  record("allreduce", 8, 500);
  record("allreduce", 8, 510, "4");  // two groups' calls in one kernel: nobody tells which is which
  carry_out(520, 3);
  record("reduce_scatter", 8, 700);  // the kernel is of none of them
  carry_out(710, 4);
  const Column<CollectiveCall> calls = b.calls();
  REQUIRE(calls.size() == 4);
  CHECK(calls[0].kind == CollectiveKind::all_reduce);
  CHECK(calls[0].in_elements == 300);
  CHECK(calls[0].source == MetadataSource::record_param_comms);
  CHECK(calls[1].kind == CollectiveKind::all_reduce);
  CHECK(calls[1].in_elements == 10);
  CHECK(calls[2].kind == CollectiveKind::coalesced);
  CHECK(calls[3].kind == CollectiveKind::coalesced);
  REQUIRE(b.linked.groups.size() == 1);
}

TEST_CASE("an all-gather that is made of broadcasts has parts of unequal size, whose sum nobody records") {
  ContentBuilder b;
  b.kernel("ncclDevKernel_Broadcast_RING_LL(x)", 100, 30, 1).args =
      b.add(b.args("all_gather", "Float", 8, 32, "0", "[0, 1, 2, 3]", 4));
  const LinkedTrace linked = link_calls(std::move(b.content()));
  REQUIRE(linked.trace.calls.size() == 1);
  CHECK(linked.trace.calls[0].kind == CollectiveKind::all_gather);
  CHECK(linked.trace.calls[0].in_elements == -1);
  CHECK(linked.trace.calls[0].out_elements == -1);
}
