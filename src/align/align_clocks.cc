// The stage: beacons -> model choice -> fit -> node prior -> uncertainties -> proof, per component of traces that share
// collectives. Components are never compared: each keeps its smallest trace as reference, at that trace's own wall
// clock. Where several processes take part, all have the table of instances and come to the same clocks; the fits that
// do not depend on one another (model choice, simulated errors: most of the time) are shared among them.

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "beacons.h"
#include "error_bars.h"
#include "feasible.h"
#include "joint_fit.h"
#include "model_choice.h"
#include "node_prior.h"
#include "one_host.h"
#include "open_ends.h"
#include "simulated_errors.h"
#include "skewscope/align.h"
#include "skewscope/base/disjoint_sets.h"
#include "skewscope/base/middle.h"
#include "skewscope/model/clock_components.h"

namespace skewscope {
namespace {

using align::Beacons;
using align::Feasible;
using align::Fit;
using align::FitResult;
using align::Freedom;

ClockMethod method_of(Freedom freedom) {
  switch (freedom) {
    case Freedom::identity:
      return ClockMethod::identity;
    case Freedom::offset:
      return ClockMethod::offset;
    case Freedom::line:
      return ClockMethod::line;
    case Freedom::bent:
      return ClockMethod::bent;
  }
  return ClockMethod::identity;
}

// t = x + a + slope (x - center), per trace, before the reference time of the job is known.
struct RawClock {
  double a_ns = 0, slope = 0;
  int64_t center_ns = 0;

  double correction_ns(int64_t x) const { return a_ns + slope * static_cast<double>(x - center_ns); }
  int64_t apply(int64_t x) const { return x + std::llround(correction_ns(x)); }
};

// Median over rows of last end - first end; `fit` null: as recorded.
double end_spread_ns(const std::vector<Beacons>& components, const std::vector<Fit>& fits) {
  std::vector<double> spreads;
  for (size_t i = 0; i < components.size(); ++i) {
    const Beacons& b = components[i];
    const size_t first = spreads.size();
    spreads.resize(first + b.rows());
    tbb::parallel_for(size_t{0}, b.rows(), [&](size_t c) {
      double low = INFINITY, high = -INFINITY;
      for (size_t k = b.begin(c); k < b.end(c); ++k) {
        double end = static_cast<double>(b.end_ns[k] - b.end_ns[b.begin(c)]);
        if (!fits.empty()) end += fits[i].correction_ns(static_cast<size_t>(b.trace[k]), b.end_ns[k]);
        low = std::min(low, end);
        high = std::max(high, end);
      }
      spreads[first + c] = high - low;
    });
  }
  if (spreads.empty()) return 0;
  return take_middle(spreads);
}

struct Aligner {
  const JobTrace& job;
  bool force;
  Exchange& exchange;
  std::vector<RawClock> raw;
  ClockModel model;

  // The correction of a trace at the knots of a bend, on its own clock.
  ClockBend bend_of(const Fit& fit, size_t t) const {
    ClockBend bend;
    const double step = 2 * fit.half_window_ns / (align::kKnots + 1);
    bend.step_ns = std::llround(step);
    bend.first = LocalNs{fit.center_ns - fit.base_ns[t] - std::llround(fit.half_window_ns)};
    for (size_t k = 0; k < align::kKnots; ++k) bend.height_ns.push_back(-fit.terms_ns[t][2 + k]);
    return bend;
  }

  void write_clock(const Beacons& beacons, const Fit& fit, size_t t) {
    const auto trace = static_cast<size_t>(beacons.traces[t]);
    raw[trace] = {static_cast<double>(fit.base_ns[t]) + fit.terms_ns[t][0], fit.terms_ns[t][1] / fit.half_window_ns,
                  fit.center_ns - fit.base_ns[t]};
    TraceClock& clock = model.clocks[trace];
    clock.method = method_of(fit.freedom);
    if (fit.freedom == Freedom::bent) clock.bend = bend_of(fit, t);
    clock.aligned = true;
    clock.component = beacons.traces.front();
    if (align::terms_of(fit.freedom) < 2) return;  // a constant holds at any time
    const auto margin = std::llround(0.05 * fit.half_window_ns);
    clock.tied_from = LocalNs{beacons.first_end_ns[t] - margin};
    clock.tied_to = LocalNs{beacons.last_end_ns[t] + margin};
  }

