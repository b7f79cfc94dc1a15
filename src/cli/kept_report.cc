#include "kept_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string_view>

namespace skewscope::cli {
namespace {

namespace fs = std::filesystem;

// What changes no byte of a report, but for its stamp and its summary's last line, which says where it is.
constexpr std::array<std::string_view, 13> kNoMatter = {
    "--help",    "--config", "--output",   "--force",   "--threads", "--memory-limit", "--quiet",
    "--verbose", "--color",  "--progress", "--timings", "--cache",   "--cache-limit",
};

// In the folder of a kept report. The answer's stamp and question are written last.
constexpr const char* kReport = "report";
constexpr const char* kColored = "summary.color";
constexpr const char* kQuestion = "question";

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

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return std::move(text).str();
}

bool write(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return !file.fail();
}

// How large the files are: one that was cut by a crash is seen.
std::string sizes_of(const fs::path& report) {
  std::vector<std::string> sizes;
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(report, failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code gone;
    if (entry->is_regular_file(gone)) {
      sizes.push_back(
          fmt::format("{} {}\n", entry->file_size(gone), entry->path().lexically_relative(report).string()));
    }
  }
  std::sort(sizes.begin(), sizes.end());
  return fmt::format("{}", fmt::join(sizes, ""));
}

// What could not be read may be readable the next time.
bool lacks_a_file(const JobReport& report) {
  return std::any_of(report.diagnostics.begin(), report.diagnostics.end(),
                     [](const Finding& finding) { return finding.code == "unreadable-file"; });
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
      const bool is_file = fs::is_regular_file(value, failed);
      const std::string mark = is_file ? mark_of_file(value) : "";
      if (is_file && mark.empty()) return "";
      flags += fmt::format(" {}:{} {}", value.size(), value, mark);
    }
    flags += '\n';
  }
  return flags;
}

KeptReport::KeptReport(const std::string& flags, const std::vector<std::string>& files, const CacheOptions& cache)
    : flags_(flags), files_(files), cache_(cache), question_(question_of(flags, files, cache)) {
  if (question_.empty()) return;
  place_ = fmt::format("{}/{}-report-{:x}{}", cache.directory, cache.writer, std::hash<std::string>()(question_),
                       kCachedSuffix);
}

std::optional<std::string> KeptReport::give(const ReportStamp& stamp, const WriteOptions& write, bool color) const {
  const fs::path place = place_, report = place / kReport;
  std::ifstream in(place / kQuestion, std::ios::binary);
  ReportStamp old;
  if (question_.empty() || !in || !std::getline(in, old.created_utc) || !std::getline(in, old.command)) return {};
  std::ostringstream rest;
  rest << in.rdbuf();
  if (std::move(rest).str() != question_ + sizes_of(report)) return {};
  std::error_code ignored;
  fs::last_write_time(place, fs::file_time_type::clock::now(), ignored);
  if (!copy_report(report.string(), old, stamp, write).ok()) return {};
  return summary_elsewhere(text_of(color ? place / kColored : report / "summary.txt"), write.directory);
}

void KeptReport::keep(const JobReport& report, const ReportStamp& stamp, const WriteOptions& written) const {
  if (question_.empty() || lacks_a_file(report) || question_of(flags_, files_, cache_) != question_) return;
  const fs::path place = place_;
  std::error_code failed;
  fs::remove_all(place, failed);
  fs::create_directories(place, failed);
  if (!failed) fs::permissions(place, fs::perms::owner_all, failed);  // reports tell what their owner trains
  if (failed || stamp.command.find('\n') != std::string::npos) return;
  const std::string kept = (place / kReport).string();
  const bool whole = copy_report(written.directory, stamp, stamp, {kept, false, {}}).ok() &&
                     write(place / kColored, terminal_summary(report, written.directory, true)) &&
                     write(place / kQuestion,
                           fmt::format("{}\n{}\n{}{}", stamp.created_utc, stamp.command, question_, sizes_of(kept)));
  if (!whole) fs::remove_all(place, failed);
  trim_cache(cache_);
}

}  // namespace skewscope::cli
