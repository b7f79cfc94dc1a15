// What a writer does to its upload. A checked request counts whole or not at all: nothing of it becomes durable before
// its checksum was seen to be right, and it ends by truncation else.
#include <algorithm>

#include "spool_store.h"
#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather {
namespace {

constexpr uint64_t kLongestSegment = 64 << 20;
constexpr auto kLongestUnsynced = std::chrono::seconds(2);

}  // namespace

void SpoolStore::write(const UploadPointer& upload, uint64_t writer, std::string_view bytes, const Reply<Done>& done) {
  submit(upload, [this, upload, writer, bytes, done] {
    Refusal refusal = closed();
    if (refusal == Refusal::none && upload->writer != writer) refusal = Refusal::wrong_offset;
    if (refusal == Refusal::none) upload->refused = refusal = append_bytes(*upload, bytes);
    done({refusal, {}});
    if (refusal == Refusal::none) make_old_bytes_durable(upload);
    next(upload);
  });
}

// Nobody waits for it. Also asked by the sweeper, for writers that have fallen silent.
void SpoolStore::make_old_bytes_durable(const UploadPointer& upload) {
  const bool long_ago = std::chrono::steady_clock::now() - upload->last_sync >= kLongestUnsynced;
  const uint64_t bytes = upload->part.unsynced();
  const bool due = bytes >= kLongestSegment || (long_ago && bytes > 0);
  if (upload->writer != 0 && due && !upload->checksum) make_durable(upload, [](Refusal) {});
}

Refusal SpoolStore::append_bytes(Upload& upload, std::string_view bytes) {
  if (bytes.empty()) return Refusal::none;
  const NewUpload& asked = upload.row.asked;
  const uint64_t end = upload.part.written() + bytes.size();
  if (upload.row.stage == UploadStage::complete || end > asked.length.value_or(limits().largest_file)) {
    return Refusal::too_large;
  }
  if (!asked.length && !has_ballast()) return Refusal::no_space;
  if (end > upload.charged) {  // the length is not known: charged as it grows
    const std::lock_guard lock(mutex_);
    const Refusal refusal = charge_held(asked.metadata.job, asked.uid, upload.charged, end + kLongestSegment);
    if (refusal != Refusal::none) return refusal;
  }
  const Refusal refusal = refusal_of(upload.part.append(bytes), "cannot write an upload");
  if (refusal == Refusal::none) {
    upload.unsynced = !upload.checksum;
    const std::lock_guard lock(mutex_);
    figures_.received_bytes += bytes.size();
  }
  return refusal;
}

void SpoolStore::finish(const UploadPointer& upload, uint64_t writer, bool vouched, const Reply<UploadState>& done,
                        std::shared_ptr<void> held) {
  submit(upload, [this, upload, writer, vouched, done, held = std::move(held)] {
    const auto reply = [this, upload, done](Refusal refusal) {
      done({refusal, refusal == Refusal::none ? state_of(*upload) : UploadState()});
      next(upload);
    };
    Refusal refusal = failed_ ? Refusal::unavailable : Refusal::none;
    if (refusal == Refusal::none && upload->writer != writer) {
      refusal = draining_ ? Refusal::unavailable : Refusal::wrong_offset;
    }
    if (refusal == Refusal::none) refusal = upload->refused;
    if (refusal != Refusal::none || upload->row.stage == UploadStage::complete) return reply(refusal);
    if (!vouched && upload->checksum && upload->part.segment_digest() != *upload->checksum) {
      count(&StoreFigures::checksum_failures);
      return end_writer(upload,
                        [reply](Refusal ended) { reply(ended == Refusal::none ? Refusal::wrong_digest : ended); });
    }
    upload->checksum.reset();
    upload->evicted = nullptr;
    if (upload->row.asked.length == upload->part.written()) {
      end_body(*upload);
      return commit_file(upload, done);
    }
    end_writer(upload, reply);
  });
}

// Until now bytes may have come at any moment.
void SpoolStore::end_body(Upload& upload) {
  if (upload.writer == 0) return;
  upload.writer = 0;
  const Time at = now();
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(upload.row.asked.metadata.job);
  if (upload.gone || job == jobs_.end()) return;
  --job->second.bodies;
  job->second.row.last_byte = std::max(job->second.row.last_byte, at);
}

void SpoolStore::release(const UploadPointer& upload, uint64_t writer) {
  submit(upload, [this, upload, writer] {
    if (upload->writer != writer) return next(upload);
    upload->evicted = nullptr;
    end_writer(upload, [this, upload](Refusal) { next(upload); });
  });
}

