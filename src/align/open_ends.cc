#include "open_ends.h"

#include <algorithm>
#include <map>

#include "collectives/open_end.h"
#include "collectives/synchronization.h"

namespace skewscope::align {
namespace {

constexpr int64_t kOneClock_ns = 10'000;  // what nearly all traces of one host keep to each other

// The calls that an untied trace shares with a component whose clocks are as recorded.
struct Shared {
  int32_t component = -1;
  int64_t bar_ns = kOneClock_ns;
  bool contradicted = false;
};

class OpenEnds {
 public:
  OpenEnds(const JobTrace& job, const InstanceTable& table, const ClockModel& model)
      : job_(job), table_(table), model_(model) {}

  std::vector<RecordedClock> find() {
    for (size_t id = 0; id < table_.instances.size(); ++id) {
      if (dependency_of(table_.instances[id].kind) == Dependency::everyone) look_at(id);
    }
    std::vector<RecordedClock> clocks;
    for (const auto& [trace, shared] : shared_) {
      if (!shared.contradicted) clocks.push_back({trace, shared.component, shared.bar_ns});
    }
    return clocks;
  }

 private:
  size_t trace_of(uint32_t row) const { return table_.members[row].trace.index(); }

  bool as_recorded(size_t trace) const {
    const TraceClock& clock = model_.clocks[trace];
    return clock.component >= 0 && clock.method == ClockMethod::identity;
  }

  // When the trace began the next call of the communicator: the end of this one at the latest. Far away: there is none.
  LocalNs next_start(size_t id, TraceIndex trace) const {
    const CollectiveInstance& i = table_.instances[id];
    if (id + 1 == table_.instances.size()) return {INT64_MAX};
    const CollectiveInstance& next = table_.instances[id + 1];
    if (next.communicator != i.communicator || next.session != i.session) return {INT64_MAX};
    for (uint32_t row = next.first_member; row < next.first_member + next.member_count; ++row) {
      if (table_.members[row].trace == trace) return table_.spans[row].start;
    }
    return {INT64_MAX};
  }

  void look_at(size_t id) {
    const CollectiveInstance& i = table_.instances[id];
    const uint32_t end = i.first_member + i.member_count;
    for (uint32_t row = i.first_member; row < end; ++row) {
      const bool open = lacks_end(table_.spans[row].duration_ns) && model_.clocks[trace_of(row)].component < 0;
      if (!open) continue;
      const LocalNs ended_by = next_start(id, table_.members[row].trace);
      for (uint32_t other = i.first_member; other < end; ++other) {
        if (!lacks_end(table_.spans[other].duration_ns)) compare(row, other, ended_by);
      }
    }
  }

  void compare(uint32_t row, uint32_t other, LocalNs ended_by) {
    const size_t own = trace_of(row), partner = trace_of(other);
    if (model_.clocks[partner].component < 0) return;
    Shared& shared = shared_[own];
    const bool one_host = job_.traces[own].host == job_.traces[partner].host;
    const CallSpan &open = table_.spans[row], &whole = table_.spans[other];
    const bool impossible = open.start > whole.end() + kOneClock_ns || whole.start - kOneClock_ns > ended_by;
    const int32_t component = model_.clocks[partner].component;
    const bool another = shared.component >= 0 && shared.component != component;
    shared.component = component;
    shared.bar_ns = std::max(shared.bar_ns, model_.clocks[partner].uncertainty_ns);
    shared.contradicted = shared.contradicted || another || !one_host || impossible || !as_recorded(partner);
  }

  const JobTrace& job_;
  const InstanceTable& table_;
  const ClockModel& model_;
  std::map<size_t, Shared> shared_;  // by trace
};

}  // namespace

std::vector<RecordedClock> recorded_clocks(const JobTrace& job, const InstanceTable& table, const ClockModel& model) {
  return OpenEnds(job, table, model).find();
}

}  // namespace skewscope::align
