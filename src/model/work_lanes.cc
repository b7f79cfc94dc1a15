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

}  // namespace skewscope
