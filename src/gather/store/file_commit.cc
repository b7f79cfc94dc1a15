// A whole file becomes part of its job, in this order:
//   1 flush of the part, digest as promised            (file thread)
//   2 rename into jobs/<job>/ranks/<capture>/          (commit thread, from here on)
//   3 flush of that folder and of in/
//   4 transaction: the file, the upload's end
//   5 the answer
// A crash before 4 leaves a file without a row, which the start recognizes by its upload; after 4 all of it stands.
// A file that replaces another first says so in its upload's row: in between, neither may be where the rows say.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "spool_store.h"
#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather {

struct SpoolStore::Arrival {
  enum class Verdict { placed, duplicate, other_content, must_announce };
  UploadPointer upload;
  FileRow row;
  Reply<UploadState> done;
  Verdict verdict = Verdict::placed;
  std::optional<FileRow> replaced;

  std::string path() const { return rank_path(row.job, row.capture, row.rank, row.suffix); }
  std::string old_path() const { return rank_path(row.job, row.capture, row.rank, replaced->suffix); }
  std::string aside() const { return quarantine_folder(row.job) + "/" + upload->row.id + replaced->suffix; }
};

void SpoolStore::commit_file(const UploadPointer& upload, const Reply<UploadState>& done) {
  const auto arrival = std::make_shared<Arrival>();
  const NewUpload& asked = upload->row.asked;
  arrival->upload = upload;
  arrival->done = done;
  FileRow& row = arrival->row;
  row.job = asked.metadata.job;
  row.capture = asked.metadata.capture;
  row.rank = asked.metadata.rank;
  row.size = upload->part.written();
  row.digest = upload->part.digest();
  row.uid = asked.uid;
  row.client = asked.client;
  row.filename = asked.metadata.filename;
  if (asked.metadata.sha256.value_or(row.digest) != row.digest) {
    count(&StoreFigures::checksum_failures);
    return quarantine_upload(upload, "its SHA-256 is not the promised one", [this, arrival](Refusal refusal) {
      arrival->done({refusal == Refusal::none ? Refusal::wrong_digest : refusal, {}});
      next(arrival->upload);
    });
  }
  ++finishing_;
  std::string first_bytes;
  Refusal refusal = refusal_of(upload->part.first_bytes(first_bytes), "cannot read an upload");
  row.suffix = suffix_of_content(first_bytes);
  if (refusal == Refusal::none) refusal = refusal_of(upload->part.make_immutable(), "cannot protect an upload");
  if (refusal == Refusal::none) refusal = sync_part(*upload);
  upload->part.close();
  --finishing_;
  if (refusal == Refusal::none) return post_arrival(arrival);
  done({refusal, {}});
  next(upload);
}

void SpoolStore::post_arrival(const ArrivalPointer& arrival) {
  Change change;
  const FileRow& row = arrival->row;
  change.key = row.job + "/" + std::to_string(row.capture) + "/" + std::to_string(row.rank);
  change.prepare = [this, arrival](FoldersToFlush& folders) { return place(*arrival, folders); };
  change.rows = [this, arrival](Manifest& manifest) { record(*arrival, manifest); };
  change.undo = [this, arrival] { displace(*arrival); };
  change.done = [this, arrival](Refusal refusal) { settle(arrival, refusal); };
  post(std::move(change));
}

Refusal SpoolStore::place(Arrival& arrival, FoldersToFlush& folders) {
  using Verdict = Arrival::Verdict;
  if (const Refusal refusal = still_wanted(*arrival.upload); refusal != Refusal::none) return refusal;
  FileRow& row = arrival.row;
  row.committed_at = now();
  {
    const std::lock_guard lock(mutex_);
    const UploadRow& upload = arrival.upload->row;
    const FileRow* present = file_held(row.job, row.capture, row.rank);
    if (present == nullptr) {
      arrival.verdict = Verdict::placed;
    } else if (present->digest == row.digest) {
      arrival.verdict = Verdict::duplicate;
    } else if (!upload.asked.metadata.replace) {
      arrival.verdict = Verdict::other_content;
    } else if (upload.stage != UploadStage::replacing) {
      arrival.verdict = Verdict::must_announce;
    } else {
      arrival.verdict = Verdict::placed;
      arrival.replaced = *present;
      row.generation = present->generation + 1;
    }
  }
  return arrival.verdict == Verdict::placed ? move_in(arrival, folders) : Refusal::none;
}

