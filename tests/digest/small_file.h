// One linked file, small enough to be seen at a glance, with something in every field a digest keeps.
#pragma once

#include "skewscope/model/trace_file.h"

namespace skewscope::test {

inline RankEvidence small_evidence() {
  RankEvidence e;
  e.file = "traces/node0.sqlite#pid7";
  e.part = "pid7";
  e.place = 1;
  e.parts = 2;
  e.folder = "/data/traces";
  e.host = "node1";
  e.gpus = 8;
  e.distributed = {true, false, 3, 8, "RANK", 1, "nccl", {{"0", "default_pg", 8, {0, 1, 2, 3, 4, 5, 6, 7}, 3, ""}}};
  e.symmetric_rank = 3;
  e.default_group_size = e.largest_group = 8;
  e.call_groups = {{3, 7}, {0, 1, 2, 3}};
  e.first_event = {1'700'000'000'000'000'010};
  e.last_event = {1'700'000'000'000'000'090};
  return e;
}

inline TraceFile small_file() {
  TraceFile file;
  file.kind = ContentKind::rank_trace;
  file.format = "nsight systems sqlite";
  file.compression = "gzip";
  file.job_name = "pretrain";
  file.bytes = 123'456;
  file.events = 789;
  const RankEvidence& e = file.evidence = small_evidence();

  LinkedTrace& l = file.linked;
  const StringId gemm = l.strings.intern("sm90_gemm"), reduce = l.strings.intern("ncclDevKernel_AllReduce");
  RankTrace& t = l.trace;
  t.file = e.file;
  t.host = e.host;
  t.device = 3;
  t.device_name = "NVIDIA H100";
  t.resolution_ns = 1000;
  t.calls_only = t.durations_only = true;
  t.one_of = 8;
  t.first_event = e.first_event;
  t.last_event = e.last_event;
  t.gpu.start = {{1'700'000'000'000'000'020}, {1'700'000'000'000'000'050}, {1'700'000'000'000'000'060}};
  t.gpu.duration_ns = {25, 5, 30};
  t.gpu.work = {GpuWork::compute, GpuWork::compute, GpuWork::communication};
  t.gpu.name = {gemm, gemm, reduce};
  t.gpu.device = {3, 3, 3};
  t.gpu.stream = {7, 7, 20};
  t.gpu.launch = {0, -1, 1};
  t.launches.start = {{1'700'000'000'000'000'010}, {1'700'000'000'000'000'030}};
  t.launches.duration_ns = {2, 3};
  t.launches.thread = {101, 102};
  t.steps = {{12, {1'700'000'000'000'000'010}, 80}};
  CollectiveCall call;
  call.start = t.gpu.start[2];
  call.duration_ns = 30;
  call.gpu_row = 2;
  call.stream = 20;
  call.kind = CollectiveKind::all_reduce;
  call.dtype = DType::bfloat16;
  call.source = MetadataSource::kernel_args;
  call.in_elements = call.out_elements = 4096;
  call.peer = Rank(5);
  call.seq = 77;
  call.comms_id = 0xfedcba9876543210;
  call.step = 12;
  call.launch_start = t.launches.start[1];
  call.launch_duration_ns = 3;
  call.launched = true;
  call.phase = CallPhase::backward;
  call.module = 1;
  call.algorithm = Algorithm::nvls;
  call.protocol = Protocol::ll128;
  CollectiveCall batch;
  batch.start = batch.launch_start = {1'700'000'000'000'000'055};
  batch.duration_ns = 4;
  batch.kind = CollectiveKind::coalesced;
  CollectiveCall exchange = batch;
  exchange.start = exchange.launch_start = {1'700'000'000'000'000'056};
  exchange.kind = CollectiveKind::all_to_all;
  t.calls = {batch, exchange, call};
  t.splits = {{1, 4096, 1 << 20}, {1, -1, 0}};
  t.messages = {{0, true, Rank(4), DType::float16, 777}, {0, false, Rank(), DType::float32, -1}};
  l.open_peers = {-1, 6};
  l.modules = {"layers.0", "layers.3"};
  t.grids = {{kernel_number("sm90_gemm"), grid_number("[8, 1, 1]"), 2, 30'000}};
  l.groups = {{"0", "default_pg", 8, "[0, 1, 2, 3, 4, 5, 6, 7]", 0, 1}};
  l.open_calls = {{0, -1, -1}, {0, -1, -1}, {0, 2, -1}};
  l.device_names = {"NVIDIA H100"};
  l.first_host_row = {1'700'000'000'000'000'010};
  l.last_host_row = {1'700'000'000'000'000'033};
  l.findings = {{Severity::warning, "bad-escape", e.file, Rank(), 4711, 2, "an escape that JSON does not know"}};
  return file;
}

}  // namespace skewscope::test
