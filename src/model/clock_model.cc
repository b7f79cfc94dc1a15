#include "skewscope/model/clock_model.h"

#include <cmath>

namespace skewscope {

const char* to_string(ClockMethod method) {
  switch (method) {
    case ClockMethod::identity:
      return "identity";
    case ClockMethod::offset:
      return "offset";
    case ClockMethod::line:
      return "line";
    case ClockMethod::wallclock:
      return "wallclock";
  }
  return "wallclock";
}

std::string check_invariants(const ClockModel& model, const JobTrace& job) {
  if (model.clocks.size() != job.traces.size()) return "not one clock per trace";
  if (model.window_ns < 0) return "negative window";
  for (size_t i = 0; i < model.clocks.size(); ++i) {
    const TraceClock& clock = model.clocks[i];
    const std::string where = "clock " + std::to_string(i);
    // A slope of 1 - drift must stay positive, or later events would map to earlier times.
    if (!std::isfinite(clock.drift_ppb) || std::abs(clock.drift_ppb) >= 1e9) return where + " is not monotone";
    if (clock.uncertainty_ns < -1) return where + " has a negative uncertainty";
    if (clock.aligned && clock.component < 0) return where + " is aligned to nobody";
    const bool as_recorded = clock.method == ClockMethod::identity || clock.method == ClockMethod::wallclock;
    if (as_recorded && (clock.offset_ns != 0 || clock.drift_ppb != 0))
      return where + " is taken as recorded, yet moved";
    if (clock.method == ClockMethod::offset && clock.drift_ppb != 0) return where + " is a constant, yet drifts";
  }
  return "";
}

}  // namespace skewscope
