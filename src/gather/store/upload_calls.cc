// Uploads: made, looked at, taken over, removed. Each call is an operation in its upload's queue.
#include <algorithm>

#include "spool_store.h"
#include "spool_writer.h"
#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather {
namespace {

// With those that are on their way.
int64_t files_held(const Job& job) {
  int64_t files = job.open_uploads;
  for (const auto& [capture, of_capture] : job.files) files += static_cast<int64_t>(of_capture.size());
  return files;
}

// It ends with its creation: no other request comes.
bool is_empty(const UploadRow& row) {
  return row.stage == UploadStage::open && !row.asked.one_request && row.asked.length == uint64_t{0};
}

size_t lane_of(const std::string& id) { return std::hash<std::string>()(id); }

}  // namespace

void SpoolStore::on_file_thread(const std::string& id, std::function<void()> task) {
  ++in_flight_;
  file_threads_->post(lane_of(id), [this, task = std::move(task)]() mutable {
    task();
    task = nullptr;
    landed();
  });
}

void SpoolStore::post(Change change) {
  ++in_flight_;
  change.done = [this, done = std::move(change.done)](Refusal refusal) {
    done(refusal);
    landed();
  };
  commits_->post(std::move(change));
}

void SpoolStore::landed() {
  if (--in_flight_ > 0) return;
  const std::lock_guard lock(mutex_);
  all_landed_.notify_all();
}

void SpoolStore::submit(const UploadPointer& upload, std::function<void()> operation) {
  const std::lock_guard lock(mutex_);
  upload->operations.push_back(std::move(operation));
  if (upload->busy) return;
  upload->busy = true;
  std::function<void()> first = std::move(upload->operations.front());
  upload->operations.pop_front();
  on_file_thread(upload->row.id, std::move(first));
}

void SpoolStore::next(const UploadPointer& upload) {
  const std::lock_guard lock(mutex_);
  if (upload->operations.empty()) {
    upload->busy = false;
    return;
  }
  std::function<void()> following = std::move(upload->operations.front());
  upload->operations.pop_front();
  on_file_thread(upload->row.id, std::move(following));
}

SpoolStore::UploadPointer SpoolStore::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = uploads_.find(id);
  return found == uploads_.end() ? nullptr : found->second;
}

Time SpoolStore::expires(const UploadRow& row) const {
  const GatherLimits most = limits();
  return std::min(row.created + most.upload_life, row.progress + most.upload_progress);
}

UploadState SpoolStore::state_of(const Upload& upload) const {
  const std::lock_guard lock(mutex_);
  const UploadRow& row = upload.row;
  UploadState out;
  out.id = row.id;
  out.metadata = row.asked.metadata;
  out.said = row.asked.said;
  out.length = row.asked.length;
  out.complete = row.stage == UploadStage::complete;
  out.offset = row.durable;
  if (out.complete) out.digest = row.digest;
  out.expires = expires(row);
  return out;
}

Refusal SpoolStore::usable(const UploadPointer& upload) const {
  if (failed_) return Refusal::unavailable;
  const std::lock_guard lock(mutex_);
  if (upload->gone) return Refusal::unknown;
  const UploadStage stage = upload->row.stage;
  const bool late =
      stage == UploadStage::expired || (stage != UploadStage::complete && has_ended(upload->row, aging_held()));
  return late ? Refusal::expired : Refusal::none;
}

std::optional<UploadMetadata> SpoolStore::metadata_of(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = uploads_.find(id);
  return found == uploads_.end() ? std::nullopt : std::optional(found->second->row.asked.metadata);
}

