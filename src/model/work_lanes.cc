#include "skewscope/model/work_lanes.h"

namespace skewscope {

const char* to_string(LaneReason reason) {
  switch (reason) {
    case LaneReason::whole_job:
      return "";
    case LaneReason::culprit:
      return "culprit";
    case LaneReason::victim:
      return "victim";
    case LaneReason::sample:
      return "sample";
  }
  return "";
}

const char* to_string(IdleCause cause) {
  constexpr const char* kNames[kIdleCauses] = {"host",           "synchronization", "peer_call",
                                               "launch_latency", "dependency",      "not_recorded"};
  return kNames[static_cast<size_t>(cause)];
}

}  // namespace skewscope
