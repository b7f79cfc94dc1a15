// What the commit thread does with names in the spool: makes folders, moves what is wrong to quarantine/ and what
// nobody needs to trash/. Reached by that thread alone, from Change::prepare. Promise: each folder whose names change
// is among those that are flushed before the change's rows are written.
#pragma once

#include <set>
#include <string>

#include "engine.h"
#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather {

class SpoolFolders {
 public:
  explicit SpoolFolders(Engine& engine) : engine_(engine), files_(engine.files()) {}

  int ensure(const std::string& path, FoldersToFlush& folders);
  // The folder of an upload's capture, and those that it lies in.
  Refusal ensure_capture(const UploadMetadata& of, FoldersToFlush& folders);
  void forget(const std::string& path);  // what lay below it has gone, with it
  // What is in trash/ is nobody's: the sweeper unlinks it at leisure, jobs after a while (restore_job()).
  Refusal to_trash(const std::string& path, FoldersToFlush& folders);
  Refusal move_to_trash(const std::string& path, const std::string& to, FoldersToFlush& folders);
  // Into the quarantine of its job, under the upload's id.
  Refusal set_aside(const std::string& path, const std::string& job, const std::string& name, FoldersToFlush& folders);

 private:
  Engine& engine_;
  FileSystem& files_;
  std::set<std::string> made_;  // and flushed since this process runs
};

std::string folder_of(const std::string& path);  // that it lies in

}  // namespace skewscope::gather
