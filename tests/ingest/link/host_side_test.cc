// What the host recorded of collectives, where the GPU's rows tell less: no kernel, no correlation, a record that was
// closed, several GPUs of one process, a kernel of an unknown name.
#include <algorithm>
#include <catch2/catch.hpp>

#include "src/ingest/link/link_calls.h"
#include "tests/ingest/content_builder.h"
#include "tests/ingest/reader_support.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

constexpr const char* kGeneric = "ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)";

struct HostSide : ContentBuilder {
  // A record around a range, as ProcessGroupNCCL makes them; both last 20 us.
  void call(const std::string& operation, int64_t start_us, int64_t elements, int64_t size = 4,
            const std::string& backend = "nccl") {
    op("record_param_comms", start_us, 20).args =
        add(args(operation, "BFloat16", elements, elements, "0", size == 4 ? "[0, 1, 2, 3]" : "[0]", size));
    op(backend + ":" + operation, start_us + 1, 18);
  }
  void group_call(const std::string& operation, int64_t start_us, int64_t elements, const std::string& group) {
    op("record_param_comms", start_us, 18).args =
        add(args(operation, "BFloat16", elements, elements, group, group == "a" ? "[0, 1]" : "[0, 2]", 2));
  }
  GpuRow& copy(int64_t start_us, int64_t duration_us, int64_t correlation) {
    GpuRow& row = kernel("Memcpy PtoP (Device -> Device)", start_us, duration_us, correlation, 22);
    row.work = GpuWork::memcpy;
    return row;
  }
  LinkedTrace linked() { return link_calls(std::move(content())); }
};

const Finding* finding_of(const LinkedTrace& linked, FindingCode code) {
  const auto found =
      std::find_if(linked.findings.begin(), linked.findings.end(), [&](const Finding& f) { return f.code == code; });
  return found == linked.findings.end() ? nullptr : &*found;
}

int64_t count_in(const LinkedTrace& linked, FindingCode code) {
  const Finding* finding = finding_of(linked, code);
  return finding == nullptr ? 0 : finding->count;
}

}  // namespace

