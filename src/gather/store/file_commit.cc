// A whole file becomes part of its job, in this order:
//   1 flush of the part, digest as promised            (file thread)
//   2 rename into jobs/<job>/ranks/<capture>/          (commit thread, from here on)
//   3 flush of that folder and of in/
//   4 transaction: the file, the upload's end
//   5 the answer
// A crash before 4 leaves a file without a row, which the start recognizes by its upload; after 4 all of it is there.
// A file that replaces another first says so in its upload's row: in between, neither may be where the rows say.
#include "file_commit.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather {
namespace {

class Arrival : public std::enable_shared_from_this<Arrival> {
 public:
  Arrival(Core& core, Uploads& uploads, UploadPointer upload, Reply<UploadState> done)
      : core_(core), uploads_(uploads), upload_(std::move(upload)), done_(std::move(done)) {}
  void begin();

 private:
  enum class Verdict { placed, duplicate, other_content, must_announce };

  void post();
  Refusal place(FoldersToFlush& folders);
  Verdict judge();
  Refusal move_in(FoldersToFlush& folders);
  void put_back();
  void displace();
  void record(Manifest& manifest) const;
  void settle(Refusal refusal);
  void complete_upload();
  void announce_replacement();
  void end(Refusal refusal);

  std::string path() const { return rank_path(row_.job, row_.capture, row_.rank, row_.suffix); }
  std::string old_path() const { return rank_path(row_.job, row_.capture, row_.rank, replaced_->suffix); }
  std::string aside() const { return quarantine_folder(row_.job) + "/" + upload_->row.id + replaced_->suffix; }

