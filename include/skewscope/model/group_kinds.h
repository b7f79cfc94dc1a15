// Data: communicators of one kind: groups that play the same role, such as the eight data-parallel groups of a job.
#pragma once

#include <string>
#include <vector>

#include "skewscope/model/job_trace.h"

namespace skewscope {

struct GroupKind {
  std::string description;    // "Process Group Description"; "" where traces have none, or "undefined"
  int32_t size = 0;           // ranks of each
  int32_t nodes = -1;         // hosts that the ranks of each lie on; -1: not known
  int32_t communicators = 0;  // of this kind

  std::string name() const;  // the description, else "group of 4"
};

struct GroupKinds {
  std::vector<GroupKind> kinds;          // by description, size and nodes
  std::vector<int32_t> of_communicator;  // row = CommunicatorId: row of `kinds`

  // Row of `kinds`; -1 for no communicator.
  int32_t of(CommunicatorId id) const { return id.known() ? of_communicator[id.index()] : -1; }
};

// `table`: of the instances, which holds the job's communicators and the inferred ones.
GroupKinds group_kinds(const CommunicatorTable& table, const JobTrace& job);

}  // namespace skewscope
