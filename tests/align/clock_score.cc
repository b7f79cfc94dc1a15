#include <algorithm>
#include <cmath>
#include <numeric>

#include "clock_job.h"

namespace skewscope {
namespace {

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return (v[v.size() / 2] + v[(v.size() - 1) / 2]) / 2;
}

double percentile(std::vector<double>& v, double share) {
  if (v.empty()) return 0;
  const auto at = v.begin() + static_cast<int64_t>(share * static_cast<double>(v.size() - 1));
  std::nth_element(v.begin(), at, v.end());
  return *at;
}

double mean_of(const std::vector<double>& v) {
  return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

// Common-clock reading minus true time, in microseconds.
double error_us(const ClockJob& truth, const ClockModel& clocks, size_t trace, double t_us) {
  const auto whole = std::llround(truth.clock_us(trace, t_us) * 1000);
  const LocalNs local{whole + static_cast<int64_t>(ClockJob::kEpochUs) * 1000};
  const JobNs job = clocks.to_job(TraceIndex(static_cast<int64_t>(trace)), local);
  return static_cast<double>(job.ns - static_cast<int64_t>(ClockJob::kEpochUs) * 1000) / 1000 - t_us;
}

void score_bars(const ClockJob& truth, const ClockModel& clocks, ClockScore& score) {
  size_t inside = 0, judged = 0;
  std::vector<double> bars;
  for (size_t t = 0; t < clocks.clocks.size(); ++t) {
    const TraceClock& clock = clocks.clocks[t];
    if (!clock.aligned || clock.component == static_cast<int32_t>(t)) continue;
    bars.push_back(static_cast<double>(clock.uncertainty_ns) / 1000);
    for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
      const double at = share * truth.window_us;
      const double error =
          error_us(truth, clocks, t, at) - error_us(truth, clocks, static_cast<size_t>(clock.component), at);
      inside += std::fabs(error) <= bars.back() ? 1 : 0;
      ++judged;
    }
  }
  score.rank_coverage = judged > 0 ? static_cast<double>(inside) / static_cast<double>(judged) : 0;
  score.mean_bar_us = mean_of(bars);
}

}  // namespace

ClockScore score_clocks(const ClockJob& truth, const InstanceTable& table, const ClockModel& clocks,
                        const Decomposition& split) {
  ClockScore score;
  std::vector<double> clock_errors, wait_errors;
  size_t late_right = 0, complete = 0, in_bar = 0, barred = 0;
  for (size_t id = 0; id < table.instances.size(); ++id) {
    const CollectiveInstance& i = table.instances[id];
    std::vector<double> error;
    bool pure = true;
    const auto call_at = [&](size_t row) -> const ClockJob::Call& {
      const CallRef& ref = table.members[row];
      return truth.calls[ref.trace.index()][static_cast<size_t>(ref.call)];
    };
    for (size_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      error.push_back(error_us(truth, clocks, table.members[row].trace.index(), call_at(row).end_us));
      pure = pure && call_at(row).instance == call_at(i.first_member).instance;
    }
    const double middle = median(error);
    for (const double e : error) clock_errors.push_back(std::fabs(e - middle));
    if (!i.complete || !pure) continue;
    ++complete;
    const ClockJob::Instance& was = truth.truth[static_cast<size_t>(call_at(i.first_member).instance)];
    double named = -1, latest = -1e300;
    for (size_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      const double wait = was.last_arrival_us - call_at(row).start_us;
      wait_errors.push_back(std::fabs(static_cast<double>(split.members[row].wait_ns) / 1000 - wait));
      score.wait_sum_us += wait;
      // The last to arrive is who is shown to have waited least.
      const double arrival = -static_cast<double>(split.members[row].wait_ns);
      if (arrival > latest) {
        latest = arrival;
        named = wait;
      }
      if (split.instances[id].wait_bar_ns < 0) continue;
      ++barred;
      in_bar += wait_errors.back() * 1000 <= static_cast<double>(split.instances[id].wait_bar_ns) ? 1 : 0;
    }
    late_right += named < 5 ? 1 : 0;
  }
  double squares = 0;
  for (const double e : clock_errors) squares += e * e;
  score.clock_rms_us = std::sqrt(squares / static_cast<double>(std::max<size_t>(1, clock_errors.size())));
  score.clock_p99_us = percentile(clock_errors, 0.99);
  score.wait_mae_us = mean_of(wait_errors);
  score.wait_p99_us = percentile(wait_errors, 0.99);
  // A job without complete instances claims nothing, so nothing is wrong.
  score.late_right = complete > 0 ? static_cast<double>(late_right) / static_cast<double>(complete) : 1;
  score.wait_coverage = barred > 0 ? static_cast<double>(in_bar) / static_cast<double>(barred) : 1;
  score.instances = table.instances.size();
  score_bars(truth, clocks, score);
  return score;
}

}  // namespace skewscope
