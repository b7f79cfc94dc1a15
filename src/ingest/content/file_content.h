// What a reader hands to the rest of ingest: one file, parsed and reduced, but not yet interpreted. Nothing here knows
// other files. Rows are in file order; stamps are Unix nanoseconds (base time added).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/kernel_table.h"
#include "comm_args.h"
#include "detail_rows.h"
#include "kernel_grids.h"
#include "launched_rows.h"
#include "skewscope/base/finding.h"
#include "skewscope/base/string_table.h"
#include "skewscope/base/time.h"
#include "skewscope/model/trace_file.h"
#include "split_lists.h"

namespace skewscope::ingest {

// A CPU op or range that tells about collectives: record_param_comms; nccl:*, gloo:* user_annotation; the ops of custom
// kernels (symm_mem::*, _C_custom_ar::*) and of vLLM, which calls NCCL past PyTorch (vllm::all_reduce).
struct CommOpRow {
  LocalNs start;
  int64_t duration_ns = 0;
  int64_t external_id = -1;
  int64_t thread = 0;
  StringId name;
  int32_t args = -1;            // row in comm_args
  int64_t input_elements = -1;  // product of the first non-empty entry of "Input Dims"; -1: absent
  int64_t other_elements = -1;  // of c10d's sized operators: of the second entry
  StringId input_type;          // first non-empty entry of "Input type"
};
inline int64_t track_of(const CommOpRow& row) { return row.thread; }

struct StepRow {
  LocalNs start;
  int64_t duration_ns = 0;
  int64_t number = 0;
  int64_t thread = 0;
};

// A call of the host that returns when what was launched before it has ended: on the device all, of a stream or up to
// an event some; or the instant at which recording ended.
struct SyncRow {
  LocalNs start;
  int64_t duration_ns = 0;
  bool ends_recording = false;
  bool of_device = true;
  int64_t thread = 0;
};

// "Stream Wait Event": what is launched to a stream from then on waits for an event of another one.
struct StreamWaitRow {
  LocalNs start;  // of the host's call
  int64_t correlation = -1;
  int32_t stream = -1;
  int32_t source = -1;       // the stream on which the event was recorded; -1: not recorded
  int64_t recorded_by = -1;  // the correlation of the call that recorded it; -1: not recorded
};

// A GPU row whose end was cut at the next start on its stream.
struct CutRow {
  LocalNs start;
  int32_t device = -1, stream = -1;
};

// An "Optimizer.step#…" range.
struct OptimizerRow {
  LocalNs start;
  int64_t duration_ns = 0;
  int64_t thread = 0;
};

// A range of the host in which a part of the model runs.
struct ModuleRow {
  LocalNs start;
  int64_t duration_ns = 0;
  int64_t thread = 0;
  StringId name;
};
inline int64_t track_of(const ModuleRow& row) { return row.thread; }

// An operator of the backward pass, with all that runs in it.
struct BackwardRow {
  LocalNs start;
  int64_t duration_ns = 0;
  int64_t thread = 0;
};
inline int64_t track_of(const BackwardRow& row) { return row.thread; }

// One end of the arrow from an operator of the forward pass to that of the backward pass: where it starts.
struct PassFlowRow {
  LocalNs start;
  int64_t thread = 0;
  int64_t id = -1;  // of the arrow
  bool backward = false;
};

// How long the device itself says that it waited in a call.
struct MeasuredWait {
  int32_t args = -1;  // row of comm_args
  int64_t ns = 0;
};

struct FileContent {
  std::string file;
  std::string format;       // "kineto json"
  std::string part;         // which of the ranks of its file: "pid4242", "gpu3"; "": the file has one
  std::string compression;  // "", "gzip", "zstd"
  ContentKind kind = ContentKind::not_a_trace;
  DistributedInfo distributed;
  std::string host_name, job_name;
  std::vector<std::string> software;      // RankTrace::software
  int64_t process_id = -1;                // on its host; -1: no row tells
  std::vector<DeviceProperties> devices;  // by device id
  bool has_base_time = false;
  int64_t base_time_ns = 0;     // in the stamps already
  bool calls_only = false;      // RankTrace::calls_only; its GPU rows are calls
  bool durations_only = false;  // RankTrace::durations_only
  int32_t one_of = 1;           // RankTrace::one_of
  bool has_cpu_ops = false;
  bool one_clock = false;     // the tracer measured how the GPU's clock goes against the host's, whatever rows it kept
  bool hip_launches = false;  // launched through HIP
  bool intel_launches = false;  // through Unified Runtime or Level Zero
  bool cuda_launches = false;
  int64_t kernel_launches = 0;  // calls that launch kernels, whether or not these were recorded
  bool hip_properties = false;  // roctracer_version, hip_* keys
  int64_t resolution_ns = 1;    // 1000: whole microseconds
  int64_t bytes = 0;            // uncompressed; counted with the first part of a file
  int64_t events = 0;

  GpuRows gpu;
  std::vector<CutRow> cut_rows;
  KernelGrids kernel_grids;
  LaunchRows launches;
  std::vector<CommOpRow> comm_ops;
  std::vector<GpuAnnotationRow> gpu_annotations;  // of collectives: nccl:*
  std::vector<StepRow> steps;
  std::vector<SyncRow> syncs;
  std::vector<StreamWaitRow> stream_waits;
  std::vector<OptimizerRow> optimizer_steps;
  std::vector<ModuleRow> modules;
  std::vector<BackwardRow> backward_ops;  // where a module is named
  std::vector<PassFlowRow> pass_flows;    // where a module is named
  std::vector<int64_t> backward_threads;  // ascending, unique: by their name, or by what ran on them
  CommArgsRows comm_args;
  std::vector<SplitLists> splits;            // by row of comm_args; of those that have any
  std::vector<PeerMessage> messages;         // by row of comm_args, ascending; of those that have several peers
  std::vector<MeasuredWait> measured_waits;  // by row of comm_args; of those that have one
  std::optional<DetailRows> details;         // where asked for
  StringTable strings;
  const KernelTable* kernels = &KernelTable::built_in();  // that told what GPU rows do
  Findings findings;
};

// Adds a finding about `count` rows of the file; none about 0.
inline void report(FileContent& content, Severity severity, FindingCode code, int64_t count, std::string message) {
  if (count == 0) return;
  add_finding(content.findings, finding_of_file(severity, code, content.file, std::move(message), count));
}

// Of the call with these arguments; -1: not measured.
int64_t measured_wait_of(const FileContent& content, int32_t args);

// What the budget is charged with: rows, without details and strings.
int64_t bytes_of(const FileContent& content);

// Of a file that has one.
inline std::vector<FileContent> only(FileContent content) {
  std::vector<FileContent> contents;
  contents.push_back(std::move(content));
  return contents;
}

}  // namespace skewscope::ingest
