// What was set aside (damaged, replaced and stray files) is kept for whoever looks into it, within bounds of age and
// bytes: the oldest goes first, of the owner who has most there. It is charged to its job and to the job's owner.
#include <algorithm>
#include <deque>
#include <map>

#include "spool_store.h"
#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather {
namespace {

constexpr auto kLookEvery = std::chrono::seconds(60);
constexpr size_t kMostAtOnce = 256;

}  // namespace

struct SpoolStore::SetAside {
  std::string folder, name;  // of quarantine/: a job, or a name that begins with a dot
  uint64_t bytes = 0;
  Time since{};

  std::string path() const { return quarantine_folder(folder) + "/" + name; }
};

void SpoolStore::sweep_quarantine() {
  const Time at = now();
  const Aging ages = aging();
  if (at < last_look_at_quarantine_ + kLookEvery || !ages.may_delete()) return;
  last_look_at_quarantine_ = at;
  std::vector<SetAside> kept = list_quarantine(), doomed;
  std::sort(kept.begin(), kept.end(), [](const SetAside& a, const SetAside& b) { return a.since < b.since; });
  std::map<std::string, std::deque<SetAside>> by_owner;  // the oldest first
  std::map<std::string, uint64_t> bytes_of;
  uint64_t bytes = 0;
  for (const SetAside& file : kept) {
    const std::string owner = owner_of_aside(file.folder);
    by_owner[owner].push_back(file);
    bytes_of[owner] += file.bytes;
    bytes += file.bytes;
  }
  const GatherRetention bounds = retention();
  const auto drop_oldest_of = [&](const std::string& owner) {
    std::deque<SetAside>& files = by_owner[owner];
    bytes -= files.front().bytes;
    bytes_of[owner] -= files.front().bytes;
    doomed.push_back(files.front());
    files.pop_front();
  };
  for (auto& [owner, files] : by_owner) {
    while (!files.empty() && ages.now_for(files.front().since) - files.front().since > bounds.quarantine_age &&
           doomed.size() < kMostAtOnce) {
      drop_oldest_of(owner);
    }
  }
  // Above the bound, the owner who has most there makes room: nobody's files go because of another's.
  while (bounds.quarantine_bytes > 0 && bytes > bounds.quarantine_bytes && doomed.size() < kMostAtOnce) {
    const auto most = std::max_element(bytes_of.begin(), bytes_of.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (by_owner[most->first].empty()) break;
    drop_oldest_of(most->first);
  }
  if (doomed.size() == kMostAtOnce) last_look_at_quarantine_ = {};
  {
    const std::lock_guard lock(mutex_);
    figures_.quarantine_files = kept.size() - doomed.size();
    figures_.quarantine_bytes = bytes;
  }
  if (!doomed.empty()) delete_from_quarantine(std::move(doomed));
}

// Of what is no job's, the folder is its own.
std::string SpoolStore::owner_of_aside(const std::string& folder) const {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(folder);
  return job == jobs_.end() ? folder : owner_of(folder, job->second.row.owner_uid);
}

void SpoolStore::charge_aside_held(Job& job, int64_t bytes) {
  const auto change = static_cast<uint64_t>(bytes);  // modulo 2^64
  job.aside_bytes += change;
  job.charged += change;
  charged_of_user_[job.row.owner_uid] += change;
}

std::vector<SpoolStore::SetAside> SpoolStore::list_quarantine() {
  std::vector<SetAside> out;
  std::vector<FolderEntry> folders, files;
  files_.list("quarantine", folders);
  for (const FolderEntry& folder : folders) {
    if (!folder.folder || files_.list(quarantine_folder(folder.name), files) != 0) continue;
    for (const FolderEntry& file : files) {
      SetAside entry{folder.name, file.name, 0, {}};
      PathInfo info;
      if (files_.info(entry.path(), info) != 0) continue;
      entry.bytes = info.size;
      entry.since = info.changed;
      out.push_back(std::move(entry));
    }
    Pulse::beat_here();
  }
  return out;
}

// The file that another is about to take the place of: it is there under that upload's id, and may have to come back.
bool SpoolStore::is_needed_held(const std::string& name) const {
  const auto upload = uploads_.find(name.substr(0, name.find('.')));
  return upload != uploads_.end() && upload->second->row.stage == UploadStage::replacing;
}

void SpoolStore::delete_from_quarantine(std::vector<SetAside> doomed) {
  const auto moved = std::make_shared<std::vector<SetAside>>();
  Change change;
  change.prepare = [this, doomed = std::move(doomed), moved](FoldersToFlush& folders) {
    for (const SetAside& file : doomed) {
      {
        const std::lock_guard lock(mutex_);
        if (is_needed_held(file.name)) continue;
      }
      const Refusal refusal = to_trash(file.path(), folders);
      if (refusal != Refusal::none) return refusal;
      moved->push_back(file);
    }
    return Refusal::none;
  };
  change.done = [this, moved](Refusal) {
    const std::lock_guard lock(mutex_);
    for (const SetAside& file : *moved) {
      ++figures_.quarantine_deleted;
      const auto job = jobs_.find(file.folder);
      if (job == jobs_.end()) continue;
      charge_aside_held(job->second, -static_cast<int64_t>(std::min(file.bytes, job->second.aside_bytes)));
    }
  };
  post(std::move(change));
}

}  // namespace skewscope::gather
