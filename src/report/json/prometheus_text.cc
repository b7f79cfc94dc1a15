#include "prometheus_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "src/report/rows/step_rows.h"

namespace skewscope::report {
namespace {

// Backslash, quote and line feed are escaped; other control characters and invalid bytes have no place in a label.
std::string label(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? "\\n" : static_cast<unsigned char>(c) < 0x20 ? " " : std::string(1, c);
  }
  return out;
}

class MetricLines {
 public:
  explicit MetricLines(const JobReport& report) : job_(label(report.job.name)) {}

  void family(const char* name, const char* type, const char* help) {
    name_ = name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void sample(const std::string& labels, double value) {
    text_ += fmt::format("{}{{job_name=\"{}\"{}{}}} {}\n", name_, job_, labels.empty() ? "" : ",", labels, value);
  }
  std::string text() { return std::move(text_); }

 private:
  std::string job_, text_;
  const char* name_ = "";
};

double seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

// One series of each kind: which ranks cause it is text that changes from job to job.
std::vector<JobReport::Loss> worst_of_each_kind(const JobReport& report) {
  std::vector<JobReport::Loss> worst;
  for (const JobReport::Loss& loss : report.losses) {  // what weighs most first
    const bool known = std::any_of(worst.begin(), worst.end(), [&](const auto& one) { return one.kind == loss.kind; });
    if (!known) worst.push_back(loss);
  }
  return worst;
}

void add_job(const JobReport& report, MetricLines& lines) {
  lines.family("skewscope_ranks", "gauge", "Ranks of the job, and those whose traces are there.");
  lines.sample("state=\"world\"", report.job.world_size);
  lines.sample("state=\"present\"", static_cast<double>(report.job.ranks_present.size()));
  lines.family("skewscope_window_seconds", "gauge", "Length of the recorded window.");
  lines.sample("", seconds(report.job.window_ns));
  lines.family("skewscope_efficiency_ratio", "gauge", "POP and TALP efficiencies.");
  const JobReport::Efficiency& e = report.efficiency;
  const std::pair<const char*, double> efficiencies[] = {
      {"parallel", e.parallel},           {"load_balance", e.load_balance}, {"communication", e.communication},
      {"serialization", e.serialization}, {"transfer", e.transfer},         {"gpu_communication", e.gpu_communication},
      {"orchestration", e.orchestration}};
  for (const auto& [kind, value] : efficiencies) {
    if (value >= 0) lines.sample(fmt::format("kind=\"{}\"", kind), value);
  }
  lines.family("skewscope_sessions", "gauge", "Captures of the job.");
  lines.sample("", report.job.sessions);
  if (const int64_t step_ns = mean_step_ns(report); step_ns > 0) {
    lines.family("skewscope_step_seconds", "gauge", "Mean length of a step.");
    lines.sample("", seconds(step_ns));
  }
  lines.family("skewscope_gain_ratio", "gauge", "By how much the job would be shorter without a loss, of its length.");
  for (const JobReport::Loss& loss : worst_of_each_kind(report)) {
    lines.sample(fmt::format("kind=\"{}\",bound=\"{}\"", to_string(loss.kind), to_string(loss.bound)), loss.gain_share);
  }
  lines.family("skewscope_calls", "gauge", "Collective calls, matched with their peers or not.");
  lines.sample("state=\"matched\"", static_cast<double>(report.matching.matched));
  lines.sample("state=\"unmatched\"", static_cast<double>(report.matching.unmatched));
}

void add_ranks(const JobReport& report, MetricLines& lines) {
  lines.family("skewscope_gpu_seconds", "gauge", "GPU time of a rank by what it was spent on.");
  for (const JobReport::RankRow& r : report.ranks) {
    const std::pair<const char*, int64_t> states[] = {{"computing", r.compute_ns},
                                                      {"exposed_wait", r.exposed_wait_ns},
                                                      {"exposed_transfer", r.exposed_transfer_ns},
                                                      {"exposed_memcpy", r.exposed_memcpy_ns},
                                                      {"idle", r.idle_ns}};
    for (const auto& [state, ns] : states) {
      lines.sample(fmt::format("rank=\"{}\",host=\"{}\",state=\"{}\"", r.rank, label(r.host), state), seconds(ns));
    }
  }
  lines.family("skewscope_wait_caused_seconds", "gauge", "Waiting of others that a rank causes.");
  for (const JobReport::RankRow& r : report.ranks) {
    lines.sample(fmt::format("rank=\"{}\",host=\"{}\"", r.rank, label(r.host)), seconds(r.delay_caused_ns));
  }
}

// Of a long job the last tenth of its windows: a report that is made again and again says what ranks do now.
void add_recent(const JobReport& report, MetricLines& lines) {
  if (report.trend.empty()) return;
  int64_t last_ns = 0;
  for (const TrendRow& row : report.trend) last_ns = std::max(last_ns, row.start_ns + row.duration_ns);
  const int64_t length_ns = std::max(report.trend.front().duration_ns, last_ns / 10);
  std::map<int32_t, TrendRow> recent;                    // sums, by rank
  std::map<int64_t, std::pair<int64_t, int32_t>> worst;  // by window: what its worst rank caused, and which it is
  int64_t wait_ns = 0;
  for (const TrendRow& row : report.trend) {
    if (row.start_ns < last_ns - length_ns) continue;
    TrendRow& sum = recent[row.rank];
    sum.wait_caused_ns += row.wait_caused_ns;
    sum.late_count += row.late_count;
    sum.late_candidates += row.late_candidates;
    wait_ns += row.wait_ns;
    auto& [caused_ns, rank] = worst.try_emplace(row.start_ns, 0, -1).first->second;
    if (row.wait_caused_ns > caused_ns) rank = row.rank;
    caused_ns = std::max(caused_ns, row.wait_caused_ns);
  }
  std::map<int32_t, int64_t> windows;  // by rank: in which it was the worst
  for (const auto& [start, found] : worst) windows[found.second] += found.second >= 0 ? 1 : 0;
  std::map<int32_t, std::string> host;
  for (const JobReport::RankRow& r : report.ranks) host[r.rank] = label(r.host);
  const double others = std::max(1.0, static_cast<double>(report.ranks.size()) - 1) * seconds(length_ns);
  lines.family("skewscope_recent_wait_caused_ratio", "gauge",
               "Waiting of others that a rank caused in the last tenth of the job, of their time.");
  for (const auto& [rank, sum] : recent) {
    lines.sample(fmt::format("rank=\"{}\",host=\"{}\"", rank, host[rank]), seconds(sum.wait_caused_ns) / others);
  }
  lines.family("skewscope_recent_wait_ratio", "gauge",
               "Waiting of all ranks in the last tenth of the job, of their time.");
  lines.sample("", seconds(wait_ns) / (static_cast<double>(recent.size()) * seconds(length_ns)));
  lines.family("skewscope_recent_worst_ratio", "gauge",
               "Share of the windows in the last tenth of the job in which a rank caused most waiting.");
  for (const auto& [rank, count] : windows) {
    if (count == 0) continue;
    lines.sample(fmt::format("rank=\"{}\",host=\"{}\"", rank, host[rank]),
                 static_cast<double>(count) / static_cast<double>(worst.size()));
  }
  lines.family("skewscope_recent_late_ratio", "gauge",
               "Share of a rank's collectives in the last tenth of the job in which it arrived last.");
  for (const auto& [rank, sum] : recent) {
    if (sum.late_candidates == 0) continue;
    lines.sample(fmt::format("rank=\"{}\",host=\"{}\"", rank, host[rank]),
                 static_cast<double>(sum.late_count) / static_cast<double>(sum.late_candidates));
  }
}

// NCCL Inspector's name: gigabytes per second.
void add_bandwidths(const JobReport& report, MetricLines& lines) {
  lines.family("nccl_bus_bandwidth_gbs", "gauge",
               "Median bus bandwidth of a kind of collective call, 1e9 bytes per second.");
  for (const JobReport::CollectiveRow& c : report.collectives) {
    if (c.bus_bandwidth_gb_per_s.count == 0) continue;
    const auto& group = report.communicators.at(static_cast<size_t>(c.communicator));
    lines.sample(
        fmt::format("comm_name=\"{}\",comm=\"{}\",nranks=\"{}\",collective=\"{}\",dtype=\"{}\",message_size=\"{}\"",
                    label(group.name), group.id, group.size, label(to_string(c.op)), label(c.dtype), c.bytes),
        c.bus_bandwidth_gb_per_s.median);
  }
}

}  // namespace

std::string prometheus_text(const JobReport& report) {
  MetricLines lines(report);
  add_job(report, lines);
  add_ranks(report, lines);
  add_recent(report, lines);
  add_bandwidths(report, lines);
  return lines.text();
}

}  // namespace skewscope::report
