// An upload begins: it is let in and charged in memory, then its disk is reserved, then its row and its job's are
// written.
#include "file_commit.h"
#include "skewscope/protocol/sha256.h"
#include "src/gather/disk/spool_paths.h"
#include "uploads.h"

namespace skewscope::gather {

void Uploads::create(const NewUpload& asked, Reply<UploadState> done) {
  Refusal refusal = engine_.closed();
  if (asked.metadata.grows && refusal == Refusal::none) {
    const std::string log = core_.memory.lock()->log_of(asked.metadata);
    if (!log.empty()) return state(log, std::move(done));
  }
  UploadPointer upload;
  bool of_new_job = false;
  if (refusal == Refusal::none) {
    const Time at = engine_.now();
    const GatherLimits most = engine_.limits();
    const std::string id = random_hex(16);
    const auto memory = core_.memory.lock();
    const FileRow* same = nullptr;
    refusal = memory->admit(asked, most, same);
    if (refusal == Refusal::none) {
      UploadRow row;
      row.id = id;
      row.asked = asked;
      row.stage = asked.metadata.grows ? UploadStage::growing : UploadStage::open;
      row.created = row.progress = at;
      upload = std::make_shared<Upload>(files_, part_path(row));
      upload->row = row;
      if (same != nullptr) {
        upload->row.stage = UploadStage::complete;
        upload->row.digest = same->digest;
        upload->row.durable = same->size;
        upload->row.asked.length = same->size;
      }
      refusal = memory->enter(upload, most, of_new_job);
    }
  }
  if (refusal != Refusal::none) return engine_.answer<UploadState>(std::move(done), {refusal, {}});
  submit(upload, [this, upload, of_new_job, done = std::move(done)] { begin_part(upload, of_new_job, done); });
}

Refusal Uploads::room_for(const UploadRow& row, bool of_new_job, uint64_t charged) {
  core_.look_at_disk();
  if (!core_.ballast.is_there()) return Refusal::no_space;
  const GatherLimits most = engine_.limits();
  return core_.memory.lock()->budget.room_for(row, of_new_job, charged, most);
}

void Uploads::begin_part(const UploadPointer& upload, bool of_new_job, const Reply<UploadState>& done) {
  const bool grows = upload->row.stage == UploadStage::growing;
  const bool open = upload->row.stage == UploadStage::open;
  Refusal refusal = engine_.failed() ? Refusal::unavailable : Refusal::none;
  if ((open || grows) && refusal == Refusal::none) refusal = room_for(upload->row, of_new_job, upload->charged);
  if (open && refusal == Refusal::none) {
    refusal =
        engine_.refusal_of(upload->part.create(upload->row.asked.length.value_or(0)), "cannot make an upload's file");
    if (!upload->row.asked.one_request && !is_empty(upload->row)) upload->part.close();
  }
  const auto refuse = [this, upload, open, done](Refusal why) {
    if (open) files_.remove(part_path(upload->row));
    forget(upload);
    engine_.changed(upload->row.asked.metadata.job);  // its capture may have begun with it
    done({why, {}});
    next(upload);
  };
  if (refusal != Refusal::none) return refuse(refusal);
  const auto begun = [this, upload, done] {
    engine_.changed(upload->row.asked.metadata.job);
    if (is_empty(upload->row)) {
      return engine_.on_file_thread(upload->row.id, [this, upload, done] { commit_file(core_, *this, upload, done); });
    }
    done({Refusal::none, state_of(*upload)});
    if (!is_open(upload->row)) upload->row.asked.one_request ? forget(upload) : remember(upload);
    next(upload);
  };
  if (upload->row.asked.one_request && is_known(*upload)) return begun();
  enter_row(upload, begun, refuse);
}

void Uploads::enter_row(const UploadPointer& upload, const std::function<void()>& begun, const Then& refuse) {
  Change change;
  change.prepare = [this, upload](FoldersToFlush& folders) {
    const Refusal refusal = still_wanted(*upload);
    const bool grows = upload->row.stage == UploadStage::growing;
    return refusal == Refusal::none && grows ? core_.folders.ensure_capture(upload->row.asked.metadata, folders)
                                             : refusal;
  };
  change.rows = [this, upload](Manifest& manifest) {
    const UploadMetadata& metadata = upload->row.asked.metadata;
    const JobRow job = core_.memory.lock()->jobs.at(metadata.job).row;  // no row is written under the lock
    manifest.add_job(job);
    if (metadata.world_size) manifest.add_world_size(metadata.job, *metadata.world_size);
    if (upload->widens) manifest.widened(metadata.job);
    if (upload->stretches) manifest.put_written(metadata.job, metadata.capture, job.written.at(metadata.capture));
    if (!upload->row.asked.one_request) manifest.put(upload->row);
  };
  change.done = [this, upload, begun, refuse](Refusal why) {
    if (why != Refusal::none) return refuse(why);
    {
      const auto memory = core_.memory.lock();
      Job& job = memory->jobs.at(upload->row.asked.metadata.job);
      job.stands = true;
      if (upload->widens) ++job.row.arrivals;
    }
    begun();
  };
  engine_.post(std::move(change));
}

// Has the manifest all that such an upload says of its job?
bool Uploads::is_known(const Upload& upload) const {
  const UploadMetadata& metadata = upload.row.asked.metadata;
  const auto memory = core_.memory.lock();
  const Job* job = memory->jobs.find(metadata.job);
  return job != nullptr && job->stands && !metadata.world_size && !upload.stretches;
}

// What the commit thread asks before it writes anything of an upload: its job may be going.
Refusal Uploads::still_wanted(const Upload& upload) const {
  const auto memory = core_.memory.lock();
  const bool wanted = !upload.gone && memory->jobs.standing(upload.row.asked.metadata.job) != nullptr;
  return wanted ? Refusal::none : Refusal::unknown;
}

}  // namespace skewscope::gather
