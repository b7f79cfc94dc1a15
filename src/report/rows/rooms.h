// The rooms a report is made of, passed together.
#pragma once

#include <vector>

#include "skewscope/report.h"

namespace skewscope::report {

struct Rooms {
  const JobTrace& job;
  const InstanceTable& instances;
  const ClockModel& clocks;
  const Decomposition& decomposition;
  const Blame& blame;
  const std::vector<RankSummary>& summaries;
};

// The room's entries that belong to one instance.
struct InstanceView {
  const Rooms& rooms;
  const CollectiveInstance& instance;
  const InstanceTiming& timing;

  InstanceView(const Rooms& r, size_t row)
      : rooms(r), instance(r.instances.instances[row]), timing(r.decomposition.instances[row]) {}

  size_t size() const { return instance.member_count; }
  size_t row(size_t member) const { return instance.first_member + member; }  // in InstanceTable::members
  const CallRef& ref(size_t member) const { return rooms.instances.members[row(member)]; }
  const RankTrace& trace(size_t member) const { return rooms.job[ref(member).trace]; }
  const CollectiveCall& call(size_t member) const { return trace(member).calls[static_cast<size_t>(ref(member).call)]; }
  const CallParts& parts(size_t member) const { return rooms.decomposition.members[row(member)]; }
  bool split() const { return timing.reason == SplitReason::split; }
};

}  // namespace skewscope::report
