// Hand-made jobs for tests: ranks, calls and GPU rows in microseconds, so that inputs are visible where they are used.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "skewscope/model/collective_instance.h"

namespace skewscope {

struct JobBuilder {
  JobTrace job;

  explicit JobBuilder(int32_t world_size) {
    job.world_size = world_size;
    for (int32_t r = 0; r < world_size; ++r) {
      RankTrace trace;
      trace.rank = Rank(r);
      trace.session = SessionId(0);
      job.traces.push_back(trace);
    }
  }

  CommunicatorId communicator(const std::string& name, const std::vector<int32_t>& ranks) {
    Communicator c;
    c.name = name;
    for (const int32_t r : ranks) c.members.push_back(Rank(r));
    c.size = static_cast<int32_t>(ranks.size());
    job.communicators.communicators.push_back(c);
    return CommunicatorId(static_cast<int64_t>(job.communicators.size() - 1));
  }

  // A call of `rank` from start to end, in microseconds of that rank's clock.
  CollectiveCall& call(int32_t rank, CommunicatorId communicator, double start_us, double end_us,
                       CollectiveKind kind = CollectiveKind::all_reduce, int64_t elements = 1024) {
    CollectiveCall c;
    c.start = LocalNs{static_cast<int64_t>(start_us * 1000)};
    c.duration_ns = static_cast<int64_t>(end_us * 1000) - c.start.ns;
    c.communicator = communicator;
    c.kind = kind;
    c.dtype = DType::float32;
    c.in_elements = c.out_elements = elements;
    c.launch_start = c.start;
    c.launched = true;
    Column<CollectiveCall>& calls = trace(rank).calls;
    calls.push_back(c);
    return calls.back();
  }

  // A batch with several peers, of `rank` in a step: whom it sends to, whom it receives from.
  void batch(int32_t rank, CommunicatorId communicator, int64_t step, double start_us, double end_us,
             const std::vector<int32_t>& to, const std::vector<int32_t>& from) {
    call(rank, communicator, start_us, end_us, CollectiveKind::coalesced).step = step;
    RankTrace& own = trace(rank);
    const auto row = static_cast<int32_t>(own.calls.size() - 1);
    for (const int32_t peer : to) own.messages.push_back({row, true, Rank(peer), DType::float32, 1024});
    for (const int32_t peer : from) own.messages.push_back({row, false, Rank(peer), DType::float32, 1024});
  }

  // A GPU row without a launch.
  void gpu_row(int32_t rank, GpuWork work, double start_us, double end_us) {
    GpuEvents& gpu = trace(rank).gpu;
    const auto start = static_cast<int64_t>(start_us * 1000);
    gpu.start.push_back(LocalNs{start});
    gpu.duration_ns.push_back(static_cast<int64_t>(end_us * 1000) - start);
    gpu.work.push_back(work);
    gpu.name.push_back(job.strings.intern("kernel"));
    gpu.device.push_back(0);
    gpu.stream.push_back(7);
    gpu.launch.push_back(-1);
  }

  RankTrace& trace(int32_t rank) { return job.traces[static_cast<size_t>(rank)]; }

  // Sorts GPU rows and calls and sets the windows, as ingest does.
  const JobTrace& done() {
    for (RankTrace& t : job.traces) {
      sort_gpu_rows(t);
      const Column<CollectiveCall> before = t.calls;
      std::sort(t.calls.begin(), t.calls.end(), [](const CollectiveCall& a, const CollectiveCall& b) {
        return a.start < b.start || (a.start == b.start && a.end() < b.end());
      });
      for (BatchMessage& message : t.messages) {
        const LocalNs start = before[static_cast<size_t>(message.call)].start;
        const auto at = std::find_if(t.calls.begin(), t.calls.end(), [&](const auto& c) { return c.start == start; });
        message.call = static_cast<int32_t>(at - t.calls.begin());
      }
      std::sort(t.messages.begin(), t.messages.end(), [](const BatchMessage& a, const BatchMessage& b) {
        return std::tie(a.call, a.peer, a.sends) < std::tie(b.call, b.peer, b.sends);
      });
      t.first_event = t.calls.empty() ? LocalNs{0} : t.calls.front().start;
      t.last_event = t.first_event;
      for (const CollectiveCall& c : t.calls) t.last_event = std::max(t.last_event, c.end());
    }
    return job;
  }

 private:
  static void sort_gpu_rows(RankTrace& t) {
    std::vector<size_t> order(t.gpu.size()), place(t.gpu.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::make_tuple(t.gpu.start[a], -t.gpu.duration_ns[a]) <
             std::make_tuple(t.gpu.start[b], -t.gpu.duration_ns[b]);
    });
    for (size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    for_each_column(t.gpu, [&](auto& column) {
      const auto before = column;
      for (size_t i = 0; i < order.size(); ++i) column[i] = before[order[i]];
    });
    for (CollectiveCall& c : t.calls) {
      if (c.gpu_row >= 0) c.gpu_row = static_cast<int32_t>(place[static_cast<size_t>(c.gpu_row)]);
    }
  }
};

// Sets the spans of the members of a table that was built by hand.
inline void set_spans(InstanceTable& table, const JobTrace& job) {
  table.spans.clear();
  for (const CallRef& ref : table.members) {
    const CollectiveCall& call = job[ref.trace].calls[static_cast<size_t>(ref.call)];
    table.spans.push_back({call.start, call.duration_ns});
  }
}

}  // namespace skewscope
