// Opens the manifest, or what can be had in its place. Each step can be cut short and begun again: the copy takes the
// manifest's name only when it is whole, and a spool with jobs but without a manifest is a damaged one. The mark
// `restoring` is there from before the first step until recovery's rows stand: what the copy does not know is part of
// its job all the same, whichever start finds it.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "recovery.h"
#include "spool_paths.h"

namespace skewscope::gather {
namespace {

int copy_file(FileSystem& files, const std::string& from, const std::string& to) {
  int source = -1, target = -1;
  files.remove(to);
  int error = files.open(from, false, source);
  if (error == 0) error = files.create(to, target);
  std::vector<char> buffer(1 << 20);
  uint64_t offset = 0;
  for (size_t got = buffer.size(); error == 0 && got == buffer.size(); offset += got) {
    error = files.read(source, buffer.data(), buffer.size(), offset, got);
    if (error == 0) error = files.write(target, {buffer.data(), got}, offset);
  }
  if (error == 0) error = files.sync_data(target);
  if (source >= 0) files.close(source);
  if (target >= 0) files.close(target);
  return error;
}

// As far as can be told.
bool has_entries(FileSystem& files, const std::string& folder) {
  std::vector<FolderEntry> entries;
  const int error = files.list(folder, entries);
  return error == 0 ? !entries.empty() : error != ENOENT;
}

bool is_there(FileSystem& files, const std::string& path) {
  PathInfo info;
  return files.info(path, info) == 0;
}

bool is_absent(FileSystem& files, const std::string& path) {
  PathInfo info;
  const int error = files.info(path, info);
  return error == 0 ? info.size == 0 : error == ENOENT;
}

void set_manifest_aside(FileSystem& files, Time at) {
  const std::string folder = quarantine_folder(".manifests");
  files.make_folder(folder);
  for (const char* suffix : {"", "-wal", "-journal"}) {
    files.rename(std::string(kManifestName) + suffix,
                 fmt::format("{}/{}.sqlite{}", folder, at.time_since_epoch().count(), suffix), true);
  }
}

int begin_restoring(FileSystem& files) {
  int mark = -1;
  int error = files.create(kRestoringName, mark);
  if (is_full(error) && files.remove(kBallastName) == 0) error = files.create(kRestoringName, mark);
  if (error == 0) files.close(mark);
  return error == 0 || error == EEXIST ? files.sync_folder("") : error;
}

// 0: `backup` is the manifest now.
int put_in_place(FileSystem& files, const std::string& backup) {
  int error = copy_file(files, backup, "restored.tmp");
  if (is_full(error) && files.remove(kBallastName) == 0) error = copy_file(files, backup, "restored.tmp");
  if (error == 0) error = files.rename("restored.tmp", kManifestName, true);
  return error == 0 ? files.sync_folder("") : error;
}

}  // namespace

std::string backup_path(Time at) { return fmt::format("backup/gather-{:012}.sqlite", at.time_since_epoch().count()); }

std::vector<std::string> backups(FileSystem& files) {
  std::vector<FolderEntry> entries;
  std::vector<std::string> out;
  if (files.list("backup", entries) != 0) return out;
  for (const FolderEntry& entry : entries) {
    if (entry.name.ends_with(".sqlite")) out.push_back("backup/" + entry.name);
  }
  std::sort(out.rbegin(), out.rend());
  return out;
}

Time time_of_newest_backup(FileSystem& files) {
  const std::vector<std::string> all = backups(files);
  int64_t seconds = 0;
  constexpr std::string_view kPrefix = "backup/gather-";
  if (!all.empty() && all.front().size() > kPrefix.size()) {
    std::from_chars(all.front().data() + kPrefix.size(), all.front().data() + all.front().size(), seconds);
  }
  return Time(std::chrono::seconds(seconds));
}

OpenedManifest restore_manifest(FileSystem& files, const RecoveryOptions& options) {
  OpenedManifest out;
  out.restored = true;
  const std::string path = options.spool + "/" + kManifestName;
  const auto cannot = [&](int error) {
    out.error = {ErrorKind::output, "cannot restore " + path + ": " + std::strerror(error)};
    return std::move(out);
  };
  std::vector<FolderEntry> entries;
  if (const int error = files.list("backup", entries); error != 0 && error != ENOENT) return cannot(error);
  if (const int error = begin_restoring(files); error != 0) return cannot(error);
  set_manifest_aside(files, options.now);
  for (const std::string& backup : backups(files)) {
    const int error = put_in_place(files, backup);
    if (is_full(error)) return cannot(error);
    if (error != 0) continue;
    out.manifest = Manifest::open(path, options.database_vfs, false).manifest;
    if (out.manifest) {
      out.problems.push_back("the manifest was restored from " + backup);
      return out;
    }
    set_manifest_aside(files, options.now);
  }
  Manifest::Opened made = Manifest::open(path, options.database_vfs, true);
  out.manifest = std::move(made.manifest);
  if (!out.manifest) out.error = {ErrorKind::output, "cannot make " + path + ": " + made.why};
  out.problems.push_back("the manifest was made anew from what lies in jobs/");
  return out;
}

int end_restoring(FileSystem& files) {
  const int error = files.remove(kRestoringName);
  return error == 0 ? files.sync_folder("") : error == ENOENT ? 0 : error;
}

OpenedManifest open_or_restore(FileSystem& files, const RecoveryOptions& options) {
  OpenedManifest out;
  const std::string path = options.spool + "/" + kManifestName;
  const bool missing = is_absent(files, kManifestName);
  const bool used = has_entries(files, "jobs") || has_entries(files, "in") || has_entries(files, "backup");
  std::string why = "it is missing";
  if (!missing || !used) {
    Manifest::Opened opened = Manifest::open(path, options.database_vfs, options.repair);
    out.manifest = std::move(opened.manifest);
    out.restored = is_there(files, kRestoringName);
    why = opened.why;
    if (opened.status == ManifestStatus::foreign) {
      out.error = {ErrorKind::no_input, path + " is of another format: a newer skewscope may have made it"};
    } else if (opened.status != ManifestStatus::fine) {
      out.error = {ErrorKind::no_input, "cannot open " + path + ": " + why};
    }
    if (opened.status != ManifestStatus::damaged) return out;
  }
  if (!options.repair) {
    out.error = {ErrorKind::no_input,
                 path + " is damaged (" + why + "): a start of the daemon, or --repair, restores it"};
    return out;
  }
  out = restore_manifest(files, options);
  out.problems.insert(out.problems.begin(), "the manifest is damaged: " + why);
  return out;
}

}  // namespace skewscope::gather
