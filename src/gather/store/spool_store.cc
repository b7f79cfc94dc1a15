#include "spool_store.h"

#include <algorithm>
#include <cstring>

#include "skewscope/base/file_text.h"
#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather {
namespace {

// "" where /proc does not tell.
std::string boot_of_kernel() { return file_text("/proc/sys/kernel/random/boot_id").value_or(""); }

}  // namespace

SpoolStore::SpoolStore(StoreOptions options, std::unique_ptr<FileSystem> owned, FileSystem& files, Recovered recovered)
    : options_(std::move(options)), owned_files_(std::move(owned)), files_(files), link_(std::make_shared<Link>()) {
  link_->store = this;
  if (options_.boot.empty()) options_.boot = boot_of_kernel();
  figures_.recovery_seconds = recovered.seconds;
  figures_.lost_files = recovered.lost_files;
  figures_.quarantined = recovered.quarantined;
  next_epochs_ = std::move(recovered.next_epochs);
  for (JobRow& row : recovered.jobs) {
    jobs_[row.name].row = row;
    jobs_[row.name].stands = true;
  }
  for (FileRow& row : recovered.files) {
    Job& job = jobs_[row.job];
    job.bytes += row.size;
    job.charged += row.size;
    charged_of_user_[row.uid] += row.size;
    job.highest_rank = std::max(job.highest_rank, row.rank);
    job.row.last_byte = std::max(job.row.last_byte, row.committed_at);
    ++job.generations[row.capture][row.generation];
    job.files[row.capture].emplace(row.rank, row);
    ++figures_.files;
  }
  for (UploadRow& row : recovered.uploads) {
    const auto upload = std::make_shared<Upload>(files_, part_path(row.id));
    upload->row = row;
    upload->entry_durable = row.durable > 0;
    Job& job = jobs_[row.asked.metadata.job];
    ++job.uploads;
    if (is_open(row)) {
      upload->charged = row.asked.length.value_or(row.durable);
      job.charged += upload->charged;
      charged_of_user_[row.asked.uid] += upload->charged;
      if (upload->charged > 0) open_of_owner_[owner_of(row.asked.metadata.job, row.asked.uid)] += upload->charged;
      ++job.open_uploads;
      ++figures_.open_uploads;
      ++job.open_of_capture[row.asked.metadata.capture];
      if (row.durable > 0) job.row.last_byte = std::max(job.row.last_byte, row.progress);
    }
    const UploadMetadata& metadata = row.asked.metadata;
    if (row.stage == UploadStage::complete) job.remembered[{metadata.capture, metadata.rank}] = row.id;
    uploads_.emplace(row.id, upload);
  }
  for (ReportRow& row : recovered.reports) {
    Job& job = jobs_[row.job];
    charge_reports_held(job, static_cast<int64_t>(row.bytes));
    job.reports.emplace(row.generation, row);
  }
  for (auto& [name, job] : jobs_) {
    charge_quarantine(name, job);
    count_tries(job);
  }
  look_at_disk();
  refill_ballast();
  last_backup_ = time_of_newest_backup(files_);
  recovered.seen ? aging_.go_on(*recovered.seen, options_.boot, now(), running())
                 : aging_.begin(now(), running(), last_backup_);
  if (recovered.doubts_clocks) aging_.hold();
  CommitThread::Hooks hooks;
  hooks.failed = [this](const std::string& why) { fail(why); };
  hooks.stopped = [this] { return failed_.load(); };
  hooks.more_coming = [this] { return finishing_ > 0; };
  hooks.free_ballast = [this] { return free_ballast(); };
  hooks.flushed = [this](uint64_t flushes, double seconds) {
    const std::lock_guard lock(mutex_);
    figures_.flushes += flushes;
    figures_.flush_seconds += seconds;
  };
  commits_ = std::make_unique<CommitThread>(files_, std::move(recovered.manifest), std::move(hooks));
  file_threads_ = std::make_unique<FileThreads>(options_.file_threads);
  forget_the_future();
  sweeper_ = std::thread([this] { sweep(); });
}

void SpoolStore::charge_quarantine(const std::string& name, Job& job) {
  std::vector<FolderEntry> entries;
  if (files_.list(quarantine_folder(name), entries) != 0) return;
  for (const FolderEntry& entry : entries) {
    PathInfo info;
    const bool there = files_.info(quarantine_folder(name) + "/" + entry.name, info) == 0;
    if (there) charge_aside_held(job, static_cast<int64_t>(info.size));
  }
}

