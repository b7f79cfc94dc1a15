// What is asked of jobs: their settings, their end, their removal.
#include <algorithm>

#include "jobs.h"
#include "skewscope/protocol/sha256.h"
#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather {

std::optional<JobState> Jobs::state(const std::string& name) const {
  const Time at = engine_.now();
  const auto memory = core_.memory.lock();
  const Job* job = memory->jobs.standing(name);
  if (job == nullptr) return std::nullopt;
  JobState state = state_of(*job, at);
  state.epoch = memory->jobs.epoch_of(name);
  state.owner_uid = memory->jobs.owner_of_name(name);
  return state;
}

std::optional<JobState> Jobs::brief_state(const std::string& name) const {
  const Time at = engine_.now();
  const auto memory = core_.memory.lock();
  const Job* job = memory->jobs.standing(name);
  return job == nullptr ? std::nullopt : std::optional(brief_state(*memory, *job, at));
}

// All but what each run has for itself.
JobState Jobs::brief_state(const Memory& memory, const Job& job, Time at) {
  JobState state = brief_state_of(job, at);
  state.epoch = memory.jobs.epoch_of(job.row.name);
  state.owner_uid = memory.jobs.owner_of_name(job.row.name);
  return state;
}

std::vector<std::string> Jobs::runs(const std::string& name) const {
  const auto memory = core_.memory.lock();
  std::vector<std::string> out;
  for (const Job* run : memory->jobs.runs_of(name)) {
    if (!run->row.deleting) out.push_back(run->row.name);
  }
  return out;
}

std::vector<RunFacts> Jobs::run_facts(const UploadMetadata& file) const {
  const Time at = engine_.now();
  const auto memory = core_.memory.lock();
  std::vector<RunFacts> out;
  for (const Job* run : memory->jobs.runs_of(file.job)) out.push_back(facts_of(*run, file.capture, file.rank, at));
  if (!out.empty()) out.back().whole = is_whole(brief_state_of(memory->jobs.at(out.back().job), at));
  return out;
}

std::vector<JobState> Jobs::list(const std::string& after, size_t limit) const {
  const Time at = engine_.now();
  const auto memory = core_.memory.lock();
  const auto& jobs = memory->jobs.all();
  std::vector<JobState> out;
  for (auto job = jobs.upper_bound(after); job != jobs.end() && out.size() < limit; ++job) {
    if (!job->second.row.deleting) out.push_back(brief_state(*memory, job->second, at));
  }
  return out;
}

Outcome<StoredFile> Jobs::read(const std::string& name, int capture, int rank) const {
  FileRow row;
  {
    const auto memory = core_.memory.lock();
    const FileRow* file = memory->jobs.file(name, capture, rank);
    if (file == nullptr || memory->jobs.standing(name) == nullptr) return {Refusal::unknown, {}};
    row = *file;
  }
  StoredFile out;
  out.size = row.size;
  out.digest = row.digest;
  const auto suffix = std::find(std::begin(kSuffixes), std::end(kSuffixes), kind_of(row.suffix));
  if (suffix != std::end(kSuffixes)) out.suffix = suffix->data();
  const int error = core_.files.open_for_reader(rank_path(name, capture, rank, row.suffix), out.fd);
  return error == 0 ? Outcome<StoredFile>{Refusal::none, out} : Outcome<StoredFile>{Refusal::unavailable, {}};
}

// A change of a job's row on its way into the manifest.
struct Jobs::Changed {
  Wanted wanted;
  Time at{};
  JobRow row;
  bool other_files = false;  // are expected, so that another report is due
};

