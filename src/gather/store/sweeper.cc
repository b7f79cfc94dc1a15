#include "sweeper.h"

#include <algorithm>

namespace skewscope::gather {
namespace {

constexpr auto kSweepEvery = std::chrono::milliseconds(250);
constexpr int kTrashPerSweep = 256;
constexpr auto kClocksKeptEvery = std::chrono::seconds(60);
constexpr auto kBackupEvery = std::chrono::hours(24);
constexpr size_t kBackupsKept = 3;

}  // namespace

void Sweeper::start(Time last_backup) {
  last_backup_ = last_backup;
  forget_the_future();
  thread_ = std::thread([this] { serve(); });
}

void Sweeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    wanted_.notify_all();
  }
  thread_.join();
}

void Sweeper::serve() {
  if (!engine_.failed() && look_at_clocks()) forget_the_future();  // kept before anything is asked, not while it is
  std::unique_lock lock(mutex_);
  while (!wanted_.wait_for(lock, kSweepEvery, [&] { return closing_; })) {
    lock.unlock();
    {
      const Pulse::Work work(pulse_);
      if (engine_.closed() == Refusal::none) sweep();
    }
    lock.lock();
  }
}

void Sweeper::sweep() {
  if (look_at_clocks()) forget_the_future();
  uploads_.sweep();
  quarantine_.sweep();
  core_.look_at_disk();
  empty_trash();
  core_.ballast.refill();
  back_up();
}

// Has the wall clock gone back, however little?
bool Sweeper::look_at_clocks() {
  const bool back = engine_.went_back();
  const Time wall = engine_.now();
  const std::chrono::seconds ran = engine_.running();
  const bool jumped = core_.memory.lock()->aging.look(wall, ran);
  const bool keep = jumped || !clocks_kept_ || ran - *clocks_kept_ >= kClocksKeptEvery;
  if (keep) keep_clocks();
  return back;
}

// A start takes them up where they are: between two times nothing is deleted that would not be by the first.
void Sweeper::keep_clocks() {
  if (!core_.ballast.is_there()) return;
  clocks_kept_ = engine_.running();
  Change change;
  change.rows = [this](Manifest& manifest) {
    const Aging::Seen seen = core_.memory.lock()->aging.seen(engine_.boot());
    manifest.put(seen);
  };
  change.done = [](Refusal) {};
  engine_.post(std::move(change));
}

// A moment that lies ahead is one at which the clock was wrong: were it believed now that the clock is right, whatever
// waits from that moment on would wait too long.
void Sweeper::forget_the_future() {
  const Time at = engine_.now();
  std::vector<std::string> amended;
  {
    const auto amend = [at](std::initializer_list<Time*> times) {
      bool any = false;
      for (Time* time : times) {
        any = any || *time > at;
        *time = std::min(*time, at);
      }
      return any;
    };
    const auto memory = core_.memory.lock();
    for (auto& [name, job] : memory->jobs.all()) {
      bool any = amend({&job.row.created, &job.row.last_byte, &job.row.ended_at, &job.row.last_arrival});
      for (auto& [generation, report] : job.reports) any = amend({&report.started, &report.ended}) || any;
      if (any) amended.push_back(name);
    }
  }
  uploads_.forget_the_future(at);
  for (const std::string& job : amended) engine_.changed(job);
}

void Sweeper::empty_trash() {
  std::vector<FolderEntry> entries;
  int left = kTrashPerSweep;
  if (files_.list("trash", entries) != 0) return;
  for (const FolderEntry& entry : entries) {
    if (left > 0 && !is_kept_in_trash(entry.name)) remove_tree("trash/" + entry.name, entry.folder, left);
  }
}

// A deleted job, while the disk has room for it.
bool Sweeper::is_kept_in_trash(const std::string& name) {
  if (job_in_trash(name).empty()) return false;
  PathInfo info;
  if (files_.info("trash/" + name, info) != 0) return false;
  const std::chrono::seconds most = engine_.retention().trash_age;
  if (most == std::chrono::seconds(0)) return false;
  const double soft_disk = engine_.limits().soft_disk;
  const auto memory = core_.memory.lock();
  if (memory->budget.share_in_use() >= soft_disk) return false;
  return !memory->aging.may_delete() || memory->aging.now_for(info.changed) - info.changed < most;
}

void Sweeper::remove_tree(const std::string& path, bool folder, int& left) {
  std::vector<FolderEntry> entries;
  if (folder && files_.list(path, entries) == 0) {
    for (const FolderEntry& entry : entries) {
      if (left > 0) remove_tree(path + "/" + entry.name, entry.folder, left);
    }
  }
  if (left-- > 0) files_.remove(path);
  Pulse::beat_here();
}

void Sweeper::back_up() {
  const Time at = engine_.now();
  const bool recent = last_backup_ <= at && at - last_backup_ < kBackupEvery;
  if (recent || !core_.ballast.is_there()) return;
  last_backup_ = at;
  Change change;
  const Aging ages = engine_.at_present(core_.memory.lock()->aging);
  const Time least = ages.now_for(Time());  // less all jumps
  if (ages.may_delete()) change.rows = [least](Manifest& manifest) { manifest.forget_old(least); };
  change.after = [this, at, deletes = ages.may_delete()](Manifest& manifest) {
    // Every deletion that memory knows of is in the manifest by now.
    auto epochs = manifest.next_epochs();
    if (manifest.status() == ManifestStatus::fine) core_.memory.lock()->jobs.put_next_epochs(std::move(epochs));
    copy_manifest(manifest, at, deletes);
  };
  change.done = [](Refusal) {};
  engine_.post(std::move(change));
}

void Sweeper::copy_manifest(Manifest& manifest, Time at, bool deletes) {
  const std::string made = backup_path(at) + ".tmp";
  files_.remove(made);
  int file = -1;
  if (manifest.back_up(engine_.spool() + "/" + made) != ManifestStatus::fine) return;
  if (files_.open(made, true, file) != 0) return;
  const int error = files_.sync_data(file);
  files_.close(file);
  if (error != 0 || files_.rename(made, backup_path(at), true) != 0 || files_.sync_folder("backup") != 0) return;
  size_t kept = 0;
  for (const std::string& copy : backups(files_)) {
    const bool ahead = copy > backup_path(at);  // older than its name says
    if (deletes && (ahead || ++kept > kBackupsKept)) files_.remove(copy);
  }
}

}  // namespace skewscope::gather