// Operations hop between the file threads and the commit thread: both go only when no upload has one left.
SpoolStore::~SpoolStore() {
  {
    const std::lock_guard lock(link_->mutex);
    link_->store = nullptr;
  }
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    sweep_wanted_.notify_all();
  }
  sweeper_.join();
  drain([] {});
  {
    std::unique_lock lock(mutex_);
    all_landed_.wait(lock, [&] { return in_flight_ == 0; });
  }
  file_threads_.reset();
  commits_.reset();
}

// One operation per upload that ends its writer; the last one to end passes through the commit thread, behind every
// change that was posted before.
void SpoolStore::drain(std::function<void()> done) {
  draining_ = true;
  std::vector<UploadPointer> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, upload] : uploads_) all.push_back(upload);
  }
  const auto last = std::make_shared<int>(0);
  const std::shared_ptr<void> gate(last.get(), [this, last, done = std::move(done)](void*) {
    Change nothing;
    nothing.done = [done](Refusal) { done(); };
    post(std::move(nothing));
  });
  for (const UploadPointer& upload : all) {
    submit(upload, [this, upload, gate] { end_writer(upload, [this, upload, gate](Refusal) { next(upload); }); });
  }
}

void SpoolStore::count(uint64_t StoreFigures::*figure) {
  const std::lock_guard lock(mutex_);
  ++(figures_.*figure);
}

void SpoolStore::fail(const std::string& why) {
  if (!failed_.exchange(true) && options_.failed) options_.failed(why);
}

Refusal SpoolStore::refusal_of(int error, const std::string& what) {
  if (error == 0) return Refusal::none;
  if (is_full(error)) return Refusal::no_space;
  if (is_short_of_descriptors(error)) return Refusal::unavailable;
  fail(what + ": " + std::strerror(error));
  return Refusal::unavailable;
}

Refusal SpoolStore::closed() const { return failed_ || draining_ ? Refusal::unavailable : Refusal::none; }

Time SpoolStore::now() const {
  if (options_.now) return options_.now();
  return std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
}

std::chrono::seconds SpoolStore::running() const {
  if (options_.running) return options_.running();
  if (options_.now) return options_.now().time_since_epoch();
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return std::chrono::seconds(time.tv_sec);
}

void SpoolStore::changed(const std::string& job) {
  std::function<void(const std::string&)> hook;
  {
    const std::lock_guard lock(mutex_);
    hook = hook_;
  }
  if (hook) hook(job);
}

void SpoolStore::on_job_change(std::function<void(const std::string& job)> hook) {
  const std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

StoreFigures SpoolStore::figures() const {
  const std::lock_guard lock(mutex_);
  StoreFigures out = figures_;
  out.disk_free_bytes = space_.available;
  out.disk_size_bytes = space_.total;
  out.all_jobs = jobs_.size();
  out.jobs = job_counts_held();
  return out;
}

Aging SpoolStore::aging() const {
  const std::lock_guard lock(mutex_);
  return aging_held();
}

Aging SpoolStore::aging_held() const {
  Aging ages = aging_;
  ages.look(now(), running());
  return ages;
}

bool SpoolStore::healthy() const {
  const std::lock_guard lock(mutex_);
  return !failed_ && share_in_use(space_) < limits().hard_disk;
}

bool SpoolStore::advances() {
  const bool sweeps = sweeping_.advanced(), commits = commits_->advances(), writes = file_threads_->advance();
  return sweeps && commits && writes;
}

void SpoolStore::use(const GatherLimits& limits, const GatherRetention& retention) {
  const std::lock_guard lock(settings_mutex_);
  options_.limits = limits;
  options_.retention = retention;
}

GatherLimits SpoolStore::limits() const {
  const std::lock_guard lock(settings_mutex_);
  return options_.limits;
}

GatherRetention SpoolStore::retention() const {
  const std::lock_guard lock(settings_mutex_);
  return options_.retention;
}

Result<std::unique_ptr<Store>> Store::open(const StoreOptions& options) {
  std::unique_ptr<FileSystem> owned;
  if (options.files == nullptr) {
    Result<std::unique_ptr<FileSystem>> opened = open_file_system(options.spool);
    if (!opened.ok()) return opened.error();
    owned = std::move(opened).value();
  }
  FileSystem& files = owned ? *owned : *options.files;
  RecoveryOptions recovery;
  recovery.spool = options.spool;
  recovery.database_vfs = options.database_vfs;
  recovery.now = options.now ? options.now()
                             : std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  Recovered recovered = recover(files, recovery);
  if (!recovered.manifest) return recovered.error;
  return std::unique_ptr<Store>(std::make_unique<SpoolStore>(options, std::move(owned), files, std::move(recovered)));
}

}  // namespace skewscope::gather