// `same`: the file that makes the upload needless. With `mutex_` held.
Refusal SpoolStore::admit_held(const NewUpload& asked, const FileRow*& same) const {
  const UploadMetadata& metadata = asked.metadata;
  const auto job = jobs_.find(metadata.job);
  if (job != jobs_.end() && job->second.row.deleting) return Refusal::unavailable;
  if (asked.length.value_or(0) > limits().largest_file) return Refusal::too_large;
  const FileRow* file = file_held(metadata.job, metadata.capture, metadata.rank);
  if (file != nullptr && metadata.sha256) {
    if (*metadata.sha256 == file->digest) {
      same = file;
      return asked.length.value_or(file->size) == file->size ? Refusal::none : Refusal::wrong_digest;
    }
    if (!metadata.replace) return Refusal::other_content;
  }
  const int64_t files = job == jobs_.end() ? 0 : files_held(job->second);
  if (file == nullptr && files >= limits().files_per_job) return Refusal::quota;
  const int all = limits().open_uploads;
  if (figures_.open_uploads >= static_cast<uint64_t>(all)) return Refusal::too_many;
  if (job == jobs_.end()) return Refusal::none;
  const int ranks = expected_of(job->second, job->second.row), half = std::max(1, all / 2);
  const int most = ranks == 0 ? half : std::min(half, std::max(16, 2 * ranks));
  return job->second.open_uploads < most ? Refusal::none : Refusal::too_many;
}

void SpoolStore::create(const NewUpload& asked, Reply<UploadState> done) {
  Refusal refusal = closed();
  UploadPointer upload;
  bool of_new_job = false;
  if (refusal == Refusal::none) {
    const Time at = now();
    const std::string id = random_hex(16);
    const std::lock_guard lock(mutex_);
    const FileRow* same = nullptr;
    refusal = admit_held(asked, same);
    if (refusal == Refusal::none) {
      upload = std::make_shared<Upload>(files_, part_path(id));
      upload->row.id = id;
      upload->row.asked = asked;
      upload->row.created = upload->row.progress = at;
      if (same != nullptr) {
        upload->row.stage = UploadStage::complete;
        upload->row.digest = same->digest;
        upload->row.durable = same->size;
        upload->row.asked.length = same->size;
      }
      refusal = enter_held(upload, of_new_job);
    }
  }
  if (refusal != Refusal::none) return answer<UploadState>(std::move(done), {refusal, {}});
  submit(upload, [this, upload, of_new_job, done = std::move(done)] { begin_part(upload, of_new_job, done); });
}

// Into memory, charged. With `mutex_` held.
Refusal SpoolStore::enter_held(const UploadPointer& upload, bool& of_new_job) {
  const NewUpload& asked = upload->row.asked;
  const UploadMetadata& metadata = asked.metadata;
  Job& job = job_held(metadata.job, asked.uid, of_new_job);
  const bool open = upload->row.stage == UploadStage::open;
  if (open) {
    const Refusal refusal = charge_held(metadata.job, asked.uid, upload->charged, asked.length.value_or(0));
    if (refusal != Refusal::none) {
      if (of_new_job) jobs_.erase(metadata.job);
      return refusal;
    }
    ++job.open_uploads;
    ++figures_.open_uploads;
    ++job.open_of_capture[metadata.capture];
  }
  ++job.uploads;
  if (metadata.world_size) {
    const int told = *metadata.world_size;
    JobRow row = job.row;
    row.least_told = row.least_told == 0 ? told : std::min(row.least_told, told);
    row.most_told = std::max(row.most_told, told);
    upload->widens = expects_other_files(job, row);
    job.row = std::move(row);
  }
  uploads_.emplace(upload->row.id, upload);
  return Refusal::none;
}

// Lengths that are told reserve disk, whether their bytes come or not: all open uploads of an owner together may have
// half of what is free below the soft mark. The first may have all of it: it is the owner's only one.
bool SpoolStore::has_its_share_held(const UploadRow& row, uint64_t charged) const {
  const auto open = open_of_owner_.find(owner_of(row.asked.metadata.job, row.asked.uid));
  const uint64_t all = open == open_of_owner_.end() ? 0 : open->second;
  if (all <= charged || space_.total == 0) return true;
  const double mark = static_cast<double>(space_.total) * std::min(limits().soft_disk, 1.0);
  const double used = static_cast<double>(space_.total - space_.available);
  return static_cast<double>(all + charged) <= mark - used;
}

