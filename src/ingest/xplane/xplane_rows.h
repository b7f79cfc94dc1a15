// What a profile's rows are, before they are one trace per device: rows of devices, and what the host did.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hlo_module.h"
#include "skewscope/base/time.h"
#include "skewscope/model/rank_detail.h"
#include "space.h"

namespace skewscope::ingest {

// An instruction of a program, as rows of a device run it.
struct DeviceOp {
  std::string name;      // "all-reduce.3"; "": the row is of no instruction
  std::string category;  // as XLA calls it: "loop fusion", "custom-call __cublas$gemm"
  std::string program_name;
  int64_t program = 0;
  const HloModule* module = nullptr;     // none: the file does not hold it
  int32_t collective = -1;               // row in it
  std::optional<HloCollective> in_text;  // where only the row's own name tells
  int64_t flops = -1, bytes = -1;        // of one execution, as XLA says; -1: it does not
  int64_t input_bytes = -1;              // of its operands, as the program says

  const HloCollective* told() const {
    if (module != nullptr && collective >= 0) return &module->collectives[static_cast<size_t>(collective)];
    return in_text ? &*in_text : nullptr;
  }
};

struct DeviceRow {
  LocalNs start;
  int64_t duration_ns = 0;
  int64_t correlation = -1;  // of a TPU: row in runs
  const std::string* name = nullptr;
  int32_t op = -1;  // row in DevicePlane::ops
  int32_t stream = 0;
  GpuWork work = GpuWork::compute;
  int64_t bytes = -1;  // of a copy or fill
  int32_t shape = -1;  // row in DevicePlane::shapes
  uint16_t grid = 0;   // of kernels: KernelGrid::grid
};

// One execution of a program.
struct ProgramRun {
  LocalNs start;
  int64_t duration_ns = 0;
  std::string_view program;     // its name
  std::optional<int64_t> flow;  // what its enqueueing on the host says, too
};

struct DevicePlane {
  std::string part;  // "gpu3"
  int32_t ordinal = 0;
  bool tpu = false;
  int64_t global_id = -1;  // as its own plane says
  DeviceProperties properties;
  bool amd = false;
  int64_t process_id = -1;
  std::unordered_map<int64_t, std::string> own_names;  // of rows that need another than the plane's
  std::vector<DeviceRow> rows;
  std::vector<DeviceOp> ops;
  std::vector<ProgramRun> runs;  // TPU
  std::vector<KernelShape> shapes;
  int64_t events = 0;
};

struct HostLaunch {
  int64_t correlation = -1;
  LocalNs start;
  int64_t duration_ns = 0;
  int32_t thread = 0;  // row in HostPlane::threads
  int32_t device = -1;
  int32_t row = -1;  // in HostPlane::rows
  bool copies = false;
};

// A range of the host on one thread.
struct HostRange {
  LocalNs start;
  int64_t duration_ns = 0;
  int32_t thread = 0;
  const std::string* name = nullptr;
  int64_t number = -1;  // step_num, run_id

  LocalNs end() const { return start + duration_ns; }
};

struct HostPlane {
  struct Thread {
    int64_t id = 0;
    std::string name;
  };
  std::vector<Thread> threads;
  std::vector<HostLaunch> launches;
  std::unordered_map<int64_t, HostLaunch> enqueued;  // TPU, by flow
  std::vector<HostRange> steps;                      // of the user: StepTraceAnnotation
  std::vector<HostRange> executions;                 // of programs, with their run's number where it is told
  std::vector<HostRange> syncs;
  std::vector<HostRange> rows;                // everything, where details are asked for
  std::map<int64_t, int64_t> global_ids;      // of the process' devices, as its cliques say
  std::map<int64_t, int64_t> clique_devices;  // how many devices the largest clique of a device has
  int64_t process_id = -1;
  int64_t events = 0;

  // Keeps what says which devices these are.
  void forget_rows() {
    launches.clear();
    enqueued.clear();
    steps.clear();
    executions.clear();
    syncs.clear();
    rows.clear();
  }
};

// Times of a profile: picoseconds behind a line's nanoseconds, both ends rounded down to nanoseconds, so that rows that
// touch still do.
struct XTime {
  int64_t profile_start_ns = 0;

  LocalNs at(int64_t timestamp_ns, int64_t offset_ps) const;
};

}  // namespace skewscope::ingest