Refusal SpoolStore::move_in(Arrival& arrival, FoldersToFlush& folders) {
  const FileRow& row = arrival.row;
  const std::string capture = capture_folder(row.job, row.capture), part = part_path(arrival.upload->row.id);
  int error = 0;
  for (const std::string& folder : {job_folder(row.job), ranks_folder(row.job), capture}) {
    if (error == 0) error = ensure_folder(folder, folders);
  }
  if (error == 0 && arrival.replaced) {
    error = ensure_folder(quarantine_folder(row.job), folders);
    if (error == 0) error = files_.rename(arrival.old_path(), arrival.aside(), true);
    if (error == 0) folders.insert(quarantine_folder(row.job));
  }
  if (error != 0) return refusal_of(error, "cannot make room for " + arrival.path());
  error = files_.rename(part, arrival.path(), false);
  Refusal refusal = Refusal::none;
  if (error == EEXIST) {  // a file that no row knows
    refusal = set_aside(arrival.path(), *arrival.upload, ".stranger", folders);
    if (refusal == Refusal::none) {
      count(&StoreFigures::quarantined);
      error = files_.rename(part, arrival.path(), false);
    }
  }
  if (refusal == Refusal::none) refusal = refusal_of(error, "cannot move an upload to " + arrival.path());
  if (refusal != Refusal::none) put_back(arrival);
  folders.insert({capture, "in"});
  return refusal;
}

// What was to be replaced. If it cannot be, it lies where no row says, but for that of the upload: with this one the
// next start puts it back, and nothing is changed until then.
void SpoolStore::put_back(const Arrival& arrival) {
  if (!arrival.replaced) return;
  const int error = files_.rename(arrival.aside(), arrival.old_path(), false);
  if (error != 0) fail("cannot move " + arrival.aside() + " back: " + std::strerror(error));
}

// The disk was too full for the rows: back, so that the sender can try again.
void SpoolStore::displace(Arrival& arrival) {
  if (arrival.verdict != Arrival::Verdict::placed) return;
  files_.rename(arrival.path(), part_path(arrival.upload->row.id), false);
  put_back(arrival);
}

void SpoolStore::record(const Arrival& arrival, Manifest& manifest) const {
  using Verdict = Arrival::Verdict;
  const FileRow& row = arrival.row;
  UploadRow upload = arrival.upload->row;
  if (arrival.verdict == Verdict::must_announce) return;
  // Of one request nobody asks afterwards; one that replaces has a row from its announcement.
  if (arrival.verdict == Verdict::other_content || upload.asked.one_request) {
    manifest.remove_upload(upload.id);
  } else {
    upload.stage = UploadStage::complete;
    upload.durable = row.size;
    upload.digest = row.digest;
    manifest.put(upload);
  }
  if (arrival.verdict == Verdict::other_content) return;
  if (arrival.verdict == Verdict::duplicate) return;
  manifest.put(row);
  manifest.arrived(row.job, row.committed_at);
  if (arrival.replaced) {
    manifest.audit(row.committed_at, row.client,
                   "replaced " + arrival.path() + ", was " + hex(arrival.replaced->digest));
  }
}

