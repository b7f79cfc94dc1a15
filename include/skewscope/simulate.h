// Stage: a synthetic job with known truth, as Kineto traces: demo, tests, capacity planning.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collectives/kind.h"
#include "skewscope/base/result.h"

namespace skewscope {

// How the traces are written; the letters are the metadata eras of src/ingest/kineto/KINETO.md, section 5.
enum class TraceStyle : uint8_t {
  era_a,  // 2023: whole microseconds, no metadata, External id = correlation, nccl:* ranges with dims
  era_c,  // 2.4: base time after the events, full metadata without Seq
  era_d,  // 2025: base time first, Rank, start and stride
  era_e,  // 2026: plus Seq and Comms Id
};
enum class TraceVendor : uint8_t { nvidia, amd, cpu };  // cpu: gloo ranges, no GPU rows

struct SimulateOptions {
  std::string directory;
  bool force = false;       // replace `directory` if it is empty or a simulated job; anything else is never replaced
  bool digests = false;     // write digests (skewscope/digest.h) in place of traces: styles d and e, nvidia
  std::string format;       // "": Kineto; else a name of src/simulate/formats/simulated_rank.cc
  std::string compression;  // "", "gzip", "zstd"
  uint64_t seed = 1;
  TraceStyle style = TraceStyle::era_d;
  TraceVendor vendor = TraceVendor::nvidia;
  int32_t nodes = 2, gpus_per_node = 4;
  int32_t tp = 4, pp = 1;                // data parallel size = nodes * gpus_per_node / (tp * pp)
  int32_t dp = 0;                        // 0: as above; else checked to be that
  int32_t micro_batches = 1;             // per step; with several, stages run one forward, one backward (1F1B)
  int32_t virtual_stages = 1;            // of each rank; several: interleaved 1F1B, pp divides micro_batches
  int32_t experts = 0;                   // of each rank and layer; 0: none. Tokens travel by all-to-all
  bool fsdp = false;                     // parameters are sharded, gathered layer by layer ahead of their use
  int32_t steps = 10, layers = 8;        // pp x virtual_stages divides layers
  int32_t first_step = 100;              // number of the first ProfilerStep
  int64_t layer_compute_ns = 1'000'000;  // mean per layer, direction and micro-batch; lognormal, cv 2 %
  double launch_factor = 1;              // hosts take so many times as long to launch; short kernels wait for them
  int32_t layers_per_bucket = 4;         // whose gradients are reduced together
  double message_factor = 1;             // activations and parameters have so many times as many elements
  int64_t exit_jitter_ns = 2000;         // members leave a collective this much after another, on average
  double clock_offset_ms = 0;            // node clocks uniform in +- this
  double clock_drift_ppm = 0;            // node clocks uniform in +- this
  struct SlowRank {
    int32_t rank;
    double factor;
  };  // compute takes factor times as long
  std::vector<SlowRank> slow_ranks;
  struct MoreKernels {
    int32_t rank;
    int32_t count;
  };  // it runs so many more kernels per layer and direction, each a twentieth of the layer's time
  std::vector<MoreKernels> more_kernels;
  struct OtherShape {
    int32_t rank;
    double factor;
  };  // the operands of its layers have factor times as many rows, and its layers take factor times as long
  std::vector<OtherShape> other_shapes;
  struct BusyExpert {
    int32_t rank;
    double factor;
  };  // its experts receive factor times their even part of the tokens, the others of its group the rest
  std::vector<BusyExpert> busy_experts;
  struct HostGap {
    int32_t rank;
    int64_t gap_ns;
  };  // the host is late by this once a step
  std::vector<HostGap> host_gaps;
  struct SlowHost {
    int32_t rank;
    double factor;
  };  // its host takes factor times as long to launch
  std::vector<SlowHost> slow_hosts;
  struct SlowLink {
    int32_t rank;
    double factor;
  };  // bytes between nodes take factor times as long in groups that this rank is in
  std::vector<SlowLink> slow_links;
  struct TransferFactor {
    std::string group;    // description of its groups, such as DATA_PARALLEL_GROUP
    CollectiveKind kind;  // send: of both ends
    double factor;
    std::optional<bool> backward = {};  // only those launched in the backward pass, or only others
    int32_t layer = -1;                 // only those of this layer's parameters
  };  // transfers of this operation in these groups take factor times as long; 0: no time
  std::vector<TransferFactor> transfer_factors;
  struct LateWindow {
    int32_t rank;
    int32_t steps;
  };  // its recording starts this many steps later
  std::vector<LateWindow> late_windows;
  double lost_kernels = 0;             // share of GPU rows missing from the traces, at random
  std::vector<int32_t> missing_ranks;  // no file written
  bool sync_events = false;            // write "Stream Wait Event" rows; nvidia
  int32_t cpu_rows_per_kernel = 4;     // filler: cpu_op rows per kernel, for realistic file sizes
  int32_t python_rows_per_kernel = 0;  // filler: python_function rows
};

// Writes one trace per rank and truth.json next to them. The layout of truth.json is described in
// src/simulate/README.md. Equal options give equal bytes. `stepped`: called with the number of steps that are written
// so far. Errors: usage (sizes that do not divide), output.
Result<Done> simulate_job(const SimulateOptions& options, const std::function<void(int64_t steps)>& stepped = {});

}  // namespace skewscope
