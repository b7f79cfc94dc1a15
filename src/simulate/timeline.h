// The job in true time, one step after another. See timeline.cc.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "job.h"

namespace skewscope::simulate {

// One operation of one rank; true nanoseconds. begin <= launch <= launched <= done; launch < start <= end.
struct OpTimes {
  int64_t begin = 0, launch = 0, launched = 0, done = 0;  // on the host
  int64_t start = -1, end = -1;                           // on the GPU
  int64_t all_arrived = -1;                               // of communication: when its last member was there
};

// Level k of n, counted from outside, between outer and inner: how the rows of one operation nest on the host.
inline int64_t nested(int64_t outer, int64_t inner, int32_t k, int32_t n) {
  return outer + (inner - outer) * k / (n + 1);
}

// When the host makes the stream of an operation wait for an event.
inline int64_t stream_wait_at(const OpTimes& times) { return nested(times.begin, times.launch, 3, 3); }

constexpr int64_t kSyncTailNs = 50'000;

struct RankStep {
  int64_t begin = 0, end = 0;          // of ProfilerStep#N
  int64_t gap_begin = 0, gap_end = 0;  // the host's stall, empty where there is none
  int64_t sync_begin = 0;              // the host waits for the GPU from here to kSyncTailNs before `end`
  std::vector<OpTimes> ops;            // row = row of the rank's program
};

// One collective or send/recv pair.
struct Instance {
  int32_t group = -1, slot = -1;
  std::vector<int32_t> ranks;  // members; of a pair: sender, receiver
  std::vector<int32_t> op;     // row of the member's program
  int32_t arrived = 0;
  std::vector<int32_t> sleepers;  // ranks that cannot go on before this ends
};

struct StepTimeline {
  std::vector<RankStep> ranks;
  std::vector<Instance> instances;
};

class TimelineEngine {
 public:
  explicit TimelineEngine(const Job& job);
  // The next step. The reference stays valid until the next call.
  const StepTimeline& next_step();

 private:
  void schedule_host(int32_t rank);
  void run_rank(int32_t rank);
  bool op_can_start(int32_t rank, int32_t op, int64_t& earliest);
  void arrive(int32_t rank, int32_t op);
  void finish(Instance& instance);
  void end_step(int32_t rank);
  int32_t instance_of(int32_t rank, const Op& op) const;
  uint64_t stream_seed(uint64_t purpose, uint64_t who) const;

  static constexpr std::array<int32_t, kStreams> no_operations() {
    std::array<int32_t, kStreams> none{};
    none.fill(-1);
    return none;
  }
  struct Cursor {
    int32_t op = 0;
    std::array<int32_t, kStreams> last_on_stream = no_operations();
  };

  const Job& job_;
  int32_t step_ = -1;
  StepTimeline timeline_;
  std::vector<int32_t> first_instance_;              // by group
  std::vector<int64_t> host_free_;                   // by rank
  std::vector<Cursor> cursors_;                      // by rank
  std::vector<std::vector<int64_t>> position_bias_;  // by group and member
  std::vector<int32_t> awake_;
};

}  // namespace skewscope::simulate
