// What is asked of an upload that is there: its state, the right to write, its end.
#include <algorithm>

#include "spool_writer.h"
#include "src/gather/disk/spool_paths.h"
#include "uploads.h"

namespace skewscope::gather {

void Uploads::submit(const UploadPointer& upload, std::function<void()> operation) {
  const auto memory = core_.memory.lock();
  upload->operations.push_back(std::move(operation));
  if (upload->busy) return;
  upload->busy = true;
  std::function<void()> first = std::move(upload->operations.front());
  upload->operations.pop_front();
  engine_.on_file_thread(upload->row.id, std::move(first));
}

void Uploads::next(const UploadPointer& upload) {
  const auto memory = core_.memory.lock();
  if (upload->operations.empty()) {
    upload->busy = false;
    return;
  }
  std::function<void()> following = std::move(upload->operations.front());
  upload->operations.pop_front();
  engine_.on_file_thread(upload->row.id, std::move(following));
}

UploadState Uploads::state_of(const Upload& upload) const {
  const GatherLimits most = engine_.limits();
  const auto memory = core_.memory.lock();
  return gather::state_of(upload.row, most);
}

Refusal Uploads::usable(const UploadPointer& upload) const {
  if (engine_.failed()) return Refusal::unavailable;
  const auto memory = core_.memory.lock();
  if (upload->gone) return Refusal::unknown;
  const UploadStage stage = upload->row.stage;
  const bool late =
      stage == UploadStage::expired ||
      (stage != UploadStage::complete && has_ended(upload->row, engine_.at_present(memory->aging), engine_.limits()));
  return late ? Refusal::expired : Refusal::none;
}

void Uploads::state(const std::string& id, Reply<UploadState> done) {
  const UploadPointer upload = find(id);
  if (!upload) return engine_.answer<UploadState>(std::move(done), {Refusal::unknown, {}});
  submit(upload, [this, upload, done = std::move(done)] {
    end_writer(upload, [this, upload, done](Refusal refusal) {
      if (refusal == Refusal::none) refusal = usable(upload);
      UploadState known = refusal == Refusal::none ? state_of(*upload) : UploadState();
      if (known.grows) refusal = look_at_log(*upload, known.digest);
      done({refusal, known});
      next(upload);
    });
  });
}

// What came of a log so far, so that a sender who has forgotten what was sent can see whether it is his.
Refusal Uploads::look_at_log(Upload& log, Digest& digest) {
  digest = sha256("");
  if (log.row.durable == 0) return Refusal::none;
  const Refusal refusal = engine_.refusal_of(log.part.open(log.row.durable, std::nullopt), "cannot open a log");
  if (refusal == Refusal::none) digest = log.part.digest();
  log.part.close();
  return refusal;
}

void Uploads::append(const std::string& id, uint64_t offset, std::optional<uint64_t> length,
                     std::optional<Digest> checksum, std::function<void()> evicted,
                     Reply<std::shared_ptr<Writer>> done) {
  const UploadPointer upload = find(id);
  const Refusal refusal = upload ? engine_.closed() : Refusal::unknown;
  if (refusal != Refusal::none) return engine_.answer<std::shared_ptr<Writer>>(std::move(done), {refusal, nullptr});
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
      if (ended == Refusal::none) return engine_.on_file_thread(upload->row.id, begin);
      done({ended, nullptr});
      next(upload);
    });
  });
}