  Core& core_;
  Uploads& uploads_;
  UploadPointer upload_;
  FileRow row_;
  Reply<UploadState> done_;
  Verdict verdict_ = Verdict::placed;
  std::optional<FileRow> replaced_;
};

void Arrival::begin() {
  const NewUpload& asked = upload_->row.asked;
  row_.job = asked.metadata.job;
  row_.capture = asked.metadata.capture;
  row_.rank = asked.metadata.rank;
  row_.size = upload_->part.written();
  row_.digest = upload_->part.digest();
  row_.uid = asked.uid;
  row_.client = asked.client;
  row_.filename = asked.metadata.filename;
  if (asked.metadata.sha256.value_or(row_.digest) != row_.digest) {
    ++core_.memory.lock()->figures.checksum_failures;
    return uploads_.quarantine(upload_, "its SHA-256 is not the promised one",
                               [self = shared_from_this()](Refusal refusal) {
                                 self->end(refusal == Refusal::none ? Refusal::wrong_digest : refusal);
                               });
  }
  const Refusal refusal = uploads_.seal(*upload_, row_.suffix);
  row_.suffix = suffix_of_ranks(asked.metadata.ranks, row_.suffix);
  refusal == Refusal::none ? post() : end(refusal);
}

// Refused.
void Arrival::end(Refusal refusal) {
  done_({refusal, {}});
  uploads_.next(upload_);
}

void Arrival::post() {
  const auto self = shared_from_this();
  Change change;
  change.key = row_.job + "/" + std::to_string(row_.capture) + "/" + std::to_string(row_.rank);
  change.prepare = [self](FoldersToFlush& folders) { return self->place(folders); };
  change.rows = [self](Manifest& manifest) { self->record(manifest); };
  change.undo = [self] { self->displace(); };
  change.done = [self](Refusal refusal) { self->settle(refusal); };
  core_.engine.post(std::move(change));
}

Refusal Arrival::place(FoldersToFlush& folders) {
  if (const Refusal refusal = uploads_.still_wanted(*upload_); refusal != Refusal::none) return refusal;
  row_.committed_at = core_.engine.now();
  verdict_ = judge();
  return verdict_ == Verdict::placed ? move_in(folders) : Refusal::none;
}

Arrival::Verdict Arrival::judge() {
  const auto memory = core_.memory.lock();
  const UploadRow& upload = upload_->row;
  if (!memory->log_of(upload.asked.metadata).empty()) return Verdict::other_content;
  const FileRow* present = memory->jobs.file(row_.job, row_.capture, row_.rank);
  if (present == nullptr) return Verdict::placed;
  if (present->digest == row_.digest) return Verdict::duplicate;
  if (!upload.asked.metadata.replace) return Verdict::other_content;
  if (upload.stage != UploadStage::replacing) return Verdict::must_announce;
  replaced_ = *present;
  row_.generation = present->generation + 1;
  return Verdict::placed;
}

Refusal Arrival::move_in(FoldersToFlush& folders) {
  FileSystem& files = core_.files;
  const std::string capture = capture_folder(row_.job, row_.capture), part = part_path(upload_->row.id);
  const Refusal made = core_.folders.ensure_capture(upload_->row.asked.metadata, folders);
  if (made != Refusal::none) return made;
  int error = 0;
  if (replaced_) {
    error = core_.folders.ensure(quarantine_folder(row_.job), folders);
    if (error == 0) error = files.rename(old_path(), aside(), true);
    if (error == 0) folders.insert(quarantine_folder(row_.job));
  }
  if (error != 0) return core_.engine.refusal_of(error, "cannot make room for " + path());
  error = files.rename(part, path(), false);
  Refusal refusal = Refusal::none;
  if (error == EEXIST) {  // a file that no row knows
    refusal = core_.folders.set_aside(path(), row_.job, upload_->row.id + ".stranger", folders);
    if (refusal == Refusal::none) {
      ++core_.memory.lock()->figures.quarantined;
      error = files.rename(part, path(), false);
    }
  }
  if (refusal == Refusal::none) refusal = core_.engine.refusal_of(error, "cannot move an upload to " + path());
  if (refusal != Refusal::none) put_back();
  folders.insert({capture, "in"});
  return refusal;
}

// What was to be replaced. If it cannot be, it lies where no row says, but for that of the upload: with this one the
// next start puts it back, and nothing is changed until then.
void Arrival::put_back() {
  if (!replaced_) return;
  const int error = core_.files.rename(aside(), old_path(), false);
  if (error != 0) core_.engine.fail("cannot move " + aside() + " back: " + std::strerror(error));
}

// The disk was too full for the rows: back, so that the sender can try again.
void Arrival::displace() {
  if (verdict_ != Verdict::placed) return;
  core_.files.rename(path(), part_path(upload_->row.id), false);
  put_back();
}

void Arrival::record(Manifest& manifest) const {
  UploadRow upload = upload_->row;
  if (verdict_ == Verdict::must_announce) return;
  // Nobody asks afterwards for what came in one request; one that replaces has a row from its announcement.
  if (verdict_ == Verdict::other_content || upload.asked.one_request) {
    manifest.remove_upload(upload.id);
  } else {
    upload.stage = UploadStage::complete;
    upload.durable = row_.size;
    upload.digest = row_.digest;
    manifest.put(upload);
  }
  if (verdict_ != Verdict::placed) return;
  manifest.put(row_);
  manifest.arrived(row_.job, row_.committed_at);
  if (replaced_) {
    manifest.audit(row_.committed_at, row_.client, "replaced " + path() + ", was " + hex(replaced_->digest));
  }
}

void Arrival::settle(Refusal refusal) {
  if (refusal == Refusal::none && verdict_ == Verdict::must_announce) return announce_replacement();
  if (refusal == Refusal::none && verdict_ == Verdict::other_content) {
    core_.files.remove(part_path(upload_->row.id));
    uploads_.forget(upload_);
    refusal = Refusal::other_content;
  }
  if (refusal != Refusal::none) return end(refusal);
  if (verdict_ == Verdict::duplicate) core_.files.remove(part_path(upload_->row.id));
  if (verdict_ == Verdict::placed) core_.memory.lock()->take_in(row_, replaced_);
  complete_upload();  // last: its capture has begun at every moment
  core_.engine.changed(row_.job);
  done_({Refusal::none, uploads_.state_of(*upload_)});
  upload_->row.asked.one_request ? uploads_.forget(upload_) : uploads_.remember(upload_);
  uploads_.next(upload_);
}

void Arrival::complete_upload() {
  const auto memory = core_.memory.lock();
  memory->close(*upload_);
  UploadRow& upload = upload_->row;
  memory->figures.durable_bytes += row_.size - std::min(upload.durable, row_.size);
  upload.stage = UploadStage::complete;
  upload.durable = row_.size;
  upload.asked.length = row_.size;
  upload.digest = row_.digest;
}

void Arrival::announce_replacement() {
  const auto self = shared_from_this();
  Change change;
  change.prepare = [self](FoldersToFlush&) { return self->uploads_.still_wanted(*self->upload_); };
  change.rows = [self](Manifest& manifest) {
    UploadRow row = self->upload_->row;
    row.stage = UploadStage::replacing;
    row.digest = self->row_.digest;
    manifest.put(row);
  };
  change.done = [self](Refusal refusal) {
    if (refusal != Refusal::none) return self->end(refusal);
    {
      const auto memory = self->core_.memory.lock();
      self->upload_->row.stage = UploadStage::replacing;
      self->upload_->row.digest = self->row_.digest;
    }
    self->post();
  };
  core_.engine.post(std::move(change));
}

}  // namespace

void commit_file(Core& core, Uploads& uploads, const UploadPointer& upload, const Reply<UploadState>& done) {
  std::make_shared<Arrival>(core, uploads, upload, done)->begin();
}

}  // namespace skewscope::gather
