#include "quarantine.h"

#include <algorithm>
#include <deque>
#include <map>

namespace skewscope::gather {
namespace {

constexpr auto kLookEvery = std::chrono::seconds(60);
constexpr size_t kMostAtOnce = 256;

}  // namespace

// What is there, by owner, and what is to go of it.
class Quarantine::Kept {
 public:
  void add(const std::string& owner, const SetAside& file) {
    by_owner_[owner].push_back(file);
    bytes_of_[owner] += file.bytes;
    bytes_ += file.bytes;
  }
  void drop_older(const Aging& ages, std::chrono::seconds most) {
    for (auto& [owner, files] : by_owner_) {
      while (!files.empty() && ages.now_for(files.front().since) - files.front().since > most &&
             doomed_.size() < kMostAtOnce) {
        drop_oldest_of(owner);
      }
    }
  }
  // Above the bound, the owner who has most there makes room: nobody's files go because of another's.
  void drop_above(uint64_t most) {
    while (bytes_ > most && doomed_.size() < kMostAtOnce) {
      const auto owner = std::max_element(bytes_of_.begin(), bytes_of_.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
      if (by_owner_[owner->first].empty()) break;
      drop_oldest_of(owner->first);
    }
  }
  uint64_t bytes() const { return bytes_; }
  std::vector<SetAside>& doomed() { return doomed_; }

 private:
  void drop_oldest_of(const std::string& owner) {
    std::deque<SetAside>& files = by_owner_[owner];
    bytes_ -= files.front().bytes;
    bytes_of_[owner] -= files.front().bytes;
    doomed_.push_back(files.front());
    files.pop_front();
  }

  std::map<std::string, std::deque<SetAside>> by_owner_;  // the oldest first
  std::map<std::string, uint64_t> bytes_of_;
  uint64_t bytes_ = 0;
  std::vector<SetAside> doomed_;
};

void Quarantine::charge_all() {
  for (const SetAside& file : list()) core_.memory.lock()->charge_aside(file.folder, static_cast<int64_t>(file.bytes));
}

void Quarantine::sweep() {
  const Time at = engine_.now();
  const Aging ages = engine_.at_present(core_.memory.lock()->aging);
  last_look_ = std::min(last_look_, at);  // the clock was wrong then
  if (at < last_look_ + kLookEvery || !ages.may_delete()) return;
  last_look_ = at;
  std::vector<SetAside> files = list();
  std::sort(files.begin(), files.end(), [](const SetAside& a, const SetAside& b) { return a.since < b.since; });
  Kept kept;
  for (const SetAside& file : files) kept.add(owner_of_folder(file.folder), file);
  const GatherRetention bounds = engine_.retention();
  kept.drop_older(ages, bounds.quarantine_age);
  if (bounds.quarantine_bytes > 0) kept.drop_above(bounds.quarantine_bytes);
  std::vector<SetAside>& doomed = kept.doomed();
  if (doomed.size() == kMostAtOnce) last_look_ = {};
  {
    const auto memory = core_.memory.lock();
    memory->figures.quarantine_files = files.size() - doomed.size();
    memory->figures.quarantine_bytes = kept.bytes();
  }
  if (!doomed.empty()) remove(std::move(doomed));
}

// A folder that is no job's is its own owner.
std::string Quarantine::owner_of_folder(const std::string& folder) const {
  const auto memory = core_.memory.lock();
  const Job* job = memory->jobs.find(folder);
  return job == nullptr ? folder : owner_of(folder, job->row.owner_uid);
}

std::vector<Quarantine::SetAside> Quarantine::list() {
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
bool Quarantine::is_needed(const std::string& name) const {
  const auto memory = core_.memory.lock();
  const UploadPointer upload = memory->find(name.substr(0, name.find('.')));
  return upload && upload->row.stage == UploadStage::replacing;
}

void Quarantine::remove(std::vector<SetAside> doomed) {
  const auto moved = std::make_shared<std::vector<SetAside>>();
  Change change;
  change.prepare = [this, doomed = std::move(doomed), moved](FoldersToFlush& folders) {
    for (const SetAside& file : doomed) {
      if (is_needed(file.name)) continue;
      const Refusal refusal = core_.folders.to_trash(file.path(), folders);
      if (refusal != Refusal::none) return refusal;
      moved->push_back(file);
    }
    return Refusal::none;
  };
  change.done = [this, moved](Refusal) {
    const auto memory = core_.memory.lock();
    for (const SetAside& file : *moved) {
      ++memory->figures.quarantine_deleted;
      Job* job = memory->jobs.find(file.folder);
      if (job == nullptr) continue;
      memory->budget.charge_aside(*job, -static_cast<int64_t>(std::min(file.bytes, job->aside_bytes)));
    }
  };
  engine_.post(std::move(change));
}

}  // namespace skewscope::gather