// One change of a job's row per transaction (Change::key), so that none is lost.
void Jobs::change(const std::string& name, Wanted wanted, Reply<JobState> done) {
  const Refusal refusal = engine_.closed();
  if (refusal != Refusal::none) return engine_.answer<JobState>(std::move(done), {refusal, {}});
  const auto changed = std::make_shared<Changed>();
  changed->wanted = std::move(wanted);
  changed->at = engine_.now();
  changed->row.name = name;
  Change of_row;
  of_row.key = name;
  of_row.prepare = [this, changed](FoldersToFlush&) { return prepare(*changed); };
  of_row.rows = [changed](Manifest& manifest) {
    manifest.put(changed->row);
    if (changed->other_files) manifest.widened(changed->row.name);
  };
  of_row.done = [this, changed, done](Refusal why) {
    if (why != Refusal::none) return done({why, {}});
    done({Refusal::none, settle(*changed)});
    engine_.changed(changed->row.name);
  };
  engine_.post(std::move(of_row));
}

Refusal Jobs::prepare(Changed& changed) const {
  const Wanted& wanted = changed.wanted;
  const std::string name = changed.row.name;
  const GatherLimits most = engine_.limits();
  const auto memory = core_.memory.lock();
  const Job* job = memory->jobs.find(name);
  if (job == nullptr && !wanted.make) return Refusal::unknown;
  if (job == nullptr && memory->budget.share_in_use() >= most.soft_disk) return Refusal::no_space;
  if (job != nullptr && job->row.deleting) return wanted.make ? Refusal::unavailable : Refusal::unknown;
  if (wanted.reports_again && job->row.arrivals == 0) return Refusal::unknown;
  if (job != nullptr) {
    changed.row = job->row;
  } else {
    changed.row = {};
    changed.row.name = name;
    changed.row.epoch = memory->jobs.epoch_of(name);
    changed.row.created = changed.at;
    changed.row.owner_uid = wanted.sender_uid;
  }
  wanted.change(changed.row);
  changed.other_files = wanted.reports_again || (job != nullptr && expects_other_files(*job, changed.row));
  return Refusal::none;
}

JobState Jobs::settle(const Changed& changed) {
  const Time now = engine_.now();
  const auto memory = core_.memory.lock();
  bool made = false;
  Job& job = memory->jobs.make(changed.row.name, changed.row.owner_uid, changed.at, made);
  job.stands = true;
  const uint32_t owner = job.row.owner_uid;
  changed.wanted.change(job.row);
  memory->budget.change_owner(job, owner);
  if (changed.other_files) ++job.row.arrivals;
  return state_of(job, now);
}

void Jobs::put(const std::string& name, const JobSettings& settings, Reply<JobState> done) {
  uint32_t next = 0, owner = 0;
  {
    const auto memory = core_.memory.lock();
    next = memory->jobs.epoch_of(name) + 1;
    owner = memory->jobs.owner_of_name(name);
  }
  const auto merge = [settings, next, owner](JobRow& row) {
    JobSettings& kept = row.settings;
    if (settings.world_size) kept.world_size = settings.world_size;
    if (settings.captures) kept.captures = settings.captures;
    if (settings.deadline) kept.deadline = settings.deadline;
    if (settings.retention) kept.retention = settings.retention;
    if (settings.owner_uid) {
      const uint32_t before = row.owner_uid != 0 ? row.owner_uid : owner;
      // The tokens that he has of it end.
      if (before != 0 && before != *settings.owner_uid) row.epoch = std::max(row.epoch + 1, next);
      kept.owner_uid = row.owner_uid = *settings.owner_uid;
    }
    if (!settings.nodes.empty()) kept.nodes = settings.nodes;
  };
  change(name, {merge, true, false, settings.sender_uid}, std::move(done));
}

void Jobs::end(const std::string& name, Reply<JobState> done) {
  const Time at = engine_.now();
  const auto end_it = [at](JobRow& row) {
    if (!row.ended) row.ended_at = at;
    row.ended = true;
  };
  change(name, {end_it}, std::move(done));
}

void Jobs::report_again(const std::string& name, Reply<JobState> done) {
  change(name, {[](JobRow&) {}, false, true}, std::move(done));
}

void Jobs::raise_epoch(const std::string& name, Reply<JobState> done) {
  const uint32_t next = core_.memory.lock()->jobs.epoch_of(name) + 1;
  change(name, {[next](JobRow& row) { row.epoch = std::max(row.epoch + 1, next); }}, std::move(done));
}

