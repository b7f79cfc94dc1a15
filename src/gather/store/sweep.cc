// What time does: uploads expire, trash goes, the disk's figures are looked at, the manifest is copied once a day.
#include <algorithm>
#include <cerrno>

#include "spool_store.h"
#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather {
namespace {

constexpr auto kSweepEvery = std::chrono::milliseconds(250);
constexpr int kTrashPerSweep = 256;
constexpr uint64_t kBallast = 16 << 20;
constexpr auto kClocksKeptEvery = std::chrono::seconds(60);
constexpr auto kBackupEvery = std::chrono::hours(24);
constexpr size_t kBackupsKept = 3;

}  // namespace

void SpoolStore::sweep() {
  if (!failed_ && look_at_clocks()) forget_the_future();  // kept before anything is asked, not beside it
  std::unique_lock lock(mutex_);
  while (!sweep_wanted_.wait_for(lock, kSweepEvery, [&] { return closing_; })) {
    lock.unlock();
    const Pulse::Work work(sweeping_);
    if (!failed_ && !draining_) {
      if (look_at_clocks()) forget_the_future();
      sweep_uploads();
      sweep_quarantine();
      look_at_disk();
      empty_trash();
      refill_ballast();
      back_up();
    }
    lock.lock();
  }
}

// Has the wall clock gone back, however little? Once a minute it may have, between two looks.
bool SpoolStore::look_at_clocks() {
  const Time wall = now();
  const std::chrono::seconds ran = running();
  bool jumped = false;
  {
    const std::lock_guard lock(mutex_);
    jumped = aging_.look(wall, ran);
  }
  const bool back = wall < std::exchange(last_wall_, wall);
  const bool keep = jumped || !clocks_kept_ || ran - *clocks_kept_ >= kClocksKeptEvery;
  if (keep) keep_clocks();
  return back || keep;
}

// A start takes them up where they stand: between two times nothing is deleted that would not be by the first.
void SpoolStore::keep_clocks() {
  if (!has_ballast()) return;
  clocks_kept_ = running();
  Change change;
  change.rows = [this](Manifest& manifest) {
    const std::lock_guard lock(mutex_);
    manifest.put(aging_.seen(options_.boot));
  };
  change.done = [](Refusal) {};
  post(std::move(change));
}

// A moment that lies ahead is one at which the clock was wrong: were it believed now that the clock is right, whatever
// waits from that moment on would wait too long.
void SpoolStore::forget_the_future() {
  std::vector<std::string> amended;
  std::vector<UploadPointer> uploads;
  {
    const std::lock_guard lock(mutex_);
    const Time at = now();
    const auto amend = [at](std::initializer_list<Time*> times) {
      bool any = false;
      for (Time* time : times) {
        any = any || *time > at;
        *time = std::min(*time, at);
      }
      return any;
    };
    amend({&last_look_at_quarantine_});
    for (auto& [name, job] : jobs_) {
      bool any = amend({&job.row.created, &job.row.last_byte, &job.row.ended_at, &job.row.last_arrival});
      for (auto& [generation, report] : job.reports) any = amend({&report.started, &report.ended}) || any;
      if (any) amended.push_back(name);
    }
    for (const auto& [id, upload] : uploads_) {
      if (std::max(upload->row.created, upload->row.progress) > at) uploads.push_back(upload);
    }
  }
  for (const UploadPointer& upload : uploads) {
    submit(upload, [this, upload] {
      {
        const std::lock_guard lock(mutex_);
        upload->row.created = std::min(upload->row.created, now());
        upload->row.progress = std::min(upload->row.progress, now());
      }
      next(upload);
    });
  }
  for (const std::string& job : amended) changed(job);
}

void SpoolStore::sweep_uploads() {
  std::vector<UploadPointer> late, unsynced;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, upload] : uploads_) {
      if (has_ended(upload->row, aging_)) late.push_back(upload);
      if (upload->unsynced) unsynced.push_back(upload);
    }
  }
  for (const UploadPointer& upload : late) {
    submit(upload, [this, upload] { expire(upload); });
  }
  for (const UploadPointer& upload : unsynced) {
    submit(upload, [this, upload] {
      make_old_bytes_durable(upload);
      next(upload);
    });
  }
}

bool SpoolStore::has_ended(const UploadRow& row, const Aging& aging) const {
  return aging.may_delete() && end_of(row) < aging.now_for(row.created);
}

Time SpoolStore::end_of(const UploadRow& row) const {
  return is_open(row) ? expires(row) : row.created + 2 * limits().upload_life;
}

