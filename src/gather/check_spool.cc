#include "recovery.h"

namespace skewscope {

Result<SpoolCheck> check_spool(const std::string& spool, bool repair) {
  Result<std::unique_ptr<gather::FileSystem>> files = gather::open_file_system(spool);
  if (!files.ok()) return files.error();
  gather::RecoveryOptions options;
  options.spool = spool;
  options.repair = repair;
  options.verify = true;
  options.now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
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
