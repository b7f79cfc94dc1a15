// Arguments of the calls of one device, from its programs: which operation, of how much, among whom, and which of all
// executions it is.
//
// An instance of a collective is one execution of one instruction of one program. Where the host numbers the runs of
// programs, alike on all hosts, (program, instruction, run, how often it ran in the run) is a key that all members
// share; a hash of it is CommArgs::comms_id. Where it does not, a count from the beginning of the recording would begin
// elsewhere on each host: then order and ends tell, within the group.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "src/ingest/content/row_collector.h"
#include "xplane_rows.h"

namespace skewscope::ingest {

class HloCalls {
 public:
  // `device_id`: of the job; -1: not known.
  HloCalls(const DevicePlane& device, int64_t device_id, RowCollector& rows);

  bool is_collective(int32_t op) const { return op >= 0 && device_.ops[static_cast<size_t>(op)].told() != nullptr; }
  // Row of comm_args for one more execution. `run`: -1: not numbered.
  int32_t add(int32_t op, int64_t run);

 private:
  struct Known {
    bool made = false;
    CommArgs args;
    std::vector<PeerMessage> messages;  // their rows open
    uint64_t hash = 0;
  };
  Known& known(int32_t op);
  void make(const DeviceOp& op, Known& known);
  void add_peers(const HloModule& module, const HloCollective& told, Known& known);

  const DevicePlane& device_;
  const int64_t device_id_;
  RowCollector& rows_;
  std::vector<Known> known_;
  std::map<std::pair<int32_t, int64_t>, int64_t> executed_;  // (op, run) -> how often
};

}  // namespace skewscope::ingest
