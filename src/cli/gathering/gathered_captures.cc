#include "gathered_captures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "skewscope/base/file_text.h"
#include "skewscope/base/whole_file.h"
#include "skewscope/gather/report_folder.h"
#include "src/cli/process/program_identity.h"

namespace skewscope::cli {
namespace {

namespace files = std::filesystem;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kLeastTime{60};    // that all of them may take
constexpr const char* kMadeOf = "made_of.txt";    // in a report directory: what it depends on
constexpr const char* kNewestReport = "current";  // next to the generations

uint64_t bytes_in(const files::path& folder) {
  uint64_t bytes = 0;
  std::error_code failed;
  for (const auto& entry : files::recursive_directory_iterator(folder, failed)) {
    std::error_code gone;
    const uint64_t size = entry.is_regular_file(gone) ? entry.file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

// A file in the spool gives way to another, or grows: its size and time tell.
std::string what_it_is_made_of(const ReportTask& task, const files::path& folder) {
  std::vector<std::string> lines;
  std::error_code failed;
  for (const auto& file : files::directory_iterator(folder, failed)) {
    std::error_code gone;
    lines.push_back(fmt::format("{} {} {}\n", file.path().filename().string(), file.file_size(gone),
                                file.last_write_time(gone).time_since_epoch().count()));
  }
  std::sort(lines.begin(), lines.end());
  return fmt::format("{} {}\nranks {}\n{}{}", SKEWSCOPE_VERSION, build_id(), task.world_size, task.hosts,
                     fmt::join(lines, ""));
}

// False: the last generation has none of these files. Its folder is copied under another name first: what is cut short
// is no report.
bool take_over(const files::path& last, const std::string& made_of, const files::path& output) {
  const auto was_made_of = file_text((last / kMadeOf).string());
  if (!was_made_of || *was_made_of != made_of) return false;
  UnfinishedFolder copy(output.string() + ".partial");
  std::error_code failed = copy.make();
  if (!failed) files::copy(last, copy.path(), files::copy_options::recursive, failed);
  if (!failed) files::rename(copy.path(), output, failed);
  return !failed;
}

}  // namespace

void report_on_captures(const ReportTask& task, const std::set<int>& captures, steady_clock::duration report_took,
                        const ReportOnFolder& report_on) {
  if (captures.size() < 2) return;
  std::vector<int> newest(captures.rbegin(), captures.rend());
  newest.resize(std::min(newest.size(), kCapturesReported));
  const uint64_t bytes_of_job = bytes_in(task.output);
  const auto end = steady_clock::now() + std::max<steady_clock::duration>(report_took, kLeastTime);
  const files::path newest_report = files::path(task.output).parent_path() / kNewestReport;
  std::error_code failed;
  files::create_directory(files::path(task.output) / kCaptureReports, failed);
  for (const int capture : newest) {
    const files::path traces = files::path(task.traces) / fmt::format("c{:04}", capture);
    const std::string output = task.output + "/" + report_of_capture(capture);
    const std::string made_of = what_it_is_made_of(task, traces);
    // A report of one capture is about as large as the job's at most.
    if (task.room > 0 && bytes_in(task.output) + 2 * bytes_of_job > task.room) {
      fmt::print(stderr, "capture {} has no report of its own: too little room is left of what reports may have\n",
                 capture);
      return;
    }
    if (take_over(newest_report / report_of_capture(capture), made_of, output)) continue;
    if (steady_clock::now() > end) {
      fmt::print(stderr, "capture {} has no report of its own yet: those before it took as long as the job's\n",
                 capture);
      continue;
    }
    const ExitCode code = report_on(traces.string(), output, fmt::format("{} capture {}", task.job, capture));
    if (code != kDone && code != kInPart) {
      fmt::print(stderr, "capture {} has no report of its own: it ended with code {}\n", capture, int{code});
    } else {
      std::ofstream(output + "/" + kMadeOf, std::ios::binary) << made_of;
    }
  }
}

}  // namespace skewscope::cli