void SpoolStore::end_writer(const UploadPointer& upload, const Then& then) {
  if (upload->writer == 0) return then(Refusal::none);
  end_body(*upload);
  if (upload->evicted) std::exchange(upload->evicted, nullptr)();
  const bool checked = upload->checksum.has_value();
  upload->checksum.reset();
  if (failed_) return then(Refusal::unavailable);
  if (upload->row.stage == UploadStage::complete) return then(Refusal::none);
  if (checked) {
    const Refusal refusal = refusal_of(upload->part.roll_back(), "cannot truncate an upload");
    upload->part.close();
    return then(refusal);
  }
  make_durable(upload, then, true);
}

// `last`: the file is closed, too.
void SpoolStore::make_durable(const UploadPointer& upload, const Then& then, bool last) {
  Refusal refusal = Refusal::none;
  if (upload->part.unsynced() > 0) refusal = sync_part(*upload);
  if (last) upload->part.close();
  if (refusal != Refusal::none) return then(refusal);
  const Segment segment = upload->synced;
  bool segment_needed = true;
  {
    const std::lock_guard lock(mutex_);
    const bool one_request = upload->row.asked.one_request;  // nobody is told of an offset
    if (one_request) upload->row.progress = now();
    if (one_request || upload->row.durable >= segment.end) segment_needed = false;
  }
  if (!segment_needed) return then(Refusal::none);
  Change change;
  change.prepare = [this, upload](FoldersToFlush& folders) {
    if (!upload->entry_durable) folders.insert("in");
    return still_wanted(*upload);
  };
  const Time at = now();
  change.rows = [upload, segment, at](Manifest& manifest) {
    manifest.put_durable(upload->row.id, segment.end, segment.start, segment.digest, at);
  };
  change.done = [this, upload, segment, at, then](Refusal committed) {
    if (committed == Refusal::none) {
      upload->entry_durable = true;
      const std::lock_guard lock(mutex_);
      figures_.durable_bytes += segment.end - upload->row.durable;
      upload->row.durable = segment.end;
      upload->row.segment_start = segment.start;
      upload->row.segment = segment.digest;
      upload->row.progress = at;
      const auto job = jobs_.find(upload->row.asked.metadata.job);
      if (job != jobs_.end()) job->second.row.last_byte = std::max(job->second.row.last_byte, at);
    }
    then(committed);
  };
  post(std::move(change));
}

// A flush that found the disk full leaves nothing known behind the durable point: the next writer begins there.
Refusal SpoolStore::sync_part(Upload& upload) {
  const auto start = std::chrono::steady_clock::now();
  Segment segment;
  const Refusal refusal = refusal_of(upload.part.sync(segment), "cannot flush an upload");
  upload.last_sync = std::chrono::steady_clock::now();
  upload.unsynced = false;
  if (refusal == Refusal::none) upload.synced = segment;
  const std::lock_guard lock(mutex_);
  ++figures_.flushes;
  figures_.flush_seconds += std::chrono::duration<double>(upload.last_sync - start).count();
  return refusal;
}

void SpoolStore::quarantine_upload(const UploadPointer& upload, const char* why, const Then& then) {
  upload->part.close();
  Change change;
  change.prepare = [this, upload](FoldersToFlush& folders) {
    const Refusal refusal = still_wanted(*upload);
    return refusal == Refusal::none ? set_aside(part_path(upload->row.id), *upload, ".part", folders) : refusal;
  };
  const Time at = now();
  change.rows = [upload, why, at](Manifest& manifest) {
    manifest.remove_upload(upload->row.id);
    manifest.audit(at, upload->row.asked.client, std::string("quarantined upload ") + upload->row.id + ": " + why);
  };
  change.undo = [this, upload] {
    files_.rename(quarantine_folder(upload->row.asked.metadata.job) + "/" + upload->row.id + ".part",
                  part_path(upload->row.id), false);
  };
  change.done = [this, upload, then](Refusal refusal) {
    if (refusal == Refusal::none) {
      count(&StoreFigures::quarantined);
      const uint64_t bytes = upload->row.asked.length.value_or(upload->row.durable);
      forget_upload(upload);
      {
        const std::lock_guard lock(mutex_);
        const auto job = jobs_.find(upload->row.asked.metadata.job);
        if (job != jobs_.end()) charge_aside_held(job->second, static_cast<int64_t>(bytes));
      }
      changed(upload->row.asked.metadata.job);
    }
    then(refusal);
  };
  post(std::move(change));
}

// Into the quarantine of its job, under the upload's id.
Refusal SpoolStore::set_aside(const std::string& path, const Upload& upload, const std::string& suffix,
                              FoldersToFlush& folders) {
  const std::string folder = quarantine_folder(upload.row.asked.metadata.job);
  int error = ensure_folder(folder, folders);
  if (error == 0) error = files_.rename(path, folder + "/" + upload.row.id + suffix, true);
  if (error == 0) folders.insert({folder, path.substr(0, path.rfind('/'))});
  return refusal_of(error, "cannot move " + path + " to quarantine");
}

}  // namespace skewscope::gather