TEST_CASE("copies that are launched in a collective's range are the collective, which waits in no row") {
  HostSide b;
  b.call("_allgather_base", 0, 4096);
  b.launch(3, 1);
  b.copy(25, 119, 1);
  b.launch(6, 2);
  b.copy(145, 119, 2);
  b.call("allreduce", 300, 4096);
  b.launch(305, 3);
  b.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", 320, 50, 3, 24);
  b.launch(400, 4);
  b.copy(410, 30, 4);  // outside of any collective
  const LinkedTrace linked = b.linked();
  REQUIRE(linked.trace.calls.size() == 2);
  const CollectiveCall& gather = linked.trace.calls[0];
  CHECK(gather.kind == CollectiveKind::all_gather);
  CHECK(gather.start == at_us(25));
  CHECK(gather.duration_ns == 239'000);
  CHECK_FALSE(gather.waits);
  CHECK(gather.in_elements == 4096);
  CHECK(linked.open_calls[0].group >= 0);
  CHECK(linked.trace.calls[1].waits);
  CHECK(linked.trace.gpu.work[0] == GpuWork::communication);
  CHECK(linked.trace.gpu.work[1] == GpuWork::communication);
  CHECK(linked.trace.gpu.work[3] == GpuWork::memcpy);
  const Finding* finding = finding_of(linked, "copied-collectives");
  REQUIRE(finding != nullptr);
  CHECK(finding->count == 1);
  CHECK(finding->message.find("1 all_gather ran as copies") == 0);
  CHECK(finding->message.find("238 us") != std::string::npos);
}

TEST_CASE("copies of symmetric memory's operators are collectives, too") {
  HostSide b;
  b.op("symm_mem::_low_contention_all_gather", 0, 40);
  b.launch(3, 1);
  b.kernel("c10d::symmetric_memory::barrier_kernel(unsigned int**, int)", 10, 5, 1);
  b.launch(6, 2);
  b.copy(20, 100, 2);
  const LinkedTrace linked = b.linked();
  REQUIRE(linked.trace.calls.size() == 2);
  CHECK(linked.trace.calls[0].kind == CollectiveKind::barrier);
  CHECK_FALSE(linked.trace.calls[1].waits);
}

TEST_CASE("a copy inside a collective that has its kernel, or of a group of one, stays a copy") {
  HostSide b;
  b.call("allgather", 0, 4096);
  b.launch(3, 1);
  b.copy(10, 5, 1);
  b.launch(6, 2);
  b.kernel("ncclDevKernel_AllGather_RING_LL(x)", 20, 50, 2);
  b.call("allreduce", 100, 4096, 1);
  b.launch(105, 3);
  b.copy(110, 5, 3);
  const LinkedTrace linked = b.linked();
  CHECK(linked.trace.calls.size() == 1);
  CHECK(linked.trace.gpu.work[0] == GpuWork::memcpy);
  CHECK(linked.trace.gpu.work[2] == GpuWork::memcpy);
  CHECK(finding_of(linked, "copied-collectives") == nullptr);
}

TEST_CASE("calls without any GPU row ask for the GPU's activity; launches without any row say that rows were lost") {
  HostSide calls;
  calls.call("allreduce", 0, 4096);
  calls.call("allreduce", 100, 4096);
  const LinkedTrace linked = calls.linked();
  CHECK(count_in(linked, "no-gpu-activity") == 2);
  CHECK(finding_of(linked, "no-gpu-activity")->message.find("2 NCCL calls were made (2 all_reduce)") == 0);

  HostSide launches;
  launches.call("allreduce", 0, 4096);
  launches.launch(5, 1);
  launches.content().kernel_launches = 3;
  const LinkedTrace lost = launches.linked();
  CHECK(count_in(lost, "gpu-rows-lost") == 3);
  CHECK(finding_of(lost, "no-gpu-activity") == nullptr);
}

TEST_CASE("a collective that ran as a kernel of an unknown name is said to be so, with the name") {
  HostSide b;
  b.call("allreduce", 0, 4096);
  b.launch(5, 1);
  b.kernel("new_library_ring_kernel<float>", 20, 50, 1);
  const LinkedTrace linked = b.linked();
  CHECK(linked.trace.calls.empty());
  const Finding* finding = finding_of(linked, "unknown-kernels");
  REQUIRE(finding != nullptr);
  CHECK(finding->count == 1);
  CHECK(finding->message.find("the first is new_library_ring_kernel<float>") != std::string::npos);
}

TEST_CASE("what was launched and is in no row is no lost collective: a window ends, a graph is captured") {
  HostSide b;
  b.call("allreduce", 0, 4096);
  b.launch(5, 1);
  b.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", 20, 50, 1);
  b.call("allreduce", 100, 4096);
  b.launch(105, 2);
  const LinkedTrace linked = b.linked();
  CHECK(linked.trace.calls.size() == 1);
  CHECK(linked.findings.empty());
}

TEST_CASE("ranges of MPI and UCC are calls where gloo's are, and gloo's where nothing else communicates") {
  for (const char* name : {"mpi:all_reduce", "ucc:all_reduce", "gloo:all_reduce"}) {
    INFO(name);
    HostSide b;
    b.shaped_op(name, 100, 50, 4096, "float", 9);
    b.launch(5, 1);
    b.kernel("gemm", 10, 50, 1);
    const LinkedTrace linked = b.linked();
    REQUIRE(linked.trace.calls.size() == 1);
    CHECK(linked.trace.calls[0].kind == CollectiveKind::all_reduce);
    CHECK(linked.trace.calls[0].gpu_row == -1);
    CHECK(linked.trace.calls[0].duration_ns == 50'000);
  }
}

TEST_CASE("kernels without a correlation are joined to the launches within collectives, the k-th to the k-th") {
  HostSide b;
  b.call("allreduce", 0, 100);
  b.launch(5, 11);
  b.call("allgather", 100, 200);
  b.launch(105, 12);
  b.kernel(kGeneric, 30, 40, 0, 20);
  b.kernel(kGeneric, 130, 40, 0, 20);
  const LinkedTrace linked = b.linked();
  REQUIRE(linked.trace.calls.size() == 2);
  CHECK(linked.trace.calls[0].kind == CollectiveKind::all_reduce);
  CHECK(linked.trace.calls[1].kind == CollectiveKind::all_gather);
  CHECK(linked.trace.calls[1].in_elements == 200);
  CHECK(count_in(linked, "joined-by-order") == 2);
  CHECK(finding_of(linked, "orphan-kernels") == nullptr);
}

TEST_CASE("of more kernels than launches the first were launched before recording began; none before its launch") {
  HostSide head;
  head.kernel(kGeneric, -10, 5, 0, 20);
  head.kernel(kGeneric, 30, 40, 0, 20);
  head.call("allreduce", 0, 100);
  head.launch(5, 11);
  const LinkedTrace linked = head.linked();
  CHECK(count_in(linked, "joined-by-order") == 1);
  CHECK(linked.trace.gpu.launch[0] == -1);
  CHECK(linked.trace.gpu.launch[1] == 0);

  HostSide late;
  late.kernel(kGeneric, -10, 5, 0, 20);
  late.call("allreduce", 0, 100);
  late.launch(5, 11);
  CHECK(count_in(late.linked(), "joined-by-order") == 0);
}

TEST_CASE("where a group's kernels are overtaken, each is of its group's launch, on the stream of the group") {
  // Launched: a, then b, in each step. In every other one a stands behind the long a of the step before, and b does
  // not.
  HostSide b;
  for (int64_t k = 0; k < 6; ++k) {
    const int64_t at = 1000 * k;
    b.group_call("allreduce", at, 100 + k, "a");
    b.launch(at + 5, 10 * k + 1);
    b.group_call("allgather", at + 30, 200 + k, "b");
    b.launch(at + 35, 10 * k + 2);
    b.kernel(kGeneric, at + (k % 2 == 0 ? 100 : 405), k % 2 == 0 ? 1300 : 300, 0, 20);
    b.kernel(kGeneric, at + 200, 50, 0, 21);
  }
  const LinkedTrace linked = b.linked();
  REQUIRE(linked.trace.calls.size() == 12);
  int64_t gathers = 0;
  for (const CollectiveCall& call : linked.trace.calls) {
    CHECK(call.kind == (call.stream == 20 ? CollectiveKind::all_reduce : CollectiveKind::all_gather));
    if (call.stream == 21) CHECK(call.in_elements == 200 + gathers++);
  }
  CHECK(count_in(linked, "joined-by-order") == 12);
  CHECK(count_in(linked, "order-unknown") == 0);
}

TEST_CASE("kernels of groups whose orders tell nothing are left without a launch, and counted") {
  HostSide b;
  for (int64_t k = 0; k < 6; ++k) {
    const int64_t at = 1000 * k;
    b.group_call("allreduce", at, 100, "a");
    b.launch(at + 5, 10 * k + 1);
    b.group_call("allgather", at + 30, 200, "b");
    b.launch(at + 35, 10 * k + 2);
    b.kernel(kGeneric, at + 400, 300, 0, 20);  // begin together
    b.kernel(kGeneric, at + 400, 300, 0, 21);
  }
  const LinkedTrace linked = b.linked();
  CHECK(linked.trace.calls.size() == 12);
  for (const CollectiveCall& call : linked.trace.calls) CHECK_FALSE(call.launched);
  CHECK(count_in(linked, "joined-by-order") == 0);
  CHECK(count_in(linked, "order-unknown") == 12);
}

TEST_CASE("of several streams without a group's name the order over all holds while none is overtaken") {
  for (const bool beside : {false, true}) {
    INFO(beside);
    HostSide b;
    for (int64_t k = 0; k < 4; ++k) {
      const int64_t at = 1000 * k;
      b.op("nccl:all_reduce", at, 20);
      b.launch(at + 5, 10 * k + 1);
      b.kernel(kGeneric, at + 400, beside ? 1200 : 300, 0, static_cast<int32_t>(20 + k % 2));
    }
    const LinkedTrace linked = b.linked();
    CHECK(count_in(linked, "joined-by-order") == (beside ? 0 : 4));
    CHECK(count_in(linked, "order-unknown") == (beside ? 4 : 0));
  }
}

TEST_CASE("kernels launched before recording began are told from the others on each stream of a group") {
  HostSide b;
  for (int64_t k = -1; k < 4; ++k) {  // step -1 was launched before
    const int64_t at = 1000 * k;
    if (k >= 0) {
      for (const int64_t more : {0, 20}) {
        b.group_call("allreduce", at + more, 100, "a");
        b.launch(at + more + 5, 10 * k + 1 + more / 20);
      }
      b.group_call("allgather", at + 40, 200 + k, "b");
      b.launch(at + 45, 10 * k + 3);
    }
    b.kernel(kGeneric, at + 1400, 300, 0, 20);
    b.kernel(kGeneric, at + 1410, 500, 0, 21);
    b.kernel(kGeneric, at + 1705, 200, 0, 20);
  }
  const LinkedTrace linked = b.linked();
  CHECK(count_in(linked, "joined-by-order") == 12);
  int64_t gathers = 0;
  for (const CollectiveCall& call : linked.trace.calls) {
    if (call.start < at_us(1000)) CHECK_FALSE(call.launched);
    if (call.launched && call.stream == 21) CHECK(call.in_elements == 200 + gathers++);
  }
  CHECK(gathers == 4);
}

TEST_CASE("a record that closed before its launch tells of it, and two kernels of oneCCL are one call") {
  HostSide b;
  b.op("c10d::allreduce_", 0, 30);
  b.op("record_param_comms", 1, 1).args = b.add(b.args("allreduce", "BFloat16", 8192, 8192, "0", "[0, 1, 2, 3]", 4));
  b.op("xccl:all_reduce", 3, 20);
  b.launch(5, 1);
  b.kernel("oneccl_reduce_base<sycl::_V1::ext::oneapi::bfloat16, 2, 16>", 50, 100, 1, 3);
  b.launch(8, 2);
  b.kernel("oneccl_allgather_large<sycl::_V1::ext::oneapi::bfloat16>", 152, 8, 2, 3);
  const LinkedTrace linked = b.linked();
  REQUIRE(linked.trace.calls.size() == 1);
  const CollectiveCall& call = linked.trace.calls[0];
  CHECK(call.kind == CollectiveKind::all_reduce);
  CHECK(call.dtype == DType::bfloat16);
  CHECK(call.in_elements == 8192);
  CHECK(call.start == at_us(50));
  CHECK(call.duration_ns == 110'000);
  CHECK(linked.open_calls[0].group >= 0);
}

TEST_CASE("a closed record of another operation, or with another range between, tells nothing") {
  for (const bool other_operation : {true, false}) {
    HostSide b;
    b.op("record_param_comms", 1, 1).args =
        b.add(b.args(other_operation ? "broadcast" : "allreduce", "Float", 8, 8, "0", "[0, 1]", 2));
    if (!other_operation) b.op("xccl:all_reduce", 2, 1);
    b.op("xccl:all_reduce", 4, 20);
    b.launch(5, 1);
    b.kernel("oneccl_allreduce_large<float>", 50, 100, 1, 3);
    CHECK(b.linked().open_calls.at(0).group == -1);
  }
}

TEST_CASE("collectives among the GPUs of one process are numbered, the k-th of each GPU together") {
  HostSide b;
  for (int device = 0; device < 2; ++device) {
    for (int k = 0; k < 3; ++k) {
      GpuRow& row =
          b.kernel("ncclKernel_AllReduce_RING_LL_Sum_float(x)", 100 * k + 20 * device, 50, 1 + 3 * device + k);
      row.device = static_cast<int16_t>(device);
    }
  }
  const LinkedTrace linked = b.linked();
  REQUIRE(linked.trace.calls.size() == 6);
  for (size_t i = 0; i < 6; ++i) CHECK(linked.trace.calls[i].together == static_cast<int32_t>(i / 2));
}

TEST_CASE("a kernel that nobody knows computes where no operator of communication launched it") {
  constexpr const char* kOwn = "void megatron_grads_all_reduce_kernel<float>(float*, int)";
  HostSide b;
  b.op("mylib::fused_allreduce", 0, 20);
  b.launch(5, 1);
  b.kernel(kOwn, 30, 40, 1);
  b.launch(105, 2);  // of no such operator
  b.kernel(kOwn, 130, 40, 2);
  b.launch(205, 3);  // a graph
  b.kernel(kOwn, 230, 40, 3);
  b.kernel("gemm", 280, 40, 3);
  const LinkedTrace linked = b.linked();
  CHECK(linked.trace.calls.size() == 2);
  CHECK(linked.trace.gpu.work[0] == GpuWork::communication);
  CHECK(linked.trace.gpu.work[1] == GpuWork::compute);
  CHECK(count_in(linked, "computing-by-launch") == 1);
  CHECK(count_in(linked, "named-by-word") == 1);
}

TEST_CASE("without host rows a collective's word is all there is, and that is said") {
  HostSide b;
  b.content().has_cpu_ops = false;
  b.launch(5, 1);
  b.kernel("void megatron_grads_all_reduce_kernel<float>(float*, int)", 30, 40, 1);
  const LinkedTrace linked = b.linked();
  CHECK(linked.trace.calls.size() == 1);
  CHECK(count_in(linked, "named-by-word") == 1);
}

TEST_CASE("operators with a collective's word are kept, with and without the sieve, and nothing of aten") {
  const auto event = [](const std::string& name) {
    return "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"" + name +
           "\", \"pid\": 1, \"tid\": 1, \"ts\": 10.000, \"dur\": 5.000, \"args\": {\"External id\": 1}}";
  };
  const std::string text =
      trace_of(event("trtllm::allreduce") + ",\n  " + event("mylib::fused_all_gather_matmul") + ",\n  " +
               event("AllToAllOp") + ",\n  " + event("aten::all_reduce") + ",\n  " + event("aten::scatter") + ",\n  " +
               event("Torch-Compiled Region: 5/3") + ",\n  " + kernel("a", "20.000", "1.000"));
  for (const bool sieve : {true, false}) {
    ReadSettings settings;
    settings.sieve = sieve;
    CHECK(read_text(text, settings).comm_ops.size() == 3);
  }
}

TEST_CASE("calls that launch kernels are counted, whether or not the kernels were recorded") {
  std::string events;
  for (const char* name : {"cudaLaunchKernel", "cuLaunchKernelEx", "hipExtModuleLaunchKernel", "cudaMemcpyAsync"}) {
    events += std::string("{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"") + name +
              "\", \"pid\": 1, \"tid\": 1, \"ts\": 10.000, \"dur\": 5.000, \"args\": {\"correlation\": 5}},\n";
  }
  events.resize(events.size() - 2);
  CHECK(read_text(trace_of(events)).kernel_launches == 3);
}

TEST_CASE("a trace is of the process that launched most, else of the one that made most collective calls") {
  const auto event = [](const std::string& category, const std::string& name, int pid) {
    return "{\"ph\": \"X\", \"cat\": \"" + category + "\", \"name\": \"" + name +
           "\", \"pid\": " + std::to_string(pid) +
           ", \"tid\": 1, \"ts\": 10.000, \"dur\": 5.000, \"args\": {\"correlation\": 5}}";
  };
  const std::string launch = event("cuda_runtime", "cudaLaunchKernel", 4711);
  const std::string call = event("user_annotation", "gloo:all_reduce", 4712);
  const std::string other = event("user_annotation", "ProfilerStep#3", 4713);
  CHECK(read_text(trace_of(call + ",\n" + launch + ",\n" + other)).process_id == 4711);
  CHECK(read_text(trace_of(other + ",\n" + call)).process_id == 4712);
  CHECK(read_text(trace_of(other)).process_id == -1);
}
