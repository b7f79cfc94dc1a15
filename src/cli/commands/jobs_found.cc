#include "jobs_found.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "skewscope/base/human_units.h"
#include "skewscope/base/printable.h"
#include "skewscope/base/text_columns.h"
#include "skewscope/report.h"
#include "src/cli/process/terminal.h"

namespace skewscope::cli {
namespace {

using JobLine = std::array<std::string, 6>;

std::string hosts_words(const std::vector<std::string>& hosts) {
  if (hosts.empty()) return "-";
  const std::string first = printable(hosts.front());
  return hosts.size() == 1 ? first : fmt::format("{} and {} more", first, hosts.size() - 1);
}

std::string when_words(int64_t start_ns) {
  if (start_ns <= 0) return "-";
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(start_ns / 1'000'000'000)));
}

JobLine line_of(const FoundJob& job) {
  const size_t ranks = job.ranks.size();
  return {printable(job.name),
          fmt::format("{}", job.files),
          job.world_size > 0 ? fmt::format("{} of {}", ranks, job.world_size) : fmt::format("{}", ranks),
          hosts_words(job.hosts),
          when_words(job.start_ns),
          human_duration(job.duration_ns)};
}

}  // namespace

std::string jobs_text(const std::vector<FoundJob>& jobs) {
  std::vector<JobLine> lines = {{"JOB", "FILES", "RANKS", "HOST", "RECORDED", "SPAN"}};
  for (const FoundJob& job : jobs) lines.push_back(line_of(job));
  std::array<size_t, std::tuple_size_v<JobLine>> widths{};
  for (const JobLine& line : lines) {
    for (size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], text_width(line[c]));
  }
  std::string text;
  for (const JobLine& line : lines) {
    for (size_t c = 0; c + 1 < line.size(); ++c) text += pad(line[c], widths[c] + 2);
    text += line.back() + "\n";
  }
  return text;
}

bool print_jobs(const std::vector<FoundJob>& jobs, bool json) {
  return print(json ? jobs_found_json(jobs, SKEWSCOPE_VERSION) : jobs_text(jobs));
}

}  // namespace skewscope::cli
