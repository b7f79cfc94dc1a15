// Jobs of a few ranks on one clock, in microseconds: work, then a collective, as a trace shows them.
#pragma once

#include <map>
#include <utility>

#include "skewscope/attribute.h"
#include "skewscope/blame.h"
#include "tests/job_builder.h"

namespace skewscope::test {

// What each rank does is written down step by step; times come out as on a GPU: work runs back to back, a collective
// starts when its members' work is done, ends `transfer` after the last arrival, and the work behind it waits for it.
class SmallJob {
 public:
  explicit SmallJob(int32_t ranks)
      : builder_(ranks), now_(static_cast<size_t>(ranks), 0), launched_(static_cast<size_t>(ranks), -1000) {
    for (int32_t r = 0; r < ranks; ++r) all_.push_back(r);
  }

  CommunicatorId group(const std::vector<int32_t>& ranks) { return builder_.communicator("group", ranks); }

  // A kernel of `rank`; `launched_late`: the GPU idles that long before it because the host launches late.
  void work(int32_t rank, double us, const std::string& kernel = "gemm", double launched_late = 0) {
    double& now = now_[static_cast<size_t>(rank)];
    const double start = now + launched_late;
    if (launched_late > 0) launched_[static_cast<size_t>(rank)] = start - 5;
    add_row(rank, GpuWork::compute, start, start + us, launch(rank));
    builder_.trace(rank).gpu.name.back() = builder_.job.strings.intern(kernel);
    now = start + us;
  }

  // All members of the group meet. `beside`: their work goes on without waiting for it.
  void meet(CommunicatorId group, double transfer_us, bool beside = false) {
    const std::vector<Rank>& members = builder_.job.communicators[group].members;
    double last = 0;
    for (const Rank rank : members) last = std::max({last, now_[rank.index()], stream_free_[{group, rank}]});
    Meeting meeting{group, {}};
    for (const Rank rank : members) {
      double& now = now_[rank.index()];
      double& stream_free = stream_free_[{group, rank}];
      const double start = std::max(now, stream_free);
      CollectiveCall& call = builder_.call(rank.value, group, start, last + transfer_us);
      stream_free = last + transfer_us;
      call.stream = 20 + group.value;
      call.launch_start = launch(rank.value);
      call.launch_duration_ns = kLaunchNs;
      call.gpu_row = static_cast<int32_t>(builder_.trace(rank.value).gpu.size());
      add_row(rank.value, GpuWork::communication, start, last + transfer_us, call.launch_start);
      meeting.starts.push_back(call.start);
      if (!beside) now = last + transfer_us;
    }
    meetings_.push_back(meeting);
  }

  // The host of `rank` waits until the GPU has nothing left, and launches on; the GPU idles for 10 us.
  void synchronize(int32_t rank) {
    double& now = now_[static_cast<size_t>(rank)];
    double& launched = launched_[static_cast<size_t>(rank)];
    builder_.trace(rank).synchronizing.push_back({LocalNs{ns(launched + 1)}, ns(now + 2) - ns(launched + 1)});
    launched = now + 5;
    now += 10;
  }

  struct Rooms {
    JobTrace job;
    InstanceTable instances;
    ClockModel clocks;
    Decomposition decomposition;
    Blame blame;
  };

  Rooms done() {
    Rooms rooms;
    builder_.done();
    rooms.job = std::move(builder_.job);
    rooms.instances.communicators = rooms.job.communicators;
    std::map<CommunicatorId, int32_t> ordinals;
    for (const Meeting& meeting : meetings_) add_instance(rooms, meeting, ordinals[meeting.group]++);
    set_spans(rooms.instances, rooms.job);
    rooms.clocks.clocks.resize(rooms.job.traces.size());
    for (TraceClock& clock : rooms.clocks.clocks) {
      clock.component = 0;
      clock.uncertainty_ns = 0;
    }
    rooms.decomposition = attribute_time(rooms.job, rooms.instances, rooms.clocks);
    rooms.blame = find_blame(rooms.job, rooms.instances, rooms.clocks, rooms.decomposition);
    return rooms;
  }

 private:
  static constexpr int64_t kLaunchNs = 50;

  struct Meeting {
    CommunicatorId group;
    std::vector<LocalNs> starts;
  };

  void add_row(int32_t rank, GpuWork work, double start, double end, LocalNs launch) {
    RankTrace& trace = builder_.trace(rank);
    builder_.gpu_row(rank, work, start, end);
    trace.gpu.launch.back() = static_cast<int32_t>(trace.launches.size());
    trace.launches.start.push_back(launch);
    trace.launches.duration_ns.push_back(kLaunchNs);
    trace.launches.thread.push_back(1);
  }

  // Just behind the launch before it; the host runs ahead of the GPU.
  LocalNs launch(int32_t rank) { return LocalNs{ns(launched_[static_cast<size_t>(rank)] += 0.1)}; }

  static int64_t ns(double us) { return static_cast<int64_t>(us * 1000); }

  static void add_instance(Rooms& rooms, const Meeting& meeting, int32_t ordinal) {
    const std::vector<Rank>& members = rooms.job.communicators[meeting.group].members;
    CollectiveInstance instance;
    instance.communicator = meeting.group;
    instance.session = SessionId(0);
    instance.kind = CollectiveKind::all_reduce;
    instance.ordinal = ordinal;
    instance.first_member = static_cast<uint32_t>(rooms.instances.members.size());
    instance.member_count = static_cast<uint32_t>(members.size());
    instance.expected = static_cast<int32_t>(members.size());
    instance.complete = true;
    for (size_t m = 0; m < members.size(); ++m) {
      const Column<CollectiveCall>& calls = rooms.job.traces[members[m].index()].calls;
      const auto at = std::find_if(calls.begin(), calls.end(), [&](const CollectiveCall& call) {
        return call.communicator == meeting.group && call.start == meeting.starts[m];
      });
      rooms.instances.members.push_back({TraceIndex(members[m].value), static_cast<int32_t>(at - calls.begin())});
    }
    rooms.instances.instances.push_back(instance);
  }

  JobBuilder builder_;
  std::vector<int32_t> all_;
  std::vector<double> now_;
  std::vector<Meeting> meetings_;
  std::vector<double> launched_;
  std::map<std::pair<CommunicatorId, Rank>, double> stream_free_;
};

inline int64_t of(const CauseBook& book, LateCause cause) { return book[static_cast<size_t>(cause)]; }

}  // namespace skewscope::test