Refusal SpoolStore::room_for(const UploadRow& row, bool of_new_job, uint64_t charged) {
  look_at_disk();
  if (!has_ballast()) return Refusal::no_space;
  const std::lock_guard lock(mutex_);
  const double share = share_in_use(space_);
  const GatherLimits most = limits();
  const bool full = share >= most.hard_disk || (of_new_job && share >= most.soft_disk) ||
                    space_.available < row.asked.length.value_or(0) + reserved_bytes(space_) ||
                    !has_its_share_held(row, charged);
  return full ? Refusal::no_space : Refusal::none;
}

void SpoolStore::begin_part(const UploadPointer& upload, bool of_new_job, const Reply<UploadState>& done) {
  const bool open = upload->row.stage == UploadStage::open;
  Refusal refusal = failed_ ? Refusal::unavailable : Refusal::none;
  if (open && refusal == Refusal::none) refusal = room_for(upload->row, of_new_job, upload->charged);
  if (open && refusal == Refusal::none) {
    refusal = refusal_of(upload->part.create(upload->row.asked.length.value_or(0)), "cannot make an upload's file");
    if (!upload->row.asked.one_request && !is_empty(upload->row)) upload->part.close();
  }
  const auto refuse = [this, upload, open, done](Refusal why) {
    if (open) files_.remove(part_path(upload->row.id));
    forget_upload(upload);
    changed(upload->row.asked.metadata.job);  // its capture may have begun with it
    done({why, {}});
    next(upload);
  };
  if (refusal != Refusal::none) return refuse(refusal);
  const auto begun = [this, upload, done] {
    changed(upload->row.asked.metadata.job);
    if (is_empty(upload->row))
      return on_file_thread(upload->row.id, [this, upload, done] { commit_file(upload, done); });
    done({Refusal::none, state_of(*upload)});
    if (!is_open(upload->row)) upload->row.asked.one_request ? forget_upload(upload) : remember(upload);
    next(upload);
  };
  if (upload->row.asked.one_request && is_known(upload->row.asked.metadata)) return begun();
  Change change;
  change.prepare = [this, upload](FoldersToFlush&) { return still_wanted(*upload); };
  change.rows = [this, upload](Manifest& manifest) {
    const UploadMetadata& metadata = upload->row.asked.metadata;
    manifest.add_job(job_row(metadata.job));
    if (metadata.world_size) manifest.told(metadata.job, *metadata.world_size);
    if (upload->widens) manifest.widened(metadata.job);
    if (!upload->row.asked.one_request) manifest.put(upload->row);
  };
  change.done = [this, upload, begun, refuse](Refusal why) {
    if (why != Refusal::none) return refuse(why);
    {
      const std::lock_guard lock(mutex_);
      Job& job = jobs_.at(upload->row.asked.metadata.job);
      job.stands = true;
      if (upload->widens) ++job.row.arrivals;
    }
    begun();
  };
  post(std::move(change));
}

// Has the manifest all that such an upload says of its job.
bool SpoolStore::is_known(const UploadMetadata& metadata) const {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(metadata.job);
  return job != jobs_.end() && job->second.stands && !metadata.world_size;
}

// What the commit thread asks before it writes anything of an upload: its job may be going.
Refusal SpoolStore::still_wanted(const Upload& upload) const {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(upload.row.asked.metadata.job);
  const bool wanted = !upload.gone && job != jobs_.end() && !job->second.row.deleting;
  return wanted ? Refusal::none : Refusal::unknown;
}

