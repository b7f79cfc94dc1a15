// What is done with a spool before anything else: the manifest is opened, and what it says and what lies there are made
// to agree. Everything is idempotent: a crash in here is a crash before it. No contents are read but the last segment
// of each open upload and files that nobody accounts for. A damaged item is set aside and counted; it never stops the
// daemon. What cannot be looked at now (memory, descriptors, permission, a network disk that is away) is no damage: it
// ends the start, and the next one finds things as they are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/gather/disk/file_system.h"
#include "src/gather/disk/manifest.h"

namespace skewscope::gather {

struct Recovered {
  std::unique_ptr<Manifest> manifest;  // null: see `error`
  Error error;
  std::vector<JobRow> jobs;
  std::map<std::string, uint32_t> next_epochs;  // of names whose job was deleted; "": of every name
  std::vector<UploadRow> uploads;
  std::vector<FileRow> files;
  std::vector<ReportRow> reports;
  std::optional<Aging::Seen> seen;  // of the clocks, by the process before
  bool doubts_clocks = false;       // what that said may be lost
  uint64_t lost_files = 0, quarantined = 0;
  // One sentence each. `to_do`: what any end leaves to the next start, by design; `problems`: what should not be.
  std::vector<std::string> problems, to_do;
  double seconds = 0;
};

struct RecoveryOptions {
  std::string spool;
  const char* database_vfs = nullptr;
  std::string manifest_folder;  // where the manifest lies; "": in the spool
  bool repair = true;           // false: only looks
  bool verify = false;          // reads every file and compares its digest
  Time now{};
};

Recovered recover(FileSystem& files, const RecoveryOptions& options);

// Copies of the manifest, newest first (manifest_recovery.cc).
std::string backup_path(Time at);
std::vector<std::string> backups(FileSystem& files);
Time time_of_newest_backup(FileSystem& files);

// The manifest as it is, or, when it is damaged or missing, what restore_manifest() finds.
struct OpenedManifest {
  std::unique_ptr<Manifest> manifest;
  Error error;            // when null
  bool restored = false;  // files that it does not know are part of their jobs all the same
  std::vector<std::string> problems;
};
OpenedManifest open_or_restore(FileSystem& files, const RecoveryOptions& options);
// Moves it aside; the newest copy that can be read takes its place, else an empty one. Until end_restoring() every
// start finds `restored` again.
OpenedManifest restore_manifest(FileSystem& files, const RecoveryOptions& options);
int end_restoring(FileSystem& files);

}  // namespace skewscope::gather
