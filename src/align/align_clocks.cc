// The stage: beacons -> model choice -> fit -> clocks with error bars, per component of traces that share collectives.
// Components are never compared: each keeps its smallest trace as reference, at that trace's own wall clock.

#include <algorithm>
#include <cmath>
#include <map>

#include "beacons.h"
#include "error_bars.h"
#include "joint_fit.h"
#include "model_choice.h"
#include "skewscope/align.h"

namespace skewscope {
namespace {

using align::Beacons;
using align::Fit;
using align::Freedom;

ClockMethod method_of(Freedom freedom) {
  switch (freedom) {
    case Freedom::identity:
      return ClockMethod::identity;
    case Freedom::offset:
      return ClockMethod::offset;
    case Freedom::line:
      return ClockMethod::line;
  }
  return ClockMethod::identity;
}

// t = x + a + b (x - x0)/H, per trace, before the reference time of the job is known.
struct RawClock {
  double a_ns = 0, slope = 0;
  int64_t center_ns = 0;

  double correction_ns(int64_t x) const { return a_ns + slope * static_cast<double>(x - center_ns); }
  int64_t apply(int64_t x) const { return x + std::llround(correction_ns(x)); }
};

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Median over rows of last end - first end.
double end_spread_ns(const Beacons& beacons, const std::vector<RawClock>& raw) {
  std::vector<double> spreads;
  for (size_t c = 0; c < beacons.rows(); ++c) {
    const auto first = static_cast<size_t>(beacons.row_begin[c]);
    double low = 0, high = 0;
    for (size_t k = first; k < static_cast<size_t>(beacons.row_begin[c + 1]); ++k) {
      const double end = static_cast<double>(beacons.end_ns[k] - beacons.end_ns[first]) +
                         raw[static_cast<size_t>(beacons.trace[k])].correction_ns(beacons.end_ns[k]);
      low = k == first ? end : std::min(low, end);
      high = k == first ? end : std::max(high, end);
    }
    spreads.push_back(high - low);
  }
  return median_of(spreads);
}

void align_component(const Beacons& beacons, int32_t component, const std::vector<int64_t>& resolution_ns, bool force,
                     std::vector<RawClock>& raw, ClockModel& model) {
  std::vector<bool> use(beacons.rows());
  for (size_t c = 0; c < use.size(); ++c) {
    use[c] =
        beacons.component[static_cast<size_t>(beacons.trace[static_cast<size_t>(beacons.row_begin[c])])] == component;
  }
  int64_t coarsest = 1;
  for (size_t t = 0; t < beacons.component.size(); ++t) {
    if (beacons.component[t] == component) coarsest = std::max(coarsest, resolution_ns[t]);
  }
  const Freedom freedom = align::choose_freedom(beacons, use, coarsest, force);
  const Fit fit = align::fit_clocks(beacons, use, freedom);
  const Fit free = freedom == Freedom::line ? fit : align::fit_clocks(beacons, use, Freedom::line);
  const std::vector<double> bars = align::error_bars_ns(beacons, use, fit, free, resolution_ns);
  for (size_t t = 0; t < beacons.component.size(); ++t) {
    if (beacons.component[t] != component) continue;
    raw[t] = {static_cast<double>(fit.base_ns[t]) + fit.a_ns[t], fit.b_ns[t] / fit.half_window_ns,
              fit.center_ns - fit.base_ns[t]};
    TraceClock& clock = model.clocks[t];
    clock.method = method_of(freedom);
    clock.aligned = true;
    clock.component = component;
    clock.uncertainty_ns = std::llround(bars[t]);
  }
}

// The recorded clocks: all one (wallclock), or one per host (none).
void take_as_recorded(const JobTrace& job, AlignMode mode, ClockModel& model) {
  std::map<std::string, int32_t> hosts;
  for (size_t t = 0; t < job.traces.size(); ++t) {
    const std::string& host = job.traces[t].host;
    const auto own = static_cast<int32_t>(t);
    int32_t component = 0;
    if (mode == AlignMode::none) component = host.empty() ? own : hosts.emplace(host, own).first->second;
    model.clocks[t].component = component;
  }
}

// The job's first event on the common clock is the reference: the same maps, written around it.
void set_reference(const JobTrace& job, const std::vector<RawClock>& raw, ClockModel& model) {
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (size_t t = 0; t < job.traces.size(); ++t) {
    const RankTrace& trace = job.traces[t];
    first = std::min(first, raw[t].apply(trace.first_event.ns));
    last = std::max(last, raw[t].apply(trace.last_event.ns));
  }
  model.reference_ns = job.traces.empty() ? 0 : first;
  model.window_ns = job.traces.empty() ? 0 : last - first;
  for (size_t t = 0; t < job.traces.size(); ++t) {
    model.clocks[t].offset_ns = -std::llround(raw[t].correction_ns(model.reference_ns));
    model.clocks[t].drift_ppb = raw[t].slope == 0 ? 0 : -raw[t].slope * 1e9;
  }
}

}  // namespace

ClockModel align_clocks(const JobTrace& job, const InstanceTable& instances, AlignMode mode) {
  ClockModel model;
  model.clocks.resize(job.traces.size());
  std::vector<RawClock> raw(job.traces.size());
  const Beacons beacons = align::collect_beacons(job, instances);
  model.end_spread_before_ns = end_spread_ns(beacons, raw);
  if (mode == AlignMode::wallclock || mode == AlignMode::none) {
    take_as_recorded(job, mode, model);
  } else {
    std::vector<int64_t> resolution_ns;
    for (const RankTrace& trace : job.traces) resolution_ns.push_back(trace.resolution_ns);
    for (size_t t = 0; t < job.traces.size(); ++t) {
      if (beacons.component[t] == static_cast<int32_t>(t)) {
        align_component(beacons, beacons.component[t], resolution_ns, mode == AlignMode::collectives, raw, model);
      }
    }
  }
  model.end_spread_after_ns = end_spread_ns(beacons, raw);
  set_reference(job, raw, model);
  return model;
}

}  // namespace skewscope
