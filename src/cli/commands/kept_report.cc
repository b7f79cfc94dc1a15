#include "kept_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string_view>

#include "skewscope/base/file_text.h"
#include "skewscope/base/whole_file.h"
#include "src/cli/process/interruption.h"

namespace skewscope::cli {
namespace {

namespace fs = std::filesystem;

// What changes no byte of a report, but for its stamp and its summary's last line, which says where it is.
constexpr std::array<std::string_view, 13> kNoMatter = {
    "--help",    "--config", "--output",   "--force",   "--threads", "--memory-limit", "--quiet",
    "--verbose", "--color",  "--progress", "--timings", "--cache",   "--cache-limit",
};

// In the folder of a kept report.
constexpr const char* kReport = "report";
constexpr const char* kShown = "summary.shown";
constexpr const char* kQuestion = "question";  // and when and by what command it was answered first

std::string question_of(const std::string& flags, const std::vector<std::string>& files, const CacheOptions& cache) {
  std::error_code failed;
  std::string question = fmt::format("{}\n{}\n{}", cache.writer, fs::current_path(failed).string(), flags);
  if (cache.directory.empty() || flags.empty() || failed) return "";
  for (const std::string& file : files) {
    const std::string mark = mark_of_file(file);
    if (mark.empty()) return "";
    question += fmt::format("{} {}\n", mark, file);
  }
  return question;
}

bool write(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return !file.fail();
}

// How large the files are, those of the report and others.
std::string sizes_of(const std::vector<ReportFile>& files, uintmax_t shown_bytes) {
  std::string sizes = fmt::format("{} {}\n", shown_bytes, kShown);
  for (const ReportFile& file : files) sizes += fmt::format("{} {}\n", file.bytes, file.name);
  return sizes;
}

struct Answer {
  ReportStamp stamp;
  std::vector<ReportFile> files;
};

// Whole, and to this question; a crash may have cut files.
std::optional<Answer> find_answer(const fs::path& kept_folder, const std::string& question) {
  const std::string kept = file_text(kept_folder / kQuestion).value_or("");
  const size_t time_end = kept.find('\n'), command_end = kept.find('\n', time_end + 1);
  if (time_end == std::string::npos || command_end == std::string::npos) return {};
  Answer answer;
  answer.stamp.created_utc = kept.substr(0, time_end);
  answer.stamp.command = kept.substr(time_end + 1, command_end - time_end - 1);
  answer.files = files_of_report((kept_folder / kReport).string());
  std::error_code gone;
  const uintmax_t shown_bytes = fs::file_size(kept_folder / kShown, gone);
  if (gone || kept.compare(command_end + 1, std::string::npos, question + sizes_of(answer.files, shown_bytes)) != 0)
    return {};
  return answer;
}

// What could not be read may be readable the next time.
bool lacks_a_file(const JobReport& report) {
  return std::any_of(report.diagnostics.begin(), report.diagnostics.end(), is_of_unreadable_file);
}

// A report that takes more than half of the cache would push out the digests; a spreadsheet tells when it was made.
bool worth_keeping(const std::vector<ReportFile>& files, const CacheOptions& cache) {
  uintmax_t bytes = 0;
  for (const ReportFile& file : files) bytes += file.bytes;
  return bytes <= static_cast<uintmax_t>(cache.limit_bytes / 2) &&
         std::none_of(files.begin(), files.end(), [](const ReportFile& file) { return file.name == "report.xlsx"; });
}

}  // namespace

std::string flags_that_matter(const CLI::App& command) {
  std::string flags = "report\n";
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    const std::string name = option->get_name();
    if (std::find(kNoMatter.begin(), kNoMatter.end(), name) != kNoMatter.end()) continue;
    flags += name;
    for (const std::string& value : option->results()) {
      std::error_code failed;
      const fs::file_status status = fs::status(value, failed);
      const bool is_read = fs::exists(status) && !fs::is_directory(status);
      const std::string mark = fs::is_regular_file(status) ? mark_of_file(value) : "";
      if (is_read && mark.empty()) return "";  // a pipe holds something else each time
      flags += fmt::format(" {}:{} {}", value.size(), value, mark);
    }
    flags += '\n';
  }
  return flags;
}

KeptReport::KeptReport(const std::string& flags, const std::vector<std::string>& files, const CacheOptions& cache,
                       Look look)
    : flags_(flags.empty() ? "" : fmt::format("{}{} columns{}\n", flags, look.columns, look.color ? " in colour" : "")),
      files_(files),
      cache_(cache),
      look_(look),
      question_(question_of(flags_, files, cache)) {}

std::string KeptReport::folder(const std::string& more) const {
  return fmt::format("{}/{}", cache_.directory,
                     kept_report_name(cache_, fmt::format("{:x}{}", std::hash<std::string>()(question_), more)));
}

std::optional<std::string> KeptReport::give(const ReportStamp& stamp, const WriteOptions& write) const {
  if (question_.empty()) return {};
  const fs::path kept = folder(), report = kept / kReport;
  const std::optional<Answer> answer = find_answer(kept, question_);
  if (!answer) return {};
  std::error_code ignored;
  fs::last_write_time(kept, fs::file_time_type::clock::now(), ignored);
  const std::string summary = file_text(kept / kShown).value_or("");
  if (!copy_report(report.string(), answer->files, answer->stamp, stamp, write).ok()) return {};
  return summary_elsewhere(summary, write.directory, look_.columns);
}

void KeptReport::keep(const std::string& directory, const JobReport& report, const ReportStamp& stamp) const {
  const std::vector<ReportFile> files = files_of_report(directory);
  if (question_.empty() || lacks_a_file(report) || !worth_keeping(files, cache_)) return;
  if (stamp.command.find('\n') != std::string::npos || question_of(flags_, files_, cache_) != question_) return;
  if (!make_cache_folder(cache_)) return;
  keep_under_name(directory, report, stamp, files);
  trim_cache(cache_);
}

void KeptReport::keep_under_name(const std::string& directory, const JobReport& report, const ReportStamp& stamp,
                                 const std::vector<ReportFile>& files) const {
  UnfinishedFolder unfinished(folder(fmt::format("-{}", getpid())));
  const fs::path kept = folder(), &own = unfinished.path();
  std::error_code failed = unfinished.make();
  if (!failed) fs::permissions(own, fs::perms::owner_all, failed);
  if (failed) return;
  remove_when_interrupted(own.string());
  const std::string copy = (own / kReport).string(),
                    shown = terminal_summary(report, directory, look_.color, look_.columns);
  const bool whole = copy_report(directory, files, stamp, stamp, {copy, false, {}}).ok() &&
                     write(own / kShown, shown) &&
                     write(own / kQuestion, fmt::format("{}\n{}\n{}{}", stamp.created_utc, stamp.command, question_,
                                                        sizes_of(files_of_report(copy), shown.size())));
  if (whole && !find_answer(kept, question_)) {
    fs::remove_all(kept, failed);
    fs::rename(own, kept, failed);
  }
}

}  // namespace skewscope::cli
