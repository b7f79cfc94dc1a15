#include "skewscope/model/scale_report.h"

namespace skewscope {

const char* to_string(Scaling scaling) { return scaling == Scaling::weak ? "weak" : "strong"; }

}  // namespace skewscope