void SpoolStore::state(const std::string& id, Reply<UploadState> done) {
  const UploadPointer upload = find(id);
  if (!upload) return answer<UploadState>(std::move(done), {Refusal::unknown, {}});
  submit(upload, [this, upload, done = std::move(done)] {
    end_writer(upload, [this, upload, done](Refusal refusal) {
      if (refusal == Refusal::none) refusal = usable(upload);
      done({refusal, refusal == Refusal::none ? state_of(*upload) : UploadState()});
      next(upload);
    });
  });
}

void SpoolStore::append(const std::string& id, uint64_t offset, std::optional<uint64_t> length,
                        std::optional<Digest> checksum, std::function<void()> evicted,
                        Reply<std::shared_ptr<Writer>> done) {
  const UploadPointer upload = find(id);
  const Refusal refusal = upload ? closed() : Refusal::unknown;
  if (refusal != Refusal::none) return answer<std::shared_ptr<Writer>>(std::move(done), {refusal, nullptr});
  const Asked asked{offset, length, checksum, std::move(evicted)};
  submit(upload, [this, upload, asked, done = std::move(done)] {
    const auto begin = [this, upload, asked, done] {
      const Refusal begun = begin_writer(upload, asked);
      const uint64_t number = upload->writer;
      done({begun, begun == Refusal::none ? std::make_shared<SpoolWriter>(link_, upload, number) : nullptr});
      next(upload);
    };
    if (upload->writer == 0) return begin();
    end_writer(upload, [this, upload, begin, done](Refusal ended) {  // on the commit thread, perhaps
      if (ended == Refusal::none) return on_file_thread(upload->row.id, begin);
      done({ended, nullptr});
      next(upload);
    });
  });
}

Refusal SpoolStore::begin_writer(const UploadPointer& upload, const Asked& asked) {
  Refusal refusal = usable(upload);
  if (refusal == Refusal::none) refusal = closed();
  upload->synced = {};  // what did not get into the manifest is cut off
  if (refusal == Refusal::none && asked.offset != upload->row.durable) refusal = Refusal::wrong_offset;
  if (refusal == Refusal::none) refusal = tell_length(upload, asked.length);
  if (refusal == Refusal::none && upload->row.stage != UploadStage::complete) {
    refusal = refusal_of(upload->part.open(upload->row.durable, upload->row.asked.length), "cannot open an upload");
  }
  if (refusal != Refusal::none) return refusal;
  {
    const std::lock_guard lock(mutex_);
    upload->writer = ++writers_;
    const auto job = jobs_.find(upload->row.asked.metadata.job);
    if (!upload->gone && job != jobs_.end()) ++job->second.bodies;
  }
  upload->refused = Refusal::none;
  upload->evicted = asked.evicted;
  upload->checksum = asked.checksum;
  upload->last_sync = std::chrono::steady_clock::now();
  return Refusal::none;
}

// A length that was deferred. Told again it must be the same.
Refusal SpoolStore::tell_length(const UploadPointer& upload, std::optional<uint64_t> length) {
  if (!length || upload->row.asked.length == length) return Refusal::none;
  if (upload->row.asked.length || *length < upload->row.durable) return Refusal::wrong_offset;
  if (*length > limits().largest_file) return Refusal::too_large;
  if (!has_ballast()) return Refusal::no_space;
  const std::lock_guard lock(mutex_);
  const Refusal refusal = charge_held(upload->row.asked.metadata.job, upload->row.asked.uid, upload->charged, *length);
  if (refusal == Refusal::none) upload->row.asked.length = length;
  return refusal;
}

// Kept in memory alone: who gives it with the last bytes gives it again when they must be sent again.
void SpoolStore::promise_digest(const std::string& id, const Digest& digest, Reply<Done> done) {
  const UploadPointer upload = find(id);
  if (!upload) return answer<Done>(std::move(done), {Refusal::unknown, {}});
  submit(upload, [this, upload, digest, done = std::move(done)] {
    Refusal refusal = usable(upload);
    if (refusal == Refusal::none) {
      const std::lock_guard lock(mutex_);
      std::optional<Digest>& declared = upload->row.asked.metadata.sha256;
      const bool complete = upload->row.stage == UploadStage::complete;
      const bool other = complete ? upload->row.digest != digest : declared.value_or(digest) != digest;
      if (!other) declared = digest;
      if (other) refusal = Refusal::wrong_digest;
    }
    done({refusal, {}});
    next(upload);
  });
}

