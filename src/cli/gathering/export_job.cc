#include "export_job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "jobs_text.h"
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

  // The gatherer names no files: each rank that may be there is asked for, until as many came as it has.
  Result<Done> fetch_traces(const nlohmann::json& job) {
    const int64_t arrived = job.value("arrived", int64_t{0});
    const int known = job.value("expected", 0), ranks = known > 0 ? known : kMostRanks;
    const int captures = std::max(job.value("captures", 1), 1);
    int64_t found = 0;
    for (int capture = 0; capture < captures && found < arrived; ++capture) {
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
  constexpr std::array<std::pair<const char*, const char*>, 4> kReportFiles = {
      {{"/report.json", "report.json"},
       {"/report.html", "report.html"},
       {"/report/files/summary.txt", "summary.txt"},
       {"/report/files/report.sqlite", "report.sqlite"}}};
  for (const auto& [path, name] : kReportFiles) {
    const auto fetched = run.fetch(path, name);
    if (!fetched.ok()) return fetched.error();
    if (!fetched.value()) run.exported.left.push_back(std::string(name) + ": the gatherer does not have it");
  }
  if (traces) {
    const auto fetched = run.fetch_traces(job);
    if (!fetched.ok()) return fetched.error();
  }
  return run.exported;
}

}  // namespace skewscope::cli
