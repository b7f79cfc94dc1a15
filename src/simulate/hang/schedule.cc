#include "src/simulate/hang/schedule.h"

#include <algorithm>

#include "src/simulate/random.h"

namespace skewscope::simulate::hang {
namespace {

constexpr int kSteps = 3, kMicroBatches = 3, kLayers = 3;
constexpr int64_t kActivations = 1 << 20, kShard = 1 << 18;

class Layout {
 public:
  Layout(const SimulateHangOptions& options, HangJob& job) : options_(options), job_(job) {
    dp_ = options.ranks / (options.tp * options.pp);
    job_.calls.resize(static_cast<size_t>(options.ranks));
    job_.groups_of.resize(static_cast<size_t>(options.ranks));
    tp_of_.assign(job_.calls.size(), -1);
    dp_of_ = pp_of_ = tp_of_;
    std::vector<int32_t> world;
    for (int32_t rank = 0; rank < options.ranks; ++rank) world.push_back(rank);
    add("default_pg", world, nullptr);
    if (dp_ > 1) {
      for (int32_t p = 0; p < options.pp; ++p) {
        for (int32_t t = 0; t < options.tp; ++t)
          add("DATA_PARALLEL_GROUP", ranks_of(dp_, [&](int32_t d) { return rank_at(p, d, t); }), &dp_of_);
      }
    }
    if (options.tp > 1) {
      for (int32_t p = 0; p < options.pp; ++p) {
        for (int32_t d = 0; d < dp_; ++d) {
          add("TENSOR_MODEL_PARALLEL_GROUP", ranks_of(options.tp, [&](int32_t t) { return rank_at(p, d, t); }),
              &tp_of_);
        }
      }
    }
    if (options.pp > 1) {
      for (int32_t d = 0; d < dp_; ++d) {
        for (int32_t t = 0; t < options.tp; ++t) {
          add("PIPELINE_MODEL_PARALLEL_GROUP", ranks_of(options.pp, [&](int32_t p) { return rank_at(p, d, t); }),
              &pp_of_);
        }
      }
    }
  }

  void fill(int32_t rank) {
    std::vector<HangCall>& calls = job_.calls[static_cast<size_t>(rank)];
    const auto at = static_cast<size_t>(rank);
    const int32_t stage = rank / (dp_ * options_.tp), last = options_.pp - 1;
    const auto message = [&](HangOp op, int32_t peer) { calls.push_back({op, pp_of_[at], peer, kActivations}); };
    const auto layers = [&] {
      for (int layer = 0; layer < kLayers && tp_of_[at] >= 0; ++layer)
        calls.push_back({HangOp::all_reduce, tp_of_[at], -1, kActivations});
    };
    for (int step = 0; step < kSteps; ++step) {
      for (int batch = 0; batch < kMicroBatches; ++batch) {
        if (stage > 0) message(HangOp::recv, stage - 1);
        layers();
        if (stage < last) message(HangOp::send, stage + 1);
      }
      for (int batch = 0; batch < kMicroBatches; ++batch) {
        if (stage < last) message(HangOp::recv, stage + 1);
        layers();
        if (stage > 0) message(HangOp::send, stage - 1);
      }
      for (int bucket = 0; bucket < 2 && dp_of_[at] >= 0; ++bucket)
        calls.push_back({HangOp::reduce_scatter, dp_of_[at], -1, kShard});
      if (dp_of_[at] >= 0) calls.push_back({HangOp::all_gather, dp_of_[at], -1, kShard / 2});
      calls.push_back({HangOp::all_reduce, 0, -1, 1, true});
    }
  }

 private:
  int32_t rank_at(int32_t p, int32_t d, int32_t t) const { return (p * dp_ + d) * options_.tp + t; }

  template <class Place>
  static std::vector<int32_t> ranks_of(int32_t size, Place place) {
    std::vector<int32_t> ranks;
    for (int32_t i = 0; i < size; ++i) ranks.push_back(place(i));
    return ranks;
  }

  void add(const std::string& description, const std::vector<int32_t>& ranks, std::vector<int32_t>* group_of) {
    const auto number = static_cast<int32_t>(job_.groups.size());
    for (const int32_t rank : ranks) {
      job_.groups_of[static_cast<size_t>(rank)].push_back(number);
      if (group_of != nullptr) (*group_of)[static_cast<size_t>(rank)] = number;
    }
    job_.groups.push_back({description, ranks});
  }

  const SimulateHangOptions& options_;
  HangJob& job_;
  int32_t dp_ = 1;
  std::vector<int32_t> tp_of_, dp_of_, pp_of_;
};

bool is_message(const HangCall& call) { return call.op == HangOp::send || call.op == HangOp::recv; }

// In the last step, so that there is a past.
size_t pick_call(const std::vector<HangCall>& calls, Random& random, bool collective) {
  const size_t from = calls.size() * (kSteps - 1) / kSteps;
  for (;;) {
    const size_t at = from + static_cast<size_t>(random.uniform() * static_cast<double>(calls.size() - from));
    if (!collective || !is_message(calls[at])) return at;
  }
}

// Calls that may go behind the job's last one: of a group that shares another member with it, and nothing in between
// that another rank takes turns with.
std::vector<size_t> movable(const HangJob& job, int32_t rank) {
  const std::vector<HangCall>& calls = job.calls[static_cast<size_t>(rank)];
  std::vector<size_t> found;
  for (size_t at = calls.size() - 1; at-- > 0;) {
    if (is_message(calls[at]) || calls[at].group == 0) break;
    found.push_back(at);
  }
  return found;
}

// The culprit is the next rank that has such a call.
void move_call(HangJob& job, Random& random) {
  for (size_t tries = 0; tries < job.calls.size(); ++tries) {
    const std::vector<size_t> found = movable(job, job.culprit);
    if (!found.empty()) {
      std::vector<HangCall>& calls = job.calls[static_cast<size_t>(job.culprit)];
      job.fault_at = found[static_cast<size_t>(random.uniform() * static_cast<double>(found.size()))];
      const auto at = calls.begin() + static_cast<int64_t>(job.fault_at);
      std::rotate(at, at + 1, calls.end());
      return;
    }
    job.culprit = (job.culprit + 1) % static_cast<int32_t>(job.calls.size());
  }
}

}  // namespace

HangJob hang_job(const SimulateHangOptions& options) {
  HangJob job;
  Layout layout(options, job);
  for (int32_t rank = 0; rank < options.ranks; ++rank) layout.fill(rank);
  Random random(mix(options.seed, static_cast<uint64_t>(options.kind)));
  job.culprit = static_cast<int32_t>(random.uniform() * options.ranks);
  std::vector<HangCall>& calls = job.calls[static_cast<size_t>(job.culprit)];
  const bool of_calls = options.kind == HangKind::missing_rank || options.kind == HangKind::size;
  job.fault_at = pick_call(calls, random, of_calls);
  if (options.kind == HangKind::missing_rank) calls.erase(calls.begin() + static_cast<int64_t>(job.fault_at));
  if (options.kind == HangKind::size)
    calls[job.fault_at].elements = std::max<int64_t>(calls[job.fault_at].elements / 2, 2);
  if (options.kind == HangKind::order) move_call(job, random);
  return job;
}

}  // namespace skewscope::simulate::hang
