// One profile to traces of its devices. Times in nanoseconds since the profile began, unless said otherwise.
#include <catch2/catch.hpp>

#include "made_profile.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT
using test::MadeEvent;
using test::MadePlane;
using test::Ref;

namespace {

constexpr int64_t kBegin = 1'700'000'000'000'000'000;

MadePlane environment() {
  MadePlane plane("Task Environment");
  plane.stat("profile_start_time", kBegin).stat("profile_stop_time", kBegin + 1'000'000);
  return plane;
}

MadeEvent kernel(const std::string& name, int64_t start_ns, int64_t duration_ns, int64_t correlation,
                 const std::string& op = "") {
  MadeEvent event{name, start_ns * 1000, duration_ns * 1000, {{"correlation_id", correlation}}, {}};
  if (op.empty()) return event;
  event.stats.emplace_back("hlo_op", Ref{op});
  event.stats.emplace_back("hlo_module", Ref{"jit_step"});
  event.stats.emplace_back("program_id", int64_t{7});
  return event;
}

MadeEvent launch(const std::string& name, int64_t start_ns, int64_t duration_ns, int64_t correlation) {
  return {name, start_ns * 1000, duration_ns * 1000, {{"device_id", int64_t{0}}, {"correlation_id", correlation}}, {}};
}

constexpr const char* kNccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

MadePlane programs(const std::vector<int64_t>& devices) {
  MadePlane plane("/host:metadata");
  plane.program(7, "jit_step",
                test::hlo_of("jit_step",
                             {{{"sum.1", "all-reduce", {256}, 1, true, {{0, 1}}, {}, 0}},
                              {{"dot.1", "custom-call", {8, 8}, 0, false, {}, {}, 0},
                               {"all-reduce-start", "async-start", {256}, 0, false, {}, {}, 1}}},
                             devices));
  return plane;
}

// Two executions of a program of a matrix product and an all-reduce, by process 1 of 2.
std::string gpu_profile() {
  MadePlane gpu("/device:GPU:0");
  gpu.stat("device_vendor", std::string("Nvidia")).stat("gpu_device_name", std::string("NVIDIA H100"));
  gpu.line(14, "Stream #14(Compute)", 100,
           {kernel("gemm", 1000, 500, 1, "dot.1"), kernel("gemm", 5000, 500, 3, "dot.1")});
  gpu.line(68, "Stream #68(Compute)", 100,
           {kernel(kNccl, 1500, 900, 2, "sum.1"), kernel(kNccl, 5500, 800, 4, "sum.1")});
  MadePlane host("/host:CPU");
  host.stat("process_id", int64_t{4242});
  const auto run = [](int64_t start, int64_t number) {
    return MadeEvent{"CommonPjRtLoadedExecutable::Execute (jit_step)", start * 1000, 400'000, {{"run_id", number}}, {}};
  };
  const auto range = [](const std::string& name, int64_t start, int64_t duration) {
    return MadeEvent{name, start * 1000, duration * 1000, {}, {}};
  };
  const MadeEvent clique{"AcquireGpuClique",
                         1000,
                         1000,
                         {{"device", int64_t{0}},
                          {"rank", int64_t{1}},
                          {"clique_key", Ref{"devices=2:[0,1]; local_participants=1; communication_id=0"}}},
                         {}};
  host.line(9, "python3", 100,
            {clique, run(500, 31), range("jit_step:XLA GPU module", 510, 380), launch("gemm", 520, 10, 1),
             launch(kNccl, 540, 20, 2), run(4500, 32), range("jit_step:XLA GPU module", 4510, 380),
             launch("gemm", 4520, 10, 3), launch(kNccl, 4540, 20, 4)});
  return test::profile_of({programs({0, 1}), gpu, host, environment()}, "node3");
}

MadeEvent instruction(const std::string& text, int64_t start_ns, int64_t duration_ns) {
  return {text, start_ns * 1000, duration_ns * 1000, {}, {{"flops", int64_t{12}}, {"bytes_accessed", int64_t{34}}}};
}

std::vector<std::string> names_of(const FileContent& content) {
  std::vector<std::string> names;
  for (size_t i = 0; i < content.gpu.size(); ++i) names.push_back(name_of(content, i));
  return names;
}

}  // namespace

TEST_CASE("a GPU's plane becomes a trace with launches, calls and steps, stamped since 1970") {
  const std::vector<FileContent> contents = test::read_profile(gpu_profile());
  REQUIRE(contents.size() == 1);
  const FileContent& content = contents.front();
  CHECK(content.kind == ContentKind::rank_trace);
  CHECK(content.format == "jax xplane");
  CHECK(content.part.empty());
  CHECK(content.host_name == "node3");
  CHECK(content.process_id == 4242);
  CHECK(content.has_base_time);
  CHECK(names_of(content) == std::vector<std::string>{"gemm", "gemm", kNccl, kNccl});
  CHECK(content.gpu[0].start.ns == kBegin + 100 + 1000);
  CHECK(content.gpu[2].stream == 68);
  CHECK(content.launches.size() == 4);
  CHECK(content.launches[0].start.ns == kBegin + 100 + 520);
  REQUIRE(content.steps.size() == 2);
  CHECK(content.steps[0].number == 31);
  CHECK(content.steps[1].number == 32);
  CHECK(content.steps[0].start.ns == kBegin + 100 + 510);
  CHECK(content.steps[0].duration_ns == 4000);
}

TEST_CASE("who a GPU is stands in the clique of its collectives") {
  const FileContent content = std::move(test::read_profile(gpu_profile()).front());
  CHECK(content.distributed.rank == 1);
  CHECK(content.distributed.world_size == 2);
  CHECK(content.distributed.rank_from == "clique of its collectives");
}

TEST_CASE(
    "a kernel's call is the instruction of its program, also inside an asynchronous one, and its run's number is its "
    "key") {
  const FileContent content = std::move(test::read_profile(gpu_profile()).front());
  REQUIRE(content.gpu.comm_kernels.size() == 2);
  const CommArgs first = content.comm_args[static_cast<size_t>(content.gpu.comm_kernels[0].args)];
  const CommArgs second = content.comm_args[static_cast<size_t>(content.gpu.comm_kernels[1].args)];
  CHECK(content.strings.view(first.collective_name) == "allreduce");
  CHECK(content.strings.view(first.dtype) == "Float");
  CHECK(content.strings.view(first.group_ranks) == "[0, 1]");
  CHECK(first.in_elements == 256);
  CHECK(first.comms_id != 0);
  CHECK(first.comms_id != second.comms_id);
  // The same on the other member.
  const FileContent again = std::move(test::read_profile(gpu_profile()).front());
  CHECK(again.comm_args[0].comms_id == first.comms_id);
}

// A loop's second all-reduce would be taken for its first, which other members have.
TEST_CASE("behind a kernel of a run whose row was lost, how often an operation ran is no key, and ahead of it is one") {
  MadePlane gpu("/device:GPU:0"), host("/host:CPU");
  gpu.line(68, "Stream #68(Compute)", 0,
           {kernel(kNccl, 1500, 900, 1, "sum.1"), kernel(kNccl, 5500, 900, 3, "sum.1"),
            kernel(kNccl, 9500, 900, 4, "sum.1")});
  const auto run = [](int64_t start, int64_t number) {
    return MadeEvent{"CommonPjRtLoadedExecutable::Execute (jit_step)", start * 1000, 400'000, {{"run_id", number}}, {}};
  };
  host.line(9, "python3", 0,
            {run(500, 31), launch(kNccl, 520, 10, 1), launch(kNccl, 540, 10, 2), launch(kNccl, 560, 10, 3),
             run(1500, 32), launch(kNccl, 1520, 10, 4)});
  const FileContent content = std::move(test::read_profile(test::profile_of({programs({0, 1}), gpu, host})).front());
  REQUIRE(content.gpu.comm_kernels.size() == 3);
  const auto key = [&](size_t at) {
    return content.comm_args[static_cast<size_t>(content.gpu.comm_kernels[at].args)].comms_id;
  };
  CHECK(key(0) != 0);
  CHECK(key(1) == 0);
  CHECK(key(2) != 0);
}

TEST_CASE("a profile of several devices is a trace of each") {
  MadePlane first("/device:GPU:0"), second("/device:GPU:1"), third("/device:GPU:2");
  first.line(1, "Stream #1(Compute)", 0, {kernel("gemm", 10, 5, 1)});
  third.line(1, "Stream #1(MemcpyD2D)", 0,
             {{"MemcpyD2D", 20'000, 5'000, {{"memcpy_details", Ref{"kind:device size:4096 dest:0 async:1"}}}, {}}});
  const std::vector<FileContent> contents = test::read_profile(test::profile_of({first, second, third, environment()}));
  REQUIRE(contents.size() == 2);
  CHECK(contents[0].part == "gpu0");
  CHECK(contents[1].part == "gpu2");
  CHECK(contents[1].gpu[0].work == GpuWork::memcpy);
  CHECK(contents[1].distributed.place_in_file == 2);
  CHECK(contents[0].bytes > 0);
  CHECK(contents[1].bytes == 0);
}

TEST_CASE("both ends of a row are rounded down to nanoseconds, so that rows that touch still do") {
  MadePlane gpu("/device:GPU:0");
  gpu.line(1, "Stream #1(Compute)", 0, {{"a", 1'700, 1'700, {}, {}}, {"b", 3'400, 700, {}, {}}});
  const FileContent content = std::move(test::read_profile(test::profile_of({gpu})).front());
  CHECK(content.gpu[0].start.ns == 1);
  CHECK(content.gpu[0].duration_ns == 2);
  CHECK(content.gpu[1].start.ns == 3);
  CHECK(content.gpu[1].duration_ns == 1);
  CHECK_FALSE(content.has_base_time);
}

TEST_CASE("kernels of AMD are called alike with and without the suffix of their descriptor") {
  MadePlane gpu("/device:GPU:0");
  gpu.stat("device_vendor", std::string("AMD"));
  gpu.line(17, "Stream #17(Kernel)", 0, {kernel("loop_fusion.kd", 10, 5, 1), kernel("loop_fusion", 20, 5, 2)});
  const FileContent content = std::move(test::read_profile(test::profile_of({gpu})).front());
  CHECK(names_of(content) == std::vector<std::string>{"loop_fusion", "loop_fusion"});
  CHECK(content.hip_launches);
}

TEST_CASE("steps of the user's loop number the executions that lie in them one by one") {
  MadePlane gpu("/device:GPU:0"), host("/host:CPU");
  gpu.line(1, "Stream #1(Compute)", 0, {kernel("a", 100, 5, 1, "x"), kernel("a", 200, 5, 2, "x")});
  const auto step = [](int64_t start, int64_t number) {
    return MadeEvent{"train", start * 1000, 50'000, {{"step_num", number}}, {}};
  };
  host.line(1, "python3", 0, {step(0, 17), launch("a", 20, 5, 1), step(60, 18), launch("a", 80, 5, 2)});
  const FileContent content = std::move(test::read_profile(test::profile_of({gpu, host})).front());
  REQUIRE(content.steps.size() == 2);
  CHECK(content.steps[0].number == 17);
  CHECK(content.steps[1].number == 18);
}

TEST_CASE("of a TPU a transfer is one row from its start to its end, a loop is none, and each execution is a step") {
  MadePlane tpu("/device:TPU:2");
  const std::string start =
      "%all-gather-start.1 = (f32[2]{0}, f32[4]{0}) all-gather-start(f32[2]{0} %p), "
      "replica_groups={{0,1}}, dimensions={0}";
  const std::string done = "%all-gather-done.1 = f32[4]{0} all-gather-done((f32[2]{0}, f32[4]{0}) %all-gather-start.1)";
  const std::string loop = "%while.2 = f32[4]{0} while(f32[4]{0} %t), condition=%c, body=%b";
  const std::string add = "%fusion.3 = f32[4]{0} fusion(f32[4]{0} %x), kind=kLoop, calls=%f";
  tpu.stat("core_details", test::Bytes{std::string("\x28\x06\x30\x06", 4)});
  tpu.line(2, "XLA Modules", 0,
           {{"jit_step(7)", 100'000, 900'000, {{"_c", int64_t{55}}, {"_ct", int64_t{12}}}, {}},
            {"jit_step(7)", 1'100'000, 900'000, {{"_c", int64_t{56}}, {"_ct", int64_t{12}}}, {}}});
  tpu.line(3, "XLA Ops", 0,
           {instruction(start, 110, 1), instruction(loop, 120, 300), instruction(add, 130, 100),
            instruction(add, 240, 100), instruction(done, 430, 70), instruction(add, 1200, 100)});
  MadePlane host("/host:CPU");
  host.line(1, "main", 0, {{"DoEnqueueProgram", 40'000, 5'000, {{"_p", int64_t{55}}, {"_pt", int64_t{12}}}, {}}});
  const FileContent content = std::move(test::read_profile(test::profile_of({tpu, host, environment()})).front());
  CHECK(names_of(content) == std::vector<std::string>{"all-gather-start.1", "fusion.3", "fusion.3", "fusion.3"});
  CHECK(content.gpu[0].start.ns == kBegin + 110);
  CHECK(content.gpu[0].duration_ns == 390);
  REQUIRE(content.gpu.comm_kernels.size() == 1);
  const CommArgs args = content.comm_args[0];
  CHECK(content.strings.view(args.collective_name) == "_allgather_base");
  CHECK(args.out_elements == 4);
  REQUIRE(content.steps.size() == 2);
  CHECK(content.steps[0].start.ns == kBegin + 40);    // as the host enqueued it
  CHECK(content.steps[1].start.ns == kBegin + 1100);  // of the other the host tells nothing
  CHECK(content.distributed.rank == 6);
  CHECK(content.distributed.rank_from == "core number in the profile");
}

TEST_CASE("transfers of a TPU that overlap lie on streams of their own") {
  MadePlane tpu("/device:TPU:0");
  const std::string copy = "%copy-start.1 = (f32[4]{0}, f32[4]{0}, u32[]) copy-start(f32[4]{0} %x)";
  const std::string other = "%copy-start.2 = (f32[4]{0}, f32[4]{0}, u32[]) copy-start(f32[4]{0} %y)";
  tpu.line(4, "Async XLA Ops", 0,
           {instruction(copy, 10, 100), instruction(other, 50, 100), instruction(copy, 120, 100)});
  const FileContent content = std::move(test::read_profile(test::profile_of({tpu})).front());
  REQUIRE(content.gpu.size() == 3);
  CHECK(content.gpu[0].stream != content.gpu[1].stream);
  CHECK(content.gpu[0].stream == content.gpu[2].stream);
  CHECK(content.gpu[0].work == GpuWork::memcpy);
}

TEST_CASE("a permutation with two peers is two messages, with one it is a call of that peer") {
  const auto args_with = [](const std::vector<std::pair<int64_t, int64_t>>& pairs) {
    MadePlane metadata("/host:metadata"), gpu("/device:GPU:0"), host("/host:CPU");
    metadata.program(
        7, "jit_step",
        test::hlo_of("jit_step", {{{"sum.1", "collective-permute", {64}, 1, false, {}, pairs, 0}}}, {0, 1, 2}));
    gpu.line(1, "Stream #1(Compute)", 0, {kernel("ncclDevKernel_SendRecv(int)", 100, 5, 1, "sum.1")});
    const MadeEvent clique{"AcquireGpuClique",
                           0,
                           1,
                           {{"device", int64_t{0}}, {"rank", int64_t{1}}, {"clique_key", Ref{"devices=3:[0,1,2]; x"}}},
                           {}};
    host.line(1, "python3", 0, {clique, launch("ncclDevKernel_SendRecv(int)", 20, 5, 1)});
    return std::move(test::read_profile(test::profile_of({metadata, gpu, host})).front());
  };
  const FileContent ring = args_with({{0, 1}, {1, 2}, {2, 0}});
  REQUIRE(ring.messages.size() == 2);
  CHECK(ring.messages[0].sends);
  CHECK(ring.messages[0].peer == 2);
  CHECK(ring.messages[1].peer == 0);
  CHECK(ring.messages[1].elements == 64);
  CHECK(ring.strings.view(ring.comm_args[0].group_ranks) == "[0, 1, 2]");

  const FileContent pair = args_with({{0, 1}, {1, 0}});
  CHECK(pair.messages.empty());
  CHECK(pair.strings.view(pair.comm_args[0].collective_name) == "send_recv");
  CHECK(pair.comm_args[0].peer == 0);

  const FileContent line = args_with({{0, 1}});
  CHECK(line.strings.view(line.comm_args[0].collective_name) == "recv");
}