void SpoolStore::remove(const std::string& id, Reply<Done> done) {
  const UploadPointer upload = find(id);
  const Refusal refusal = upload ? closed() : Refusal::unknown;
  if (refusal != Refusal::none) return answer<Done>(std::move(done), {refusal, {}});
  submit(upload, [this, upload, done = std::move(done)] {
    if (usable(upload) == Refusal::unknown) {
      done({Refusal::unknown, {}});
      return next(upload);
    }
    drop_upload(upload, [this, upload, done](Refusal dropped) {
      done({dropped, {}});
      next(upload);
    });
  });
}

// Of each file one upload that completed is known for a while; whoever asks for an older one begins again, and is done.
void SpoolStore::remember(const UploadPointer& upload) {
  UploadPointer older;
  {
    const std::lock_guard lock(mutex_);
    const UploadMetadata& metadata = upload->row.asked.metadata;
    const auto job = jobs_.find(metadata.job);
    if (upload->gone || job == jobs_.end()) return;
    std::string& id = job->second.remembered[{metadata.capture, metadata.rank}];
    const auto found = id == upload->row.id ? uploads_.end() : uploads_.find(id);
    if (found != uploads_.end()) older = found->second;
    id = upload->row.id;
  }
  if (!older) return;
  submit(older, [this, older] { drop_upload(older, [this, older](Refusal) { next(older); }); });
}

// Row first: a part without a row is nobody's, a row without its part would be a loss.
void SpoolStore::drop_upload(const UploadPointer& upload, const Then& then) {
  abandon_writer(*upload);
  Change change;
  if (!upload->row.asked.one_request || upload->row.stage == UploadStage::replacing) {  // else it has none
    change.rows = [upload](Manifest& manifest) { manifest.remove_upload(upload->row.id); };
  }
  change.done = [this, upload, then](Refusal refusal) {
    if (refusal == Refusal::none) {
      files_.remove(part_path(upload->row.id));
      forget_upload(upload);
      changed(upload->row.asked.metadata.job);
    }
    then(refusal);
  };
  post(std::move(change));
}

void SpoolStore::abandon_writer(Upload& upload) {
  end_body(upload);
  if (upload.evicted) std::exchange(upload.evicted, nullptr)();
  upload.part.close();
}

void SpoolStore::forget_upload(const UploadPointer& upload) {
  const std::lock_guard lock(mutex_);
  if (upload->gone) return;
  close_held(*upload);
  upload->gone = true;
  uploads_.erase(upload->row.id);
  const UploadMetadata& metadata = upload->row.asked.metadata;
  const auto job = jobs_.find(metadata.job);
  if (job == jobs_.end()) return;
  const auto known = job->second.remembered.find({metadata.capture, metadata.rank});
  if (known != job->second.remembered.end() && known->second == upload->row.id) job->second.remembered.erase(known);
  --job->second.uploads;
  if (!job->second.stands && job->second.uploads == 0) jobs_.erase(job);
}

// No longer open: neither counted nor charged. With `mutex_` held.
void SpoolStore::close_held(Upload& upload) {
  const UploadMetadata& metadata = upload.row.asked.metadata;
  if (!is_open(upload.row)) return;
  const auto job = jobs_.find(metadata.job);
  if (job == jobs_.end()) return;
  charge_held(metadata.job, upload.row.asked.uid, upload.charged, 0);
  --job->second.open_uploads;
  const auto open = job->second.open_of_capture.find(metadata.capture);
  if (--open->second == 0) job->second.open_of_capture.erase(open);
  --figures_.open_uploads;
}

}  // namespace skewscope::gather