// An open one is remembered as expired for another life, so that its sender is told so; then its row goes, as those of
// complete ones do.
void SpoolStore::expire(const UploadPointer& upload) {
  const bool open = is_open(upload->row);
  if (upload->gone || !has_ended(upload->row, aging())) return next(upload);
  if (!open) {
    return drop_upload(upload, [this, upload](Refusal) { next(upload); });
  }
  abandon_writer(*upload);
  Change change;
  change.prepare = [this, upload](FoldersToFlush&) { return still_wanted(*upload); };
  change.rows = [upload](Manifest& manifest) {
    UploadRow row = upload->row;
    row.stage = UploadStage::expired;
    manifest.put(row);
  };
  change.done = [this, upload](Refusal refusal) {
    if (refusal == Refusal::none) {
      files_.remove(part_path(upload->row.id));
      {
        const std::lock_guard lock(mutex_);
        close_held(*upload);
        upload->row.stage = UploadStage::expired;
      }
      changed(upload->row.asked.metadata.job);
    }
    next(upload);
  };
  post(std::move(change));
}

uint64_t SpoolStore::reserved_bytes(const DiskSpace& space) const {
  return std::min(limits().reserved_disk, space.total / 20);
}

double SpoolStore::share_in_use(const DiskSpace& space) const {
  return space.total == 0 ? 0 : 1 - static_cast<double>(space.available) / static_cast<double>(space.total);
}

void SpoolStore::look_at_disk() {
  DiskSpace space;
  if (files_.space(space) != 0) return;
  const std::lock_guard lock(mutex_);
  space_ = space;
}

void SpoolStore::empty_trash() {
  std::vector<FolderEntry> entries;
  int left = kTrashPerSweep;
  if (files_.list("trash", entries) != 0) return;
  for (const FolderEntry& entry : entries) {
    if (left > 0 && !is_kept_in_trash(entry.name)) remove_tree("trash/" + entry.name, entry.folder, left);
  }
}

// A deleted job, while the disk has room for it.
bool SpoolStore::is_kept_in_trash(const std::string& name) {
  if (job_in_trash(name).empty()) return false;
  PathInfo info;
  if (files_.info("trash/" + name, info) != 0) return false;
  const std::chrono::seconds most = retention().trash_age;
  if (most == std::chrono::seconds(0)) return false;
  const std::lock_guard lock(mutex_);
  if (share_in_use(space_) >= limits().soft_disk) return false;
  return !aging_.may_delete() || aging_.now_for(info.changed) - info.changed < most;
}

void SpoolStore::remove_tree(const std::string& path, bool folder, int& left) {
  std::vector<FolderEntry> entries;
  if (folder && files_.list(path, entries) == 0) {
    for (const FolderEntry& entry : entries) {
      if (left > 0) remove_tree(path + "/" + entry.name, entry.folder, left);
    }
  }
  if (left-- > 0) files_.remove(path);
  Pulse::beat_here();
}

// Disk that the manifest can have when there is none left. While it is out nothing takes any that was not reserved
// before: what was promised needs rows.
void SpoolStore::refill_ballast() {
  const std::lock_guard lock(ballast_mutex_);
  PathInfo info;
  int file = -1;
  if (files_.info(kBallastName, info) == 0) {
    ballast_ = true;
    return;
  }
  const std::string made = std::string(kBallastName) + ".tmp";  // what has the name has its bytes
  files_.remove(made);
  if (files_.create(made, file) != 0) return;
  const bool reserved = files_.reserve(file, kBallast) == 0;
  files_.close(file);
  ballast_ = reserved && files_.rename(made, kBallastName, true) == 0;
  if (!ballast_) files_.remove(made);
}

bool SpoolStore::has_ballast() {
  if (!ballast_) refill_ballast();  // somebody may have made room just now
  return ballast_;
}

bool SpoolStore::free_ballast() {
  const std::lock_guard lock(ballast_mutex_);
  return ballast_.exchange(false) && files_.remove(kBallastName) == 0;
}

void SpoolStore::back_up() {
  const Time at = now();
  const bool recent = last_backup_ <= at && at - last_backup_ < kBackupEvery;
  if (recent || !has_ballast()) return;
  last_backup_ = at;
  Change change;
  const Aging ages = aging();
  const Time least = ages.now_for(Time());  // less all jumps
  if (ages.may_delete()) change.rows = [least](Manifest& manifest) { manifest.forget_old(least); };
  change.after = [this, at, deletes = ages.may_delete()](Manifest& manifest) {
    // Every deletion that memory knows of stands in the manifest by now.
    auto epochs = manifest.next_epochs();
    if (manifest.status() == ManifestStatus::fine) {
      const std::lock_guard lock(mutex_);
      next_epochs_ = std::move(epochs);
    }
    const std::string made = backup_path(at) + ".tmp";
    files_.remove(made);
    int file = -1;
    if (manifest.back_up(options_.spool + "/" + made) != ManifestStatus::fine) return;
    if (files_.open(made, true, file) != 0) return;
    const int error = files_.sync_data(file);
    files_.close(file);
    if (error != 0 || files_.rename(made, backup_path(at), true) != 0 || files_.sync_folder("backup") != 0) return;
    size_t kept = 0;
    for (const std::string& copy : backups(files_)) {
      const bool ahead = copy > backup_path(at);  // older than its name says
      if (deletes && (ahead || ++kept > kBackupsKept)) files_.remove(copy);
    }
  };
  change.done = [](Refusal) {};
  post(std::move(change));
}

}  // namespace skewscope::gather