// Kept in memory alone: who gives it with the last bytes gives it again when they must be sent again.
void Uploads::promise_digest(const std::string& id, const Digest& digest, Reply<Done> done) {
  const UploadPointer upload = find(id);
  if (!upload) return engine_.answer<Done>(std::move(done), {Refusal::unknown, {}});
  submit(upload, [this, upload, digest, done = std::move(done)] {
    Refusal refusal = usable(upload);
    if (refusal == Refusal::none) {
      const auto memory = core_.memory.lock();
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

void Uploads::remove(const std::string& id, Reply<Done> done) {
  const UploadPointer upload = find(id);
  const Refusal refusal = upload ? engine_.closed() : Refusal::unknown;
  if (refusal != Refusal::none) return engine_.answer<Done>(std::move(done), {refusal, {}});
  submit(upload, [this, upload, done = std::move(done)] {
    if (usable(upload) == Refusal::unknown) {
      done({Refusal::unknown, {}});
      return next(upload);
    }
    if (upload->row.stage == UploadStage::growing) {  // it counts as the file of its rank
      done({Refusal::other_content, {}});
      return next(upload);
    }
    drop(upload, [this, upload, done](Refusal dropped) {
      done({dropped, {}});
      next(upload);
    });
  });
}

// One upload per file that completed is known for a while; whoever asks for an older one begins again, and is done.
void Uploads::remember(const UploadPointer& upload) {
  UploadPointer older;
  {
    const auto memory = core_.memory.lock();
    const UploadMetadata& metadata = upload->row.asked.metadata;
    Job* job = memory->jobs.find(metadata.job);
    if (upload->gone || job == nullptr) return;
    std::string& id = job->remembered[{metadata.capture, metadata.rank}];
    if (id != upload->row.id) older = memory->find(id);
    id = upload->row.id;
  }
  if (!older) return;
  submit(older, [this, older] { drop(older, [this, older](Refusal) { next(older); }); });
}

// Row first: a part without a row is nobody's, a row without its part would be a loss.
void Uploads::drop(const UploadPointer& upload, const Then& then) {
  abandon_writer(*upload);
  Change change;
  if (!upload->row.asked.one_request || upload->row.stage == UploadStage::replacing) {  // else it has none
    change.rows = [upload](Manifest& manifest) { manifest.remove_upload(upload->row.id); };
  }
  change.done = [this, upload, then](Refusal refusal) {
    if (refusal == Refusal::none) {
      files_.remove(part_path(upload->row));
      forget(upload);
      engine_.changed(upload->row.asked.metadata.job);
    }
    then(refusal);
  };
  engine_.post(std::move(change));
}

void Uploads::forget(const UploadPointer& upload) { core_.memory.lock()->forget(*upload); }

void Uploads::quarantine(const UploadPointer& upload, const char* why, const Then& then) {
  upload->part.close();
  Change change;
  change.prepare = [this, upload](FoldersToFlush& folders) {
    const Refusal refusal = still_wanted(*upload);
    if (refusal != Refusal::none) return refusal;
    const UploadRow& row = upload->row;
    return core_.folders.set_aside(part_path(row.id), row.asked.metadata.job, row.id + ".part", folders);
  };
  const Time at = engine_.now();
  change.rows = [upload, why, at](Manifest& manifest) {
    manifest.remove_upload(upload->row.id);
    manifest.audit(at, upload->row.asked.client, std::string("quarantined upload ") + upload->row.id + ": " + why);
  };
  change.undo = [this, upload] {
    files_.rename(quarantine_folder(upload->row.asked.metadata.job) + "/" + upload->row.id + ".part",
                  part_path(upload->row), false);
  };
  change.done = [this, upload, then](Refusal refusal) {
    if (refusal == Refusal::none) {
      {
        const auto memory = core_.memory.lock();
        ++memory->figures.quarantined;
        memory->forget(*upload);
        const uint64_t bytes = upload->row.asked.length.value_or(upload->row.durable);
        memory->charge_aside(upload->row.asked.metadata.job, static_cast<int64_t>(bytes));
      }
      engine_.changed(upload->row.asked.metadata.job);
    }
    then(refusal);
  };
  engine_.post(std::move(change));
}

// One operation per upload that ends its writer; the last one to end passes through the commit thread, behind every
// change that was posted before.
void Uploads::drain(std::function<void()> done) {
  std::vector<UploadPointer> all;
  {
    const auto memory = core_.memory.lock();
    for (const auto& [id, upload] : memory->uploads) all.push_back(upload);
  }
  const auto last = std::make_shared<int>(0);
  const std::shared_ptr<void> gate(last.get(), [this, last, done = std::move(done)](void*) {
    Change nothing;
    nothing.done = [done](Refusal) { done(); };
    engine_.post(std::move(nothing));
  });
  for (const UploadPointer& upload : all) {
    submit(upload, [this, upload, gate] { end_writer(upload, [this, upload, gate](Refusal) { next(upload); }); });
  }
}

void Uploads::sweep() {
  const GatherLimits most = engine_.limits();
  std::vector<UploadPointer> late, unsynced;
  {
    const auto memory = core_.memory.lock();
    for (const auto& [id, upload] : memory->uploads) {
      if (has_ended(upload->row, memory->aging, most)) late.push_back(upload);
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

// An open one is remembered as expired for another life, so that its sender learns of it; then its row goes, as those
// of complete ones do.
void Uploads::expire(const UploadPointer& upload) {
  const bool open = is_open(upload->row);
  const Aging ages = engine_.at_present(core_.memory.lock()->aging);
  if (upload->gone || !has_ended(upload->row, ages, engine_.limits())) return next(upload);
  if (!open) {
    return drop(upload, [this, upload](Refusal) { next(upload); });
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
      files_.remove(part_path(upload->row));
      {
        const auto memory = core_.memory.lock();
        memory->close(*upload);
        upload->row.stage = UploadStage::expired;
      }
      engine_.changed(upload->row.asked.metadata.job);
    }
    next(upload);
  };
  engine_.post(std::move(change));
}

void Uploads::forget_the_future(Time now) {
  std::vector<UploadPointer> ahead;
  {
    const auto memory = core_.memory.lock();
    for (const auto& [id, upload] : memory->uploads) {
      if (std::max(upload->row.created, upload->row.progress) > now) ahead.push_back(upload);
    }
  }
  for (const UploadPointer& upload : ahead) {
    submit(upload, [this, upload] {
      {
        const auto memory = core_.memory.lock();
        upload->row.created = std::min(upload->row.created, engine_.now());
        upload->row.progress = std::min(upload->row.progress, engine_.now());
      }
      next(upload);
    });
  }
}

}  // namespace skewscope::gather
