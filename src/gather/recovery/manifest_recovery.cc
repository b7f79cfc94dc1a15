// Opens the manifest, or what can be had in its place. Each step can be cut short and begun again: the copy takes the
// manifest's name only when it is whole, and a spool with jobs but without a manifest is a damaged one. The mark
// `restoring` is there from before the first step until recovery's rows are there: what the copy does not know is part
// of its job all the same, whichever start finds it.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "recovery.h"
#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather {
namespace {

// Is the copy itself damaged? Then the next one may be better. Else the disk is, or something is missing: another start
// may do better.
struct Failure {
  int error = 0;
  bool of_copy = false;
};

Failure copy_file(FileSystem& files, const std::string& from, const std::string& to) {
  int source = -1, target = -1;
  if (const int error = files.open(from, false, source); error != 0) return {error, true};
  files.remove(to);
  Failure failure{files.create(to, target)};
  std::vector<char> buffer(1 << 20);
  uint64_t offset = 0;
  for (size_t got = buffer.size(); failure.error == 0 && got == buffer.size(); offset += got) {
    failure = {files.read(source, buffer.data(), buffer.size(), offset, got), true};
    if (failure.error == 0) failure = {files.write(target, {buffer.data(), got}, offset)};
  }
  if (failure.error == 0) failure = {files.sync_data(target)};
  files.close(source);
  if (target >= 0) files.close(target);
  if (failure.error != 0) files.remove(to);
  return failure;
}

// As far as can be seen.
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

// Runs `call`, once more with the ballast's room if there was none.
template <class Call>
Failure with_room(FileSystem& files, const Call& call) {
  Failure failure = call();
  if (is_full(failure.error) && files.remove(kBallastName) == 0) failure = call();
  return failure;
}

int begin_restoring(FileSystem& files) {
  const Failure made = with_room(files, [&]() -> Failure {
    int mark = -1;
    const int error = files.create(kRestoringName, mark);
    if (error == 0) files.close(mark);
    return {error == EEXIST ? 0 : error};
  });
  return made.error == 0 ? files.sync_folder("") : made.error;
}

// With its log, which SQLite would play over whatever lies in its place.
int set_manifest_aside(FileSystem& files, Time at) {
  const std::string folder = quarantine_folder(".manifests");
  const Failure made = with_room(files, [&]() -> Failure {
    const int error = files.make_folder(folder);
    return {error == EEXIST ? 0 : error};
  });
  if (made.error != 0) return made.error;
  const std::string name = fmt::format("{}/{}-{}.sqlite", folder, at.time_since_epoch().count(), random_hex(2));
  for (const char* suffix : {"", "-wal", "-journal"}) {
    const Failure moved = with_room(
        files, [&]() -> Failure { return {files.rename(std::string(kManifestName) + suffix, name + suffix, false)}; });
    if (moved.error != 0 && moved.error != ENOENT) return moved.error;
  }
  return files.sync_folder("");
}

// Nothing: `backup` is the manifest now.
Failure put_in_place(FileSystem& files, const std::string& backup) {
  Failure failure = with_room(files, [&] { return copy_file(files, backup, "restored.tmp"); });
  if (failure.error == 0) failure = {files.rename("restored.tmp", kManifestName, true)};
  if (failure.error == 0) failure = {files.sync_folder("")};
  return failure;
}

// SQLite opens a file whose header asks for a version above 2 to write it (https://sqlite.org/fileformat.html, byte 18)
// and only reads it: the first commit would fail.
bool header_forbids_writing(FileSystem& files) {
  int file = -1;
  if (files.open(kManifestName, false, file) != 0) return false;
  char version = 0;
  size_t got = 0;
  const int error = files.read(file, &version, 1, 18, got);
  files.close(file);
  return error == 0 && got == 1 && static_cast<unsigned char>(version) > 2;
}

Manifest::Opened open_manifest(FileSystem& files, const RecoveryOptions& options, bool make) {
  if (header_forbids_writing(files)) return {ManifestStatus::damaged, "its header forbids writing", nullptr};
  const std::string& folder = options.manifest_folder.empty() ? options.spool : options.manifest_folder;
  return Manifest::open(folder + "/" + kManifestName, options.database_vfs, make);
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
  constexpr std::string_view kBackupPrefix = "backup/gather-";
  if (!all.empty() && all.front().size() > kBackupPrefix.size()) {
    std::from_chars(all.front().data() + kBackupPrefix.size(), all.front().data() + all.front().size(), seconds);
  }
  return Time(std::chrono::seconds(seconds));
}

OpenedManifest restore_manifest(FileSystem& files, const RecoveryOptions& options) {
  OpenedManifest out;
  out.restored = true;
  const std::string path = options.spool + "/" + kManifestName;
  const auto cannot = [&](const std::string& why) {
    out.error = {ErrorKind::output, "cannot restore " + path + ": " + why};
    return std::move(out);
  };
  std::vector<FolderEntry> entries;
  int error = files.list("backup", entries);
  if (error == ENOENT) error = 0;
  if (error == 0) error = begin_restoring(files);
  if (error == 0) error = set_manifest_aside(files, options.now);
  if (error != 0) return cannot(std::strerror(error));
  for (const std::string& backup : backups(files)) {
    const Failure failure = put_in_place(files, backup);
    if (failure.error != 0 && !failure.of_copy) return cannot(std::strerror(failure.error));
    if (failure.error != 0 || is_absent(files, kManifestName)) continue;
    Manifest::Opened opened = open_manifest(files, options, true);
    if (opened.status == ManifestStatus::fine) {
      out.manifest = std::move(opened.manifest);
      out.problems.push_back("the manifest was restored from " + backup);
      return out;
    }
    if (opened.status != ManifestStatus::damaged && opened.status != ManifestStatus::foreign) {
      files.remove(kManifestName);  // the next start tries this copy again
      return cannot(opened.why);
    }
    if (error = set_manifest_aside(files, options.now); error != 0) return cannot(std::strerror(error));
  }
  Manifest::Opened made = open_manifest(files, options, true);
  if (made.status != ManifestStatus::fine) return cannot(made.why);
  out.manifest = std::move(made.manifest);
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
    Manifest::Opened opened = open_manifest(files, options, options.repair);
    out.manifest = std::move(opened.manifest);
    out.restored = is_there(files, kRestoringName);
    why = opened.why;
    if (opened.status == ManifestStatus::foreign) {
      out.error = {ErrorKind::no_input, path + " is of another format: a newer skewscope may have made it"};
    } else if (opened.status != ManifestStatus::fine) {
      out.error = {ErrorKind::no_input, "cannot open " + path + ": " + why +
                                            "; if it is lost, move it away: the next start restores its newest copy"};
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
