// What a writer does to its upload. A checked request counts whole or not at all: nothing of it becomes durable before
// its checksum was seen to be right, and it ends by truncation else.
#include <algorithm>

#include "file_commit.h"
#include "skewscope/protocol/names.h"
#include "src/gather/disk/spool_paths.h"
#include "uploads.h"

namespace skewscope::gather {
namespace {

constexpr uint64_t kLongestSegment = 64 << 20;
constexpr uint64_t kLogAhead = 1 << 20;  // what a log is charged beyond its end: it grows by little at a time
constexpr auto kLongestUnsynced = std::chrono::seconds(2);

}  // namespace

Refusal Uploads::begin_writer(const UploadPointer& upload, const Asked& asked) {
  Refusal refusal = usable(upload);
  if (refusal == Refusal::none) refusal = engine_.closed();
  upload->synced = {};  // what did not get into the manifest is cut off
  if (refusal == Refusal::none && asked.offset != upload->row.durable) refusal = Refusal::wrong_offset;
  if (refusal == Refusal::none) refusal = take_length(upload, asked.length);
  if (refusal == Refusal::none && upload->row.stage != UploadStage::complete) {
    refusal =
        engine_.refusal_of(upload->part.open(upload->row.durable, upload->row.asked.length), "cannot open an upload");
  }
  if (refusal != Refusal::none) return refusal;
  {
    const auto memory = core_.memory.lock();
    upload->writer = ++writers_;
    Job* job = memory->jobs.find(upload->row.asked.metadata.job);
    if (!upload->gone && job != nullptr) ++job->bodies;
  }
  upload->refused = Refusal::none;
  upload->evicted = asked.evicted;
  upload->checksum = asked.checksum;
  upload->last_sync = std::chrono::steady_clock::now();
  return Refusal::none;
}

// A length that was deferred. Given again it must be the same.
Refusal Uploads::take_length(const UploadPointer& upload, std::optional<uint64_t> length) {
  if (!length || upload->row.asked.length == length) return Refusal::none;
  if (upload->row.stage == UploadStage::growing || upload->row.asked.length || *length < upload->row.durable)
    return Refusal::wrong_offset;
  const GatherLimits most = engine_.limits();
  if (*length > most.largest_file) return Refusal::too_large;
  if (!core_.ballast.is_there()) return Refusal::no_space;
  const auto memory = core_.memory.lock();
  const UploadRow& row = upload->row;
  Job& job = memory->jobs.at(row.asked.metadata.job);
  const Refusal refusal = memory->budget.charge(job, row.asked.uid, upload->charged, *length, most);
  if (refusal == Refusal::none) upload->row.asked.length = length;
  return refusal;
}

void Uploads::write(const UploadPointer& upload, uint64_t writer, std::string_view bytes, const Reply<Done>& done) {
  submit(upload, [this, upload, writer, bytes, done] {
    Refusal refusal = engine_.closed();
    if (refusal == Refusal::none && upload->writer != writer) refusal = Refusal::wrong_offset;
    if (refusal == Refusal::none) upload->refused = refusal = append_bytes(*upload, bytes);
    done({refusal, {}});
    if (refusal == Refusal::none) make_old_bytes_durable(upload);
    next(upload);
  });
}

// Nobody waits for it. Also asked by the sweeper, for writers that have fallen silent.
void Uploads::make_old_bytes_durable(const UploadPointer& upload) {
  const bool long_ago = std::chrono::steady_clock::now() - upload->last_sync >= kLongestUnsynced;
  const uint64_t bytes = upload->part.unsynced();
  const bool due = bytes >= kLongestSegment || (long_ago && bytes > 0);
  if (upload->writer != 0 && due && !upload->checksum) make_durable(upload, [](Refusal) {});
}

Refusal Uploads::append_bytes(Upload& upload, std::string_view bytes) {
  if (bytes.empty()) return Refusal::none;
  const NewUpload& asked = upload.row.asked;
  const uint64_t end = upload.part.written() + bytes.size();
  if (upload.row.stage == UploadStage::complete || end > asked.length.value_or(engine_.limits().largest_file)) {
    return Refusal::too_large;
  }
  if (!asked.length && !core_.ballast.is_there()) return Refusal::no_space;
  if (end > upload.charged) {  // the length is not known: charged as it grows
    const GatherLimits most = engine_.limits();
    const auto memory = core_.memory.lock();
    Job& job = memory->jobs.at(asked.metadata.job);
    const Refusal refusal = memory->budget.charge(job, asked.uid, upload.charged,
                                                  end + (asked.metadata.grows ? kLogAhead : kLongestSegment), most);
    if (refusal != Refusal::none) return refusal;
  }
  const Refusal refusal = engine_.refusal_of(upload.part.append(bytes), "cannot write an upload");
  if (refusal == Refusal::none) {
    upload.unsynced = !upload.checksum;
    core_.memory.lock()->figures.received_bytes += bytes.size();
  }
  return refusal;
}

void Uploads::finish(const UploadPointer& upload, uint64_t writer, bool vouched, const Reply<UploadState>& done,
                     std::shared_ptr<void> held) {
  submit(upload, [this, upload, writer, vouched, done, held = std::move(held)] {
    const auto reply = [this, upload, done](Refusal refusal) {
      done({refusal, refusal == Refusal::none ? state_of(*upload) : UploadState()});
      next(upload);
    };
    Refusal refusal = engine_.failed() ? Refusal::unavailable : Refusal::none;
    if (refusal == Refusal::none && upload->writer != writer) {
      refusal = engine_.draining() ? Refusal::unavailable : Refusal::wrong_offset;
    }
    if (refusal == Refusal::none) refusal = upload->refused;
    if (refusal != Refusal::none || upload->row.stage == UploadStage::complete) return reply(refusal);
    if (!vouched && upload->checksum && upload->part.segment_digest() != *upload->checksum) {
      ++core_.memory.lock()->figures.checksum_failures;
      return end_writer(upload,
                        [reply](Refusal ended) { reply(ended == Refusal::none ? Refusal::wrong_digest : ended); });
    }
    upload->checksum.reset();
    upload->evicted = nullptr;
    if (upload->row.asked.length == upload->part.written()) {
      end_body(*upload);
      return commit_file(core_, *this, upload, done);
    }
    end_writer(upload, reply);
  });
}

// Until now bytes may have come at any moment.
void Uploads::end_body(Upload& upload) {
  if (upload.writer == 0) return;
  upload.writer = 0;
  const Time at = engine_.now();
  const auto memory = core_.memory.lock();
  Job* job = memory->jobs.find(upload.row.asked.metadata.job);
  if (upload.gone || job == nullptr) return;
  --job->bodies;
  job->row.last_byte = std::max(job->row.last_byte, at);
}

void Uploads::release(const UploadPointer& upload, uint64_t writer) {
  submit(upload, [this, upload, writer] {
    if (upload->writer != writer) return next(upload);
    upload->evicted = nullptr;
    end_writer(upload, [this, upload](Refusal) { next(upload); });
  });
}

void Uploads::end_writer(const UploadPointer& upload, const Then& then) {
  if (upload->writer == 0) return then(Refusal::none);
  end_body(*upload);
  if (upload->evicted) std::exchange(upload->evicted, nullptr)();
  const bool checked = upload->checksum.has_value();
  upload->checksum.reset();
  if (engine_.failed()) return then(Refusal::unavailable);
  if (upload->row.stage == UploadStage::complete) return then(Refusal::none);
  if (checked) {
    const Refusal refusal = engine_.refusal_of(upload->part.roll_back(), "cannot truncate an upload");
    upload->part.close();
    return then(refusal);
  }
  make_durable(upload, then, true);
}

void Uploads::abandon_writer(Upload& upload) {
  end_body(upload);
  if (upload.evicted) std::exchange(upload.evicted, nullptr)();
  upload.part.close();
}

// `last`: the file is closed, too.
void Uploads::make_durable(const UploadPointer& upload, const Then& then, bool last) {
  Refusal refusal = Refusal::none;
  if (upload->part.unsynced() > 0) refusal = sync_part(*upload);
  if (last) upload->part.close();
  if (refusal != Refusal::none) return then(refusal);
  const Segment segment = upload->synced;
  bool segment_needed = true;
  {
    const Time at = engine_.now();
    const auto memory = core_.memory.lock();
    const bool one_request = upload->row.asked.one_request;  // nobody learns of an offset
    if (one_request) upload->row.progress = at;
    if (one_request || upload->row.durable >= segment.end) segment_needed = false;
  }
  segment_needed ? put_durable(upload, segment, then) : then(Refusal::none);
}

void Uploads::put_durable(const UploadPointer& upload, const Segment& segment, const Then& then) {
  Change change;
  change.prepare = [this, upload](FoldersToFlush& folders) {
    const UploadMetadata& metadata = upload->row.asked.metadata;
    if (!upload->entry_durable) folders.insert(metadata.grows ? capture_folder(metadata.job, metadata.capture) : "in");
    return still_wanted(*upload);
  };
  const Time at = engine_.now();
  change.rows = [upload, segment, at](Manifest& manifest) {
    manifest.put_durable(upload->row.id, segment.end, segment.start, segment.digest, at);
    const UploadMetadata& metadata = upload->row.asked.metadata;
    if (metadata.grows) manifest.arrived(metadata.job, at);
  };
  change.done = [this, upload, segment, at, then](Refusal committed) {
    if (committed == Refusal::none) {
      upload->entry_durable = true;
      const auto memory = core_.memory.lock();
      memory->figures.durable_bytes += segment.end - upload->row.durable;
      upload->row.durable = segment.end;
      upload->row.segment_start = segment.start;
      upload->row.segment = segment.digest;
      upload->row.progress = at;
      memory->note_byte(upload->row.asked.metadata.job, at);
      if (upload->row.asked.metadata.grows) memory->grow(upload->row, at);
    }
    if (committed == Refusal::none && upload->row.asked.metadata.grows) {
      engine_.changed(upload->row.asked.metadata.job);
    }
    then(committed);
  };
  engine_.post(std::move(change));
}

// A flush that found the disk full leaves nothing known behind the durable point: the next writer begins there.
Refusal Uploads::sync_part(Upload& upload) {
  const auto start = std::chrono::steady_clock::now();
  Segment segment;
  const Refusal refusal = engine_.refusal_of(upload.part.sync(segment), "cannot flush an upload");
  upload.last_sync = std::chrono::steady_clock::now();
  upload.unsynced = false;
  if (refusal == Refusal::none) upload.synced = segment;
  const auto memory = core_.memory.lock();
  ++memory->figures.flushes;
  memory->figures.flush_seconds += std::chrono::duration<double>(upload.last_sync - start).count();
  return refusal;
}

Refusal Uploads::seal(Upload& upload, std::string& suffix) {
  ++finishing_;
  std::string first_bytes;
  Refusal refusal = engine_.refusal_of(upload.part.first_bytes(first_bytes), "cannot read an upload");
  suffix = is_dump(upload.row.asked.metadata.capture) ? kDumpSuffix : suffix_of_content(first_bytes);
  if (refusal == Refusal::none) {
    refusal = engine_.refusal_of(upload.part.make_immutable(), "cannot protect an upload");
  }
  if (refusal == Refusal::none) refusal = sync_part(upload);
  upload.part.close();
  --finishing_;
  return refusal;
}

}  // namespace skewscope::gather
