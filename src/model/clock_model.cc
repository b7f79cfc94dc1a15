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
    case ClockMethod::bent:
      return "bent";
    case ClockMethod::wallclock:
      return "wallclock";
    case ClockMethod::durations:
      return "durations";
  }
  return "wallclock";
}

namespace {

// A bend must be there under its method alone, and never turn time back.
std::string check_bend(const TraceClock& clock) {
  const std::vector<double>& height = clock.bend.height_ns;
  if (clock.method != ClockMethod::bent) return height.empty() ? "" : " is no bend, yet bends";
  if (height.empty() || clock.bend.step_ns <= 0) return " bends nowhere";
  double before = 0;
  for (size_t k = 0; k <= height.size(); ++k) {
    const double next = k < height.size() ? height[k] : 0;
    const double slope = clock.drift_ppb * 1e-9 + (next - before) / static_cast<double>(clock.bend.step_ns);
    if (!std::isfinite(slope) || std::fabs(slope) >= 1) return " is not monotone";
    before = next;
  }
  return "";
}

}  // namespace

std::string check_invariants(const ClockModel& model, const JobTrace& job) {
  if (model.clocks.size() != job.traces.size()) return "not one clock per trace";
  if (model.window_ns < 0) return "negative window";
  for (size_t i = 0; i < model.clocks.size(); ++i) {
    const TraceClock& clock = model.clocks[i];
    const std::string where = "clock " + std::to_string(i);
    // A slope of 1 - drift must stay positive, or later events would map to earlier times.
    if (!std::isfinite(clock.drift_ppb) || std::abs(clock.drift_ppb) >= 1e9) return where + " is not monotone";
    if (const std::string bend = check_bend(clock); !bend.empty()) return where + bend;
    if (clock.uncertainty_ns < -1) return where + " has a negative uncertainty";
    if (clock.aligned && clock.component < 0) return where + " is aligned to nobody";
    const bool as_recorded = clock.method == ClockMethod::identity || clock.method == ClockMethod::wallclock ||
                             clock.method == ClockMethod::durations;
    if (as_recorded && (clock.offset_ns != 0 || clock.drift_ppb != 0))
      return where + " is taken as recorded, yet moved";
    if (clock.method == ClockMethod::offset && clock.drift_ppb != 0) return where + " is a constant, yet drifts";
  }
  return "";
}

}  // namespace skewscope