  // Proven bounds against the uncertainty: outside by more than three deviations means that something is wrong.
  void write_proof(const Beacons& beacons, const Feasible& feasible) {
    int64_t outside = 0;
    for (size_t t = 0; t < beacons.traces.size(); ++t) {
      TraceClock& clock = model.clocks[static_cast<size_t>(beacons.traces[t])];
      if (feasible.contradiction || !std::isfinite(feasible.low_ns[t]) || !std::isfinite(feasible.high_ns[t])) continue;
      clock.proven_low_ns = std::llround(feasible.low_ns[t]);
      clock.proven_high_ns = std::llround(feasible.high_ns[t]);
      const double off = std::max(feasible.low_ns[t], -feasible.high_ns[t]);
      outside += off > 1.5 * static_cast<double>(std::max<int64_t>(clock.uncertainty_ns, 0)) + 1'000 ? 1 : 0;
    }
    const auto tell = [&](Severity severity, FindingCode code, size_t count, const std::string& message) {
      if (count == 0) return;
      Finding finding;
      finding.severity = severity;
      finding.code = code;
      finding.count = static_cast<int64_t>(count);
      finding.message = message;
      add_finding(model.findings, finding);
    };
    tell(Severity::warning, "clocks-outside-proof", static_cast<size_t>(outside),
         "clocks are outside the offsets that cause and effect allow, by more than three deviations; waiting and "
         "transfer there are doubtful");
    tell(Severity::warning, "clocks-contradict", feasible.contradiction ? 1 : 0,
         "no clock offsets fit all time stamps: some calls were matched wrongly or do not wait for one another");
    tell(Severity::warning, "suspected-mismatch", feasible.suspects,
         "collectives end far apart on the common clock and are perhaps not one; they were not used to align clocks");
    if (100 * feasible.violations > feasible.rows) {
      tell(Severity::warning, "causality-after-fit", feasible.violations,
           "collectives in which a rank left before the last one arrived, on the common clock; they could not be split "
           "into waiting and transfer");
    }
  }

  // Traces that only refused kinds tie to the reference stay at the wall clock: how far those kinds' ends disagree is
  // all that is known of it.
  static double wall_clock_bar_ns(const Beacons& beacons, const std::vector<bool>& use, const align::ErrorBars& bars) {
    double most = 0;
    for (size_t c = 0; c < use.size(); ++c) {
      if (!use[c]) most = std::max(most, bars.end_difference_ns[static_cast<size_t>(beacons.scale_class[c])]);
    }
    return most;
  }

  void write_ties(const Beacons& beacons, const align::ErrorBars& bars) {
    for (size_t i = 0; i < beacons.classes.size(); ++i) {
      const Beacons::Class& c = beacons.classes[i];
      const Beacons::Group& g = beacons.groups[static_cast<size_t>(c.group)];
      if (g.pair) continue;
      const double bar = bars.group_ns[static_cast<size_t>(c.group)];
      model.ties.push_back({g.session, g.communicator, c.kind, c.bytes, bar < 0 ? -1 : std::llround(bar),
                            std::llround(bars.end_difference_ns[i])});
    }
  }

  // Kineto converts the stamps of a capture without host rows by a slope guessed in 44 us: 7 ppm off.
  bool gpu_only(const Beacons& beacons) const {
    return std::any_of(beacons.traces.begin(), beacons.traces.end(),
                       [&](int32_t t) { return !job.traces[static_cast<size_t>(t)].has_cpu_ops; });
  }

  static std::vector<size_t> rows_per_trace(const align::NormalEquations& equations) {
    std::vector<size_t> rows;
    for (size_t t = 0; t < equations.traces; ++t) {
      rows.push_back(static_cast<size_t>(equations.trace_begin[t + 1] - equations.trace_begin[t]));
    }
    return rows;
  }

  // Model choice, fit and uncertainties: the equations, most of the memory of this stage, end with it.
  Fit fit_and_write(const Beacons& beacons) {
    std::vector<int64_t> resolution_ns;
    std::vector<std::string> host;
    for (const int32_t t : beacons.traces) {
      resolution_ns.push_back(job.traces[static_cast<size_t>(t)].resolution_ns);
      host.push_back(job.traces[static_cast<size_t>(t)].host);
    }
    const int64_t coarsest = *std::max_element(resolution_ns.begin(), resolution_ns.end());
    align::ModelChoice choice = align::choose_model(beacons, coarsest, force, exchange);
    if (choice.freedom == Freedom::offset && gpu_only(beacons)) choice.freedom = Freedom::line;
    // Errors are simulated for a line at least: where an offset or nothing is applied, what a line would have changed
    // is part of the uncertainty.
    const Freedom freedom = std::max(choice.freedom, Freedom::line);
    const align::TiedRows rows = align::tie_rows(beacons, choice.use);
    Fit fit;
    if (choice.freedom != freedom) fit = align::fit_clocks(beacons, rows, choice.freedom).fit;
    const FitResult free = align::fit_clocks(beacons, rows, freedom);
    if (choice.freedom == freedom) fit = free.fit;
    const align::SimulatedErrors errors = align::simulate_errors(beacons, free, choice.freedom, choice.alike, exchange);
    if (fit.freedom != Freedom::identity) align::pool_nodes(host, rows_per_trace(free.equations), errors, fit);
    const align::ErrorBars bars = align::error_bars(beacons, fit, free, errors, resolution_ns);
    const double wall_clock = wall_clock_bar_ns(beacons, choice.use, bars);
    for (size_t t = 0; t < beacons.traces.size(); ++t) {
      write_clock(beacons, fit, t);
      const double bar = bars.trace_ns[t] + (fit.component[t] == 0 ? 0 : wall_clock);
      model.clocks[static_cast<size_t>(beacons.traces[t])].uncertainty_ns = std::llround(bar);
    }
    write_ties(beacons, bars);
    return fit;
  }

