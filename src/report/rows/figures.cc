#include "figures.h"

#include "skewscope/base/human_units.h"

namespace skewscope::report {

Figures figures_of(const JobReport& report) {
  Figures f;
  for (const JobReport::RankRow& r : report.ranks) {
    f.calls += r.collectives;
    f.wait_ns += r.wait_ns;
    f.transfer_ns += r.transfer_ns;
    f.unattributed_ns += r.unattributed_ns;
    f.exposed_wait_ns += r.exposed_wait_ns;
    f.exposed_transfer_ns += r.exposed_transfer_ns;
    f.exposed_communication_ns += r.exposed_communication_ns;
    f.blocking_communication_ns += r.blocking_communication_ns;
    f.coincided_communication_ns += r.coincided_communication_ns;
    f.exposed_memcpy_ns += r.exposed_memcpy_ns;
    f.total_ns += r.total_ns;
    f.compute_ns += r.compute_ns;
    f.idle_ns += r.idle_ns;
  }
  f.call_ns = f.wait_ns + f.transfer_ns + f.unattributed_ns;
  for (const JobReport::CollectiveRow& row : report.collectives) f.instances += row.count;
  return f;
}

std::optional<double> share(int64_t part, int64_t whole) {
  if (whole <= 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::string spoken_percent(double ratio) {
  const std::string percent = human_percent(ratio);
  if (percent.front() == '<') return "under " + percent.substr(1);
  return percent.front() == '>' ? "over " + percent.substr(1) : percent;
}

std::string percent_of(int64_t part, int64_t whole) { return human_percent(share(part, whole).value_or(0)); }

}  // namespace skewscope::report
