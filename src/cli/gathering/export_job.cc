#include "export_job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "jobs_text.h"
#include "skewscope/gather/report_folder.h"
#include "skewscope/protocol/names.h"

namespace skewscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kNotThere = 404;

class Export {
 public:
  Export(GathererClient& client, std::string job, std::string directory)
      : client_(client), job_("/v1/jobs/" + std::move(job)), directory_(std::move(directory)) {}

  // The file's suffix, ".json.gz", comes from the gatherer where `name` has none. False: the gatherer has no such file.
  Result<bool> fetch(const std::string& path, const std::string& name) {
    const std::string part = directory_ + "/" + name + ".part";
    const int descriptor = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) return Error{ErrorKind::output, part + ": " + std::strerror(errno)};
    const auto answer = client_.download(job_ + path, descriptor);
    const bool stored = close(descriptor) == 0;
    if (!answer.ok() || !answer.value().done() || !stored) unlink(part.c_str());
    if (!answer.ok()) return answer.error();
    if (!stored) return Error{ErrorKind::output, part + ": " + std::strerror(errno)};
    if (answer.value().status == kNotThere) return false;
    if (!answer.value().done()) return Error{ErrorKind::no_input, job_ + path + ": " + answer.value().detail};
    const std::string& given = answer.value().filename;
    const size_t dot = given.find('.');
    const std::string whole =
        fs::path(name).has_extension() || dot == std::string::npos ? name : name + given.substr(dot);
    std::error_code failed;
    fs::rename(part, directory_ + "/" + whole, failed);
    if (failed) return Error{ErrorKind::output, whole + ": " + failed.message()};
    exported.files.push_back(whole);
    return true;
  }

  // The job's report, or a capture's own: where the gatherer has it, into which folder it goes here.
  Result<Done> fetch_report(const std::string& at, const std::string& folder) {
    constexpr std::array<std::pair<const char*, const char*>, 4> kReportFiles = {
        {{"/report.json", "report.json"},
         {"/report.html", "report.html"},
         {"/report/files/summary.txt", "summary.txt"},
         {"/report/files/report.sqlite", "report.sqlite"}}};
    std::error_code failed;
    fs::create_directories(directory_ + "/" + folder, failed);
    if (failed) return Error{ErrorKind::output, directory_ + ": " + failed.message()};
    for (const auto& [path, name] : kReportFiles) {
      const auto fetched = fetch(at + path, folder + name);
      if (!fetched.ok()) return fetched.error();
      if (!fetched.value()) exported.left.push_back(folder + name + ": the gatherer does not have it");
    }
    return Done{};
  }

  // The gatherer names no files: each rank that may be there is asked for, until as many came as it has.
  Result<Done> fetch_traces(const nlohmann::json& job) {
    const int64_t arrived = job.value("arrived", int64_t{0});
    const int known = job.value("expected", 0), ranks = known > 0 ? known : kMostRanks;
    int64_t found = 0;
    for (const int capture : job.value("capture_numbers", std::vector<int>())) {
      if (found == arrived) break;
      const std::string folder = fmt::format("traces/c{:04}", capture);
      std::error_code failed;
      fs::create_directories(directory_ + "/" + folder, failed);
      if (failed) return Error{ErrorKind::output, directory_ + ": " + failed.message()};
      for (int rank = 0; rank < ranks && found < arrived; ++rank) {
        const auto fetched =
            fetch(fmt::format("/ranks/{}?capture={}", rank, capture), fmt::format("{}/rank{}", folder, rank));
        if (!fetched.ok()) return fetched.error();
        found += fetched.value() ? 1 : 0;
      }
    }
    if (found < arrived)
      exported.left.push_back(fmt::format("{} of {} traces were not found", arrived - found, arrived));
    return Done{};
  }

  Exported exported;

 private:
  GathererClient& client_;
  std::string job_, directory_;
};

}  // namespace

Result<Exported> export_job(GathererClient& client, const nlohmann::json& job, const std::string& directory,
                            bool traces) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed) return Error{ErrorKind::output, directory + ": " + failed.message()};
  if (!fs::is_empty(directory, failed))
    return Error{ErrorKind::output, directory + " is not empty: name another folder"};
  Export run(client, field_text(job, "job"), directory);
  auto fetched_reports = run.fetch_report("", "");
  for (const char* const name : {kAlignedTrace, kAlignedTraceText}) {  // which not every job has
    const auto fetched = run.fetch(std::string("/report/files/") + name, name);
    if (!fetched.ok()) return fetched.error();
  }
  for (const nlohmann::json& capture : job.value("capture_reports", nlohmann::json::array())) {
    if (!fetched_reports.ok()) break;
    const int number = capture.is_object() ? capture.value("capture", 0) : 0;
    fetched_reports = run.fetch_report(fmt::format("/captures/{}", number), report_of_capture(number) + "/");
  }
  if (!fetched_reports.ok()) return fetched_reports.error();
  if (traces) {
    const auto fetched = run.fetch_traces(job);
    if (!fetched.ok()) return fetched.error();
  }
  return run.exported;
}

}  // namespace skewscope::cli