  Fit align(const Beacons& beacons) {
    Fit fit = fit_and_write(beacons);
    write_proof(beacons, align::feasible_intervals(beacons, fit));
    return fit;
  }

  // The recorded clocks: all one (wallclock), or one per host (none).
  void take_as_recorded(AlignMode mode) {
    std::map<std::string, int32_t> hosts;
    for (size_t t = 0; t < job.traces.size(); ++t) {
      const std::string& host = job.traces[t].host;
      const auto own = static_cast<int32_t>(t);
      int32_t component = 0;
      if (mode == AlignMode::none) component = host.empty() ? own : hosts.emplace(host, own).first->second;
      model.clocks[t].component = component;
    }
  }

  // What collectives leave untied may still be one host's clock, as recorded.
  void take_hosts(const InstanceTable& instances) {
    for (const align::HostClock& host : align::host_clocks(job, instances, model)) {
      for (const size_t t : host.traces) {
        model.clocks[t].component = static_cast<int32_t>(host.traces.front());
        model.clocks[t].uncertainty_ns = t == host.traces.front() ? 0 : host.bar_ns;
      }
    }
  }

  // A trace whose calls lack their ends may still be on the clock that the others keep as recorded.
  void take_open_ends(const InstanceTable& instances) {
    for (const align::RecordedClock& clock : align::recorded_clocks(job, instances, model)) {
      model.clocks[clock.trace].component = clock.component;
      model.clocks[clock.trace].uncertainty_ns = clock.bar_ns;
    }
  }

  // Traces without times that share a collective: their calls are compared by durations, which need no clock.
  void join_by_durations(const InstanceTable& instances) {
    DisjointSets sets(job.traces.size());
    std::vector<bool> joined(job.traces.size(), false);
    for (const CollectiveInstance& i : instances.instances) {
      const size_t first = instances.members[i.first_member].trace.index();
      for (uint32_t k = 0; k < i.member_count; ++k) {
        const size_t trace = instances.members[i.first_member + k].trace.index();
        if (!job.traces[first].durations_only || !job.traces[trace].durations_only) continue;
        sets.unite(first, trace);
        joined[trace] = true;
      }
    }
    std::map<size_t, int32_t> smallest;  // by root
    for (size_t t = 0; t < job.traces.size(); ++t) {
      if (!job.traces[t].durations_only) continue;
      TraceClock& clock = model.clocks[t];
      clock = TraceClock();
      clock.method = ClockMethod::durations;
      if (joined[t]) clock.component = smallest.try_emplace(sets.root(t), static_cast<int32_t>(t)).first->second;
    }
  }

  // The job's first event on the common clock is the reference: the same maps, written around it.
  void set_reference() {
    int64_t first = INT64_MAX;
    ComponentSpans spans;
    for (size_t t = 0; t < job.traces.size(); ++t) {
      const RankTrace& trace = job.traces[t];
      const int64_t own_first = raw[t].apply(trace.first_event.ns);
      first = std::min(first, own_first);
      spans.add(trace.session, component_number(model.clocks[t], t), own_first, raw[t].apply(trace.last_event.ns));
    }
    model.reference_ns = job.traces.empty() ? 0 : first;
    model.window_ns = spans.window_ns();
    for (size_t t = 0; t < job.traces.size(); ++t) {
      model.clocks[t].offset_ns = -std::llround(raw[t].correction_ns(model.reference_ns));
      model.clocks[t].drift_ppb = raw[t].slope == 0 ? 0 : -raw[t].slope * 1e9;
    }
  }
};

}  // namespace

ClockModel align_clocks(const JobTrace& job, const InstanceTable& instances, AlignMode mode, Exchange& exchange) {
  Aligner aligner{job, mode == AlignMode::collectives, exchange, std::vector<RawClock>(job.traces.size()), {}};
  ClockModel& model = aligner.model;
  model.clocks.resize(job.traces.size());
  const std::vector<Beacons> components = align::collect_beacons(job, instances);
  std::vector<Fit> fits;
  model.end_spread_before_ns = end_spread_ns(components, fits);
  if (mode == AlignMode::wallclock || mode == AlignMode::none) {
    aligner.take_as_recorded(mode);
  } else {
    for (const Beacons& beacons : components) fits.push_back(aligner.align(beacons));
    if (mode == AlignMode::automatic) {
      aligner.take_hosts(instances);
      aligner.take_open_ends(instances);
    }
  }
  aligner.join_by_durations(instances);
  model.end_spread_after_ns = end_spread_ns(components, fits);
  std::sort(model.ties.begin(), model.ties.end());
  aligner.set_reference();
  return std::move(model);
}

}  // namespace skewscope