void SpoolStore::settle(const ArrivalPointer& arrival, Refusal refusal) {
  using Verdict = Arrival::Verdict;
  const UploadPointer upload = arrival->upload;
  if (refusal == Refusal::none && arrival->verdict == Verdict::must_announce) return announce_replacement(arrival);
  if (refusal == Refusal::none && arrival->verdict == Verdict::other_content) {
    files_.remove(part_path(upload->row.id));
    forget_upload(upload);
    refusal = Refusal::other_content;
  } else if (refusal == Refusal::none) {
    if (arrival->verdict == Verdict::duplicate) files_.remove(part_path(upload->row.id));
    if (arrival->verdict == Verdict::placed) enter_file(*arrival);
    complete_upload(*arrival);  // last: its capture has begun at every moment
    changed(arrival->row.job);
  }
  arrival->done({refusal, refusal == Refusal::none ? state_of(*upload) : UploadState()});
  if (refusal == Refusal::none) upload->row.asked.one_request ? forget_upload(upload) : remember(upload);
  next(upload);
}

void SpoolStore::complete_upload(const Arrival& arrival) {
  const std::lock_guard lock(mutex_);
  Upload& upload = *arrival.upload;
  close_held(upload);
  figures_.durable_bytes += arrival.row.size - std::min(upload.row.durable, arrival.row.size);
  upload.row.stage = UploadStage::complete;
  upload.row.durable = arrival.row.size;
  upload.row.asked.length = arrival.row.size;
  upload.row.digest = arrival.row.digest;
}

// What was replaced stays charged to the job and its owner: it lies in quarantine.
void SpoolStore::enter_file(const Arrival& arrival) {
  const std::lock_guard lock(mutex_);
  const FileRow& row = arrival.row;
  Job& job = jobs_.at(row.job);
  job.bytes += row.size;
  job.charged += row.size;
  charged_of_user_[row.uid] += row.size;
  if (arrival.replaced) {
    job.bytes -= arrival.replaced->size;
    job.charged -= arrival.replaced->size;
    charged_of_user_[arrival.replaced->uid] -= arrival.replaced->size;
    charge_aside_held(job, static_cast<int64_t>(arrival.replaced->size));
    ++figures_.quarantined;
  } else {
    ++figures_.files;
  }
  auto& generations = job.generations[row.capture];
  if (arrival.replaced && --generations[arrival.replaced->generation] == 0) {
    generations.erase(arrival.replaced->generation);
  }
  ++generations[row.generation];
  job.files[row.capture][row.rank] = row;
  job.highest_rank = std::max(job.highest_rank, row.rank);
  ++job.row.arrivals;
  job.row.last_arrival = std::max(job.row.last_arrival, row.committed_at);
  job.row.last_byte = std::max(job.row.last_byte, row.committed_at);
  ++figures_.commits;
}

void SpoolStore::announce_replacement(const ArrivalPointer& arrival) {
  Change change;
  change.prepare = [this, arrival](FoldersToFlush&) { return still_wanted(*arrival->upload); };
  change.rows = [arrival](Manifest& manifest) {
    UploadRow row = arrival->upload->row;
    row.stage = UploadStage::replacing;
    row.digest = arrival->row.digest;
    manifest.put(row);
  };
  change.done = [this, arrival](Refusal refusal) {
    if (refusal != Refusal::none) {
      arrival->done({refusal, {}});
      return next(arrival->upload);
    }
    {
      const std::lock_guard lock(mutex_);
      arrival->upload->row.stage = UploadStage::replacing;
      arrival->upload->row.digest = arrival->row.digest;
    }
    post_arrival(arrival);
  };
  post(std::move(change));
}

// Folders that this process has not used are flushed into their parents even if they are there: that they can be seen
// does not say that they would survive.
int SpoolStore::ensure_folder(const std::string& path, FoldersToFlush& folders) {
  if (folders_made_.count(path) > 0) return 0;
  const int error = files_.make_folder(path);
  if (error != 0 && error != EEXIST) return error;
  folders.insert(path.substr(0, path.rfind('/')));
  folders_made_.insert(path);
  return 0;
}

}  // namespace skewscope::gather
