#include "skewscope/model/pipeline.h"

namespace skewscope {

const char* to_string(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::one_f_one_b:
      return "1f1b";
    case PipelineSchedule::gpipe:
      return "gpipe";
    case PipelineSchedule::interleaved:
      return "interleaved";
    case PipelineSchedule::zero_bubble:
      return "zero_bubble";
  }
  return "";
}

}  // namespace skewscope
