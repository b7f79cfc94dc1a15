#include "spool_folders.h"

#include <cerrno>

namespace skewscope::gather {

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Folders that this process has not used are flushed into their parents even if they are there: that they can be seen
// does not say that they would survive.
int SpoolFolders::ensure(const std::string& path, FoldersToFlush& folders) {
  if (made_.count(path) > 0) return 0;
  const int error = files_.make_folder(path);
  if (error != 0 && error != EEXIST) return error;
  folders.insert(folder_of(path));
  made_.insert(path);
  return 0;
}

Refusal SpoolFolders::ensure_capture(const UploadMetadata& of, FoldersToFlush& folders) {
  const std::string capture = capture_folder(of.job, of.capture);
  int error = 0;
  for (const std::string& folder : {job_folder(of.job), ranks_folder(of.job), capture}) {
    if (error == 0) error = ensure(folder, folders);
  }
  return engine_.refusal_of(error, "cannot make " + capture);
}

void SpoolFolders::forget(const std::string& path) {
  made_.erase(made_.lower_bound(path), made_.lower_bound(path + "0"));
}

Refusal SpoolFolders::to_trash(const std::string& path, FoldersToFlush& folders) {
  return move_to_trash(path, "trash/" + random_hex(8), folders);
}

Refusal SpoolFolders::move_to_trash(const std::string& path, const std::string& to, FoldersToFlush& folders) {
  const int error = files_.rename(path, to, false);
  if (error == ENOENT) return Refusal::none;
  folders.insert({"trash", folder_of(path)});
  return engine_.refusal_of(error, "cannot move " + path + " to trash");
}

Refusal SpoolFolders::set_aside(const std::string& path, const std::string& job, const std::string& name,
                                FoldersToFlush& folders) {
  const std::string folder = quarantine_folder(job);
  int error = ensure(folder, folders);
  if (error == 0) error = files_.rename(path, folder + "/" + name, true);
  if (error == 0) folders.insert({folder, folder_of(path)});
  return engine_.refusal_of(error, "cannot move " + path + " to quarantine");
}

}  // namespace skewscope::gather
