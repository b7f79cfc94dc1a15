// The Store on a spool: wires its parts. What each owns and promises its header says; which thread does what, engine.h;
// what all of them know, memory.h.
#pragma once

#include "generations.h"
#include "jobs.h"
#include "quarantine.h"
#include "sweeper.h"
#include "uploads.h"

namespace skewscope::gather {

class SpoolStore : public Store {
 public:
  SpoolStore(const StoreOptions& options, std::unique_ptr<FileSystem> owned, FileSystem& files, Recovered recovered);
  ~SpoolStore() override;

  void create(const NewUpload& upload, Reply<UploadState> done) override { uploads_.create(upload, std::move(done)); }
  void state(const std::string& id, Reply<UploadState> done) override { uploads_.state(id, std::move(done)); }
  void append(const std::string& id, uint64_t offset, std::optional<uint64_t> length, std::optional<Digest> checksum,
              std::function<void()> evicted, Reply<std::shared_ptr<Writer>> done) override {
    uploads_.append(id, offset, length, checksum, std::move(evicted), std::move(done));
  }
  void promise_digest(const std::string& id, const Digest& digest, Reply<Done> done) override {
    uploads_.promise_digest(id, digest, std::move(done));
  }
  void remove(const std::string& id, Reply<Done> done) override { uploads_.remove(id, std::move(done)); }
  std::optional<UploadMetadata> metadata_of(const std::string& id) const override;

  void put_job(const std::string& name, const JobSettings& settings, Reply<JobState> done) override {
    jobs_.put(name, settings, std::move(done));
  }
  void end_job(const std::string& name, Reply<JobState> done) override { jobs_.end(name, std::move(done)); }
  void report_again(const std::string& name, Reply<JobState> done) override {
    jobs_.report_again(name, std::move(done));
  }
  void raise_epoch(const std::string& name, Reply<JobState> done) override { jobs_.raise_epoch(name, std::move(done)); }
  void delete_job(const std::string& name, const std::string& who, Reply<Done> done) override;
  void delete_job_if(const std::string& name, const std::function<bool(const JobState&)>& holds,
                     Reply<Done> done) override;
  std::optional<JobState> job(const std::string& name) const override { return jobs_.state(name); }
  std::optional<JobState> job_in_brief(const std::string& name) const override { return jobs_.brief_state(name); }
  std::vector<std::string> runs_of(const std::string& name) const override { return jobs_.runs(name); }
  std::vector<RunFacts> run_facts(const UploadMetadata& file) const override { return jobs_.run_facts(file); }
  uint32_t epoch_of(const std::string& name) const override { return core_.memory.lock()->jobs.epoch_of(name); }
  std::vector<JobState> jobs(const std::string& after, size_t limit) const override { return jobs_.list(after, limit); }
  Outcome<StoredFile> read(const std::string& name, int capture, int rank) const override {
    return jobs_.read(name, capture, rank);
  }

  void begin_report(const std::string& name, Reply<ReportFolders> done) override {
    reports_.begin(name, std::move(done));
  }
  void end_report(const std::string& name, int generation, int exit_code, Reply<JobState> done) override {
    reports_.end(name, generation, exit_code, std::move(done));
  }
  Outcome<StoredFile> read_report(const std::string& name, int generation, const std::string& file) const override {
    return reports_.read(name, generation, file);
  }
  std::vector<ReportFile> report_files(const std::string& name) const override { return reports_.files(name); }
  std::vector<int> reported_captures(const std::string& name) const override { return reports_.captures(name); }

  void on_job_change(std::function<void(const std::string& job)> hook) override {
    core_.engine.on_job_change(std::move(hook));
  }
  StoreFigures figures() const override;
  Aging aging() const override { return core_.engine.at_present(core_.memory.lock()->aging); }
  bool healthy() const override;
  bool advances() override;
  void use(const GatherLimits& limits, const GatherRetention& retention) override {
    core_.engine.use(limits, retention);
  }
  void drain(std::function<void()> done) override;

 private:
  Core core_;
  Uploads uploads_;
  Jobs jobs_;
  Reports reports_;
  Quarantine quarantine_;
  Sweeper sweeper_;
};

}  // namespace skewscope::gather
