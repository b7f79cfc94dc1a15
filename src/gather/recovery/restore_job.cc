// Out of the trash again: a deleted job's folder lies there under the job's name until it is swept. Moved back with a
// mark, which holds its owner's uid, it is taken up by the next start as what a lost manifest did not know is
// (recovery.h).
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "skewscope/gather.h"
#include "src/gather/disk/file_system.h"
#include "src/gather/disk/spool_paths.h"

namespace skewscope {
namespace {

using namespace gather;

Error cannot(const std::string& what, int error) { return {ErrorKind::output, what + ": " + std::strerror(error)}; }

int write_mark(FileSystem& files, const std::string& mark, uint32_t owner_uid) {
  int file = -1;
  int error = files.create(mark, file);
  if (error == EEXIST) error = files.open(mark, true, file);  // of a try that was cut short
  if (error != 0) return error;
  error = files.write(file, std::to_string(owner_uid), 0);
  if (error == 0) error = files.sync_data(file);
  files.close(file);
  return error;
}

}  // namespace

Result<Done> restore_job(const std::string& spool, const std::string& job) {
  auto opened = open_file_system(spool);
  if (!opened.ok()) return opened.error();
  FileSystem& files = *opened.value();
  if (const int error = files.lock(kLockName); error != 0) {
    return Error{ErrorKind::no_input, error == EWOULDBLOCK
                                          ? "another process has the spool " + spool + ": stop it first"
                                          : "cannot lock the spool: " + std::string(strerror(error))};
  }
  std::vector<FolderEntry> entries;
  if (const int error = files.list("trash", entries); error != 0)
    return cannot("cannot list " + spool + "/trash", error);
  std::string newest;
  std::chrono::sys_seconds since{};
  for (const FolderEntry& entry : entries) {
    PathInfo info;
    if (job_in_trash(entry.name) != job || files.info("trash/" + entry.name, info) != 0) continue;
    if (!newest.empty() && info.changed <= since) continue;
    newest = entry.name;
    since = info.changed;
  }
  if (newest.empty()) return Error{ErrorKind::no_input, "the trash of " + spool + " has no job " + job};
  const std::string from = "trash/" + newest;
  int error = write_mark(files, from + "/" + kRestoredName, owner_in_trash(newest));
  if (error == 0) error = files.sync_folder(from);
  if (error == 0) error = files.rename(from, job_folder(job), false);
  if (error == 0) error = files.sync_folder("jobs");
  if (error == EEXIST || error == ENOTEMPTY) {
    return Error{ErrorKind::usage, "there is another job " + job + " by now: delete it first"};
  }
  return error == 0 ? Result<Done>(Done{}) : cannot("cannot move " + from + " to " + job_folder(job), error);
}

}  // namespace skewscope
