#include "src/simulate/hang/standstill.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "src/simulate/random.h"

namespace skewscope::simulate::hang {
namespace {

constexpr int64_t kBegin_ns = 1'790'000'000'000'000'000, kLaunch_ns = 30'000, kSlow_ns = 12'000'000, kRun_ns = 400'000;

// Where a call is met: group, kind of meeting (0: collective; else the ordered pair), number.
using Meeting = std::tuple<int32_t, int32_t, int32_t, int64_t>;

struct Rank {
  size_t launched = 0, done = 0;
  int64_t host_ns = kBegin_ns, gpu_ns = kBegin_ns;
  std::vector<Meeting> meetings;  // by call
};

struct Arrivals {
  std::vector<int32_t> ranks;
  int64_t last_ns = 0;
  const HangCall* first = nullptr;
  bool differs = false;
};

class Run {
 public:
  Run(const HangJob& job, const SimulateHangOptions& options)
      : job_(job), options_(options), random_(mix(options.seed, 77)), ranks_(job.calls.size()) {
    out_.calls.resize(ranks_.size());
    goes_on_ = random_.uniform() < 0.3;
    for (size_t rank = 0; rank < ranks_.size(); ++rank) number(rank);
  }

  Standstill run() {
    std::vector<int32_t> open;
    for (size_t rank = ranks_.size(); rank-- > 0;) open.push_back(static_cast<int32_t>(rank));
    while (!open.empty()) {
      const int32_t rank = open.back();
      open.pop_back();
      launch(rank);
      arrive(rank, open);
    }
    for (const Rank& rank : ranks_) out_.end_ns = std::max({out_.end_ns, rank.host_ns, rank.gpu_ns});
    return std::move(out_);
  }

 private:
  // The k-th send from a to b meets the k-th receive of b from a.
  void number(size_t rank) {
    std::map<std::tuple<int32_t, int32_t, int32_t>, int64_t> count;
    for (const HangCall& call : job_.calls[rank]) {
      int32_t from = -1, to = -1;
      if (call.op == HangOp::send || call.op == HangOp::recv) {
        const auto& members = job_.groups[static_cast<size_t>(call.group)].ranks;
        const auto own = static_cast<int32_t>(std::find(members.begin(), members.end(), static_cast<int32_t>(rank)) -
                                              members.begin());
        from = call.op == HangOp::send ? own : call.peer;
        to = call.op == HangOp::send ? call.peer : own;
      }
      ranks_[rank].meetings.emplace_back(call.group, from, to, count[{call.group, from, to}]++);
    }
  }

  bool is_faulty(int32_t rank, HangKind kind) const { return rank == job_.culprit && options_.kind == kind; }

  void launch(int32_t number) {
    Rank& rank = ranks_[static_cast<size_t>(number)];
    const std::vector<HangCall>& calls = job_.calls[static_cast<size_t>(number)];
    const bool stops = is_faulty(number, HangKind::stuck_host) || is_faulty(number, HangKind::slow_host);
    const int64_t pause_ns = is_faulty(number, HangKind::slow_host) ? kSlow_ns : kLaunch_ns;
    while (rank.launched < calls.size()) {
      if (stops && rank.launched == job_.fault_at) return;
      if (rank.launched > 0 && calls[rank.launched - 1].synchronizes) {
        if (rank.done < rank.launched) return;
        rank.host_ns = std::max(rank.host_ns, rank.gpu_ns);
      }
      rank.host_ns += pause_ns;
      out_.calls[static_cast<size_t>(number)].push_back({rank.host_ns, -1, -1});
      ++rank.launched;
    }
  }

  void arrive(int32_t number, std::vector<int32_t>& open) {
    Rank& rank = ranks_[static_cast<size_t>(number)];
    if (rank.done >= rank.launched) return;
    if (is_faulty(number, HangKind::dead_gpu) && rank.done >= job_.fault_at) return;
    RanCall& ran = out_.calls[static_cast<size_t>(number)][rank.done];
    if (ran.started_ns >= 0) return;
    ran.started_ns = std::max(ran.created_ns, rank.gpu_ns) + 1000;
    const HangCall& call = job_.calls[static_cast<size_t>(number)][rank.done];
    const Meeting& meeting = rank.meetings[rank.done];
    Arrivals& there = arrivals_[meeting];
    there.ranks.push_back(number);
    there.last_ns = std::max(there.last_ns, ran.started_ns);
    if (there.first == nullptr) there.first = &call;
    const bool message = std::get<1>(meeting) >= 0;
    there.differs =
        there.differs || (!message && (there.first->op != call.op || there.first->elements != call.elements));
    const size_t wanted = message ? 2 : job_.groups[static_cast<size_t>(call.group)].ranks.size();
    if (there.ranks.size() < wanted || (there.differs && !goes_on_)) return;
    for (const int32_t member : there.ranks) {
      Rank& one = ranks_[static_cast<size_t>(member)];
      one.gpu_ns = there.last_ns + kRun_ns;
      out_.calls[static_cast<size_t>(member)][one.done].completed_ns = one.gpu_ns;
      ++one.done;
      open.push_back(member);
    }
    arrivals_.erase(meeting);
  }

  const HangJob& job_;
  const SimulateHangOptions& options_;
  Random random_;
  bool goes_on_ = false;  // NCCL may run calls that differ as if they did not
  std::vector<Rank> ranks_;
  std::map<Meeting, Arrivals> arrivals_;
  Standstill out_;
};

}  // namespace

Standstill run_until_still(const HangJob& job, const SimulateHangOptions& options) { return Run(job, options).run(); }

}  // namespace skewscope::simulate::hang
