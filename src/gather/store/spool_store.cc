#include "spool_store.h"

#include "src/gather/recovery/recovery.h"

namespace skewscope::gather {

SpoolStore::SpoolStore(const StoreOptions& options, std::unique_ptr<FileSystem> owned, FileSystem& files,
                       Recovered recovered)
    : core_(options, std::move(owned), files),
      uploads_(core_),
      jobs_(core_, uploads_),
      reports_(core_),
      quarantine_(core_),
      sweeper_(core_, uploads_, quarantine_) {
  Engine& engine = core_.engine;
  core_.memory.lock()->take_over(recovered, files);
  quarantine_.charge_all();
  core_.look_at_disk();
  core_.ballast.refill();
  const Time last_backup = time_of_newest_backup(files);
  {
    const Time wall = engine.now();
    const auto memory = core_.memory.lock();
    recovered.seen ? memory->aging.go_on(*recovered.seen, engine.boot(), wall, engine.running())
                   : memory->aging.begin(wall, engine.running(), last_backup);
    if (recovered.doubts_clocks) memory->aging.hold();
  }
  CommitThread::Hooks hooks;
  hooks.failed = [&engine](const std::string& why) { engine.fail(why); };
  hooks.stopped = [&engine] { return engine.failed(); };
  hooks.more_coming = [this] { return uploads_.commits_soon(); };
  hooks.free_ballast = [this] { return core_.ballast.give_away(); };
  hooks.flushed = [this](uint64_t flushes, double seconds) {
    const auto memory = core_.memory.lock();
    memory->figures.flushes += flushes;
    memory->figures.flush_seconds += seconds;
  };
  engine.start(std::move(recovered.manifest), std::move(hooks));
  sweeper_.start(last_backup);
}

SpoolStore::~SpoolStore() {
  uploads_.cut_off_writers();
  sweeper_.stop();
  SpoolStore::drain([] {});
  core_.engine.stop();
}

void SpoolStore::drain(std::function<void()> done) {
  core_.engine.drain();
  uploads_.drain(std::move(done));
}

std::optional<UploadMetadata> SpoolStore::metadata_of(const std::string& id) const {
  const auto memory = core_.memory.lock();
  const UploadPointer upload = memory->find(id);
  return upload ? std::optional(upload->row.asked.metadata) : std::nullopt;
}

void SpoolStore::delete_job(const std::string& name, const std::string& who, Reply<Done> done) {
  jobs_.remove(
      name, who, [](const JobState&) { return true; }, std::move(done));
}

void SpoolStore::delete_job_if(const std::string& name, const std::function<bool(const JobState&)>& holds,
                               Reply<Done> done) {
  jobs_.remove(name, "retention", holds, [this, done = std::move(done)](const Outcome<Done>& outcome) {
    if (outcome.refusal == Refusal::none) ++core_.memory.lock()->figures.jobs_deleted;
    done(outcome);
  });
}

StoreFigures SpoolStore::figures() const {
  const auto memory = core_.memory.lock();
  StoreFigures out = memory->figures;
  out.disk_free_bytes = memory->budget.space().available;
  out.disk_size_bytes = memory->budget.space().total;
  out.all_jobs = memory->jobs.all().size();
  out.jobs = memory->jobs.counts();
  return out;
}

bool SpoolStore::healthy() const {
  const double hard_disk = core_.engine.limits().hard_disk;
  return !core_.engine.failed() && core_.memory.lock()->budget.share_in_use() < hard_disk;
}

bool SpoolStore::advances() {
  const bool sweeps = sweeper_.advances(), works = core_.engine.advances();
  return sweeps && works;
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
  recovery.now = options.now ? options.now() : wall_clock();
  Recovered recovered = recover(files, recovery);
  if (!recovered.manifest) return recovered.error;
  return std::unique_ptr<Store>(std::make_unique<SpoolStore>(options, std::move(owned), files, std::move(recovered)));
}

}  // namespace skewscope::gather
