#include "straggler_figures.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "src/gather/process/descriptor.h"

namespace skewscope::gather {
namespace {

constexpr size_t kJobsShown = 100, kRanksShown = 4, kJobsAtOnce = 1000;
constexpr uint64_t kMostOfText = 8 << 20;          // of a report's text
constexpr std::chrono::seconds kStillGrows{3600};  // a job that has ended alarms nobody
constexpr std::string_view kWaitCaused = "skewscope_recent_wait_caused_ratio",
                           kWorstRank = "skewscope_recent_worst_ratio", kPresentRanks = "skewscope_ranks",
                           kRecentFigures = "skewscope_recent_";

std::vector<std::string_view> lines_in(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool is_sample_of(std::string_view line, std::string_view family) {
  return line.starts_with(family) && line.substr(family.size()).starts_with('{');
}

// What a label says, as it is written; "": the line has none of this name.
std::string_view label_in(std::string_view line, std::string_view name) {
  const std::string begin = std::string(name) + "=\"";
  size_t at = line.find("," + begin);
  if (at == std::string_view::npos) return "";
  at += begin.size() + 1;
  size_t end = at;
  while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
  return line.substr(at, std::min(end, line.size()) - at);
}

double value_in(std::string_view line) {
  const size_t blank = line.rfind(' ');
  double value = 0;
  if (blank != std::string_view::npos) std::from_chars(line.data() + blank + 1, line.data() + line.size(), value);
  return value;
}

std::string text_of_report(const Store& store, const std::string& job) {
  const auto stored = store.read_report(job, 0, "report.prom");
  if (stored.refusal != Refusal::none) return "";
  const Descriptor file(stored.value.fd);
  std::string text(std::min(stored.value.size, kMostOfText), '\0');
  const ssize_t got = pread(file.get(), text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  text.resize(text.rfind('\n') + 1);
  return text;
}

// Of the worst ranks alone, and without what is said of none but the whole job.
std::string recent_lines(std::string_view text) {
  std::vector<std::pair<double, std::string_view>> caused;
  const std::vector<std::string_view> lines = lines_in(text);
  for (const std::string_view line : lines) {
    if (is_sample_of(line, kWaitCaused)) caused.emplace_back(-value_in(line), label_in(line, "rank"));
  }
  std::sort(caused.begin(), caused.end());
  caused.resize(std::min(caused.size(), kRanksShown));
  std::set<std::string_view> shown;
  for (const auto& [less, rank] : caused) shown.insert(rank);
  std::string out;
  for (const std::string_view line : lines) {
    const std::string_view rank = label_in(line, "rank");
    const bool recent = line.starts_with(kRecentFigures) && (rank.empty() || shown.count(rank) > 0);
    const bool present = is_sample_of(line, kPresentRanks) && label_in(line, "state") == "present";
    if (recent || present) out.append(line).append("\n");
  }
  return shown.empty() ? "" : out;
}

std::vector<JobState> growing_jobs(const Store& store) {
  std::vector<JobState> growing;
  const Time least = wall_clock() - kStillGrows;
  std::string after;
  for (std::vector<JobState> page = store.jobs(after, kJobsAtOnce); !page.empty();
       page = store.jobs(after, kJobsAtOnce)) {
    after = page.back().name;
    for (JobState& job : page) {
      if (job.grows && job.report_generation > 0 && job.last_arrival >= least) growing.push_back(std::move(job));
    }
  }
  std::sort(growing.begin(), growing.end(),
            [](const JobState& a, const JobState& b) { return a.last_arrival > b.last_arrival; });
  growing.resize(std::min(growing.size(), kJobsShown));
  return growing;
}

}  // namespace

Straggler straggler_in(std::string_view prometheus_text) {
  Straggler worst;
  for (const std::string_view line : lines_in(prometheus_text)) {
    if (!is_sample_of(line, kWaitCaused) || value_in(line) <= worst.waiting) continue;
    worst = {std::string(label_in(line, "rank")), std::string(label_in(line, "host")), value_in(line), 0};
  }
  for (const std::string_view line : lines_in(prometheus_text)) {
    if (is_sample_of(line, kWorstRank) && label_in(line, "rank") == worst.rank) worst.worst = value_in(line);
  }
  return worst;
}

Straggler StragglerFigures::of_job(const Store& store, const JobState& job) {
  return job.grows && job.report_generation > 0 ? straggler_in(text_of_report(store, job.name)) : Straggler{};
}

std::string StragglerFigures::text(const Store& store) {
  const std::vector<JobState> jobs = growing_jobs(store);
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::pair<int, std::string>> now;
  std::map<std::string_view, std::string> families;
  for (const JobState& job : jobs) {
    auto& [generation, lines] = now[job.name];
    const auto known = known_.find(job.name);
    const bool same = known != known_.end() && known->second.first == job.report_generation;
    lines = same ? std::move(known->second.second) : recent_lines(text_of_report(store, job.name));
    generation = job.report_generation;
    for (const std::string_view line : lines_in(lines)) {
      families[line.substr(0, line.find('{'))].append(line).append("\n");
    }
  }
  std::string out;
  for (const auto& [name, samples] : families) {
    out.append("# TYPE ").append(name).append(" gauge\n").append(samples);
  }
  known_ = std::move(now);
  return out;
}

}  // namespace skewscope::gather
