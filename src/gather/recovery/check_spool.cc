#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "recovery.h"
#include "src/gather/disk/spool_paths.h"

namespace skewscope {
namespace {

namespace fs = std::filesystem;

// Takes a snapshot's manifest, where nothing can be written: SQLite wants to write its log even to read.
class CopiedManifest {
 public:
  explicit CopiedManifest(const std::string& spool) {
    if (access(spool.c_str(), W_OK) == 0 || errno != EROFS) return;
    std::string name = (fs::temp_directory_path() / "skewscope-check-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return;
    folder_ = name;
    for (const char* suffix : {"", "-wal"}) {
      const std::string file = std::string(gather::kManifestName) + suffix;
      std::error_code missing;
      fs::copy_file(fs::path(spool) / file, fs::path(folder_) / file, missing);
    }
  }
  CopiedManifest(const CopiedManifest&) = delete;
  CopiedManifest& operator=(const CopiedManifest&) = delete;
  ~CopiedManifest() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

}  // namespace

Result<SpoolCheck> check_spool(const std::string& spool, bool repair) {
  Result<std::unique_ptr<gather::FileSystem>> files = gather::open_file_system(spool);
  if (!files.ok()) return files.error();
  const CopiedManifest copied(spool);
  gather::RecoveryOptions options;
  options.manifest_folder = copied.folder();
  options.spool = spool;
  options.repair = repair;
  options.verify = true;
  options.now = gather::wall_clock();
  gather::Recovered found = gather::recover(*files.value(), options);
  if (!found.manifest) return found.error;
  SpoolCheck out;
  out.jobs = found.jobs.size();
  out.files = found.files.size();
  for (const gather::UploadRow& row : found.uploads) out.uploads += is_open(row) ? 1 : 0;
  out.problems = std::move(found.problems);
  out.to_do = std::move(found.to_do);
  return out;
}

}  // namespace skewscope