// From here on nothing comes into the job; its uploads' last operations end before it goes.
void Jobs::remove(const std::string& name, const std::string& who, const std::function<bool(const JobState&)>& holds,
                  Reply<Done> done) {
  Refusal refusal = engine_.closed();
  std::vector<UploadPointer> uploads;
  if (refusal == Refusal::none) {
    const Time at = engine_.now();
    const auto memory = core_.memory.lock();
    Job* job = memory->jobs.standing(name);
    if (job == nullptr || !holds(brief_state_of(*job, at))) {
      refusal = Refusal::unknown;
    } else {
      job->row.deleting = true;
      for (const auto& [id, upload] : memory->uploads) {
        if (upload->row.asked.metadata.job == name) uploads.push_back(upload);
      }
    }
  }
  if (refusal != Refusal::none) return engine_.answer<Done>(std::move(done), {refusal, {}});
  const auto last = std::make_shared<int>(0);
  const std::shared_ptr<void> gate(
      last.get(), [this, last, name, who, uploads, done = std::move(done)](void*) { trash(name, who, uploads, done); });
  for (const UploadPointer& upload : uploads) {
    uploads_.submit(upload, [this, upload, gate] {
      uploads_.abandon_writer(*upload);
      uploads_.next(upload);
    });
  }
}

void Jobs::trash(const std::string& name, const std::string& who, const std::vector<UploadPointer>& uploads,
                 const Reply<Done>& done) {
  Change mark;
  mark.rows = [this, name](Manifest& manifest) {
    const JobRow row = core_.memory.lock()->jobs.at(name).row;
    manifest.put(row);
  };
  mark.key = name;
  mark.done = [this, name](Refusal refusal) {
    if (refusal != Refusal::none) core_.memory.lock()->jobs.at(name).row.deleting = false;
  };
  engine_.post(std::move(mark));
  Change move;
  move.key = name;
  move.prepare = [this, name, uploads](FoldersToFlush& folders) { return move_to_trash(name, uploads, folders); };
  move.rows = [this, name, who, at = engine_.now()](Manifest& manifest) {
    manifest.audit(at, who, "deleted job " + name + ": " + contents_of(name));
    const uint32_t next_epoch = core_.memory.lock()->jobs.epoch_of(name);
    manifest.remove_job(name, next_epoch, at);
  };
  move.done = [this, name, uploads, done](Refusal refusal) {
    if (refusal == Refusal::none) {
      const auto memory = core_.memory.lock();
      for (const UploadPointer& upload : uploads) memory->forget(*upload);
      memory->remove_job(name);
    }
    done({refusal, {}});
    engine_.changed(name);
  };
  engine_.post(std::move(move));
}

Refusal Jobs::move_to_trash(const std::string& name, const std::vector<UploadPointer>& uploads,
                            FoldersToFlush& folders) {
  if (!core_.memory.lock()->jobs.at(name).row.deleting) return Refusal::no_space;
  SpoolFolders& spool = core_.folders;
  const uint32_t owner = core_.memory.lock()->jobs.owner_of_name(name);
  Refusal refusal = spool.move_to_trash(job_folder(name), trash_path(name, owner, random_hex(8)), folders);
  if (refusal == Refusal::none) refusal = spool.to_trash(quarantine_folder(name), folders);
  for (const UploadPointer& upload : uploads) {
    if (refusal == Refusal::none) refusal = spool.to_trash(part_path(upload->row), folders);
  }
  spool.forget(job_folder(name));
  spool.forget(quarantine_folder(name));
  return refusal;
}

std::string Jobs::contents_of(const std::string& name) const {
  const auto memory = core_.memory.lock();
  const Job& job = memory->jobs.at(name);
  size_t files = 0;
  for (const auto& [capture, of_capture] : job.files) files += of_capture.size();
  return "files: " + std::to_string(files) + ", bytes: " + std::to_string(job.bytes);
}

}  // namespace skewscope::gather
