// Uploads: made, written to, ended, forgotten. Each call becomes an operation of its upload; an upload's operations run
// one after another, on its file thread or, where one waits for a commit, on the commit thread, and each ends with
// next(). Owns what Upload holds for its operations alone (the part and its writer); what else is known of uploads
// is in Memory.
// Promise: an offset or a state that a reply names is durable, and one writer at a time, the newest, adds to an upload.
#pragma once

#include <atomic>

#include "core.h"

namespace skewscope::gather {

class Uploads {
 public:
  using Then = std::function<void(Refusal)>;
  // Outlives the store in writers that are still held: null once it has gone.
  using Link = Guarded<Uploads*>;

  explicit Uploads(Core& core)
      : core_(core), engine_(core.engine), files_(core.files), link_(std::make_shared<Link>(this)) {}

  // Calls of Store.
  void create(const NewUpload& asked, Reply<UploadState> done);
  void state(const std::string& id, Reply<UploadState> done);
  void append(const std::string& id, uint64_t offset, std::optional<uint64_t> length, std::optional<Digest> checksum,
              std::function<void()> evicted, Reply<std::shared_ptr<Writer>> done);
  void promise_digest(const std::string& id, const Digest& digest, Reply<Done> done);
  void remove(const std::string& id, Reply<Done> done);
  void drain(std::function<void()> done);
  void cut_off_writers() { *link_->lock() = nullptr; }

  // Calls of a writer, by its number (writer_calls.cc).
  void write(const UploadPointer& upload, uint64_t writer, std::string_view bytes, const Reply<Done>& done);
  void finish(const UploadPointer& upload, uint64_t writer, bool vouched, const Reply<UploadState>& done,
              std::shared_ptr<void> held);
  void release(const UploadPointer& upload, uint64_t writer);

  // What time does: expired ones end, bytes of silent writers become durable, moments that lie ahead become now.
  void sweep();
  void forget_the_future(Time now);
  bool commits_soon() const { return finishing_ > 0; }

  // For other parts of the store: operations, and what they do.
  void submit(const UploadPointer& upload, std::function<void()> operation);
  void next(const UploadPointer& upload);
  Refusal still_wanted(const Upload& upload) const;
  UploadState state_of(const Upload& upload) const;
  void abandon_writer(Upload& upload);
  void forget(const UploadPointer& upload);
  void remember(const UploadPointer& upload);
  void quarantine(const UploadPointer& upload, const char* why, const Then& then);
  Refusal seal(Upload& upload, std::string& suffix);  // a whole one: read-only and flushed; what its bytes are

 private:
  struct Asked {
    uint64_t offset = 0;
    std::optional<uint64_t> length;
    std::optional<Digest> checksum;
    std::function<void()> evicted;
  };

  UploadPointer find(const std::string& id) const { return core_.memory.lock()->find(id); }
  Refusal usable(const UploadPointer& upload) const;
  Refusal look_at_log(Upload& log, Digest& digest);
  // Creation (begin_upload.cc).
  Refusal room_for(const UploadRow& row, bool of_new_job, uint64_t charged);
  void begin_part(const UploadPointer& upload, bool of_new_job, const Reply<UploadState>& done);
  void enter_row(const UploadPointer& upload, const std::function<void()>& begun, const Then& refuse);
  bool is_known(const Upload& upload) const;
  // Writers.
  Refusal begin_writer(const UploadPointer& upload, const Asked& asked);
  Refusal take_length(const UploadPointer& upload, std::optional<uint64_t> length);
  Refusal append_bytes(Upload& upload, std::string_view bytes);
  void end_body(Upload& upload);
  void end_writer(const UploadPointer& upload, const Then& then);
  void make_old_bytes_durable(const UploadPointer& upload);
  void make_durable(const UploadPointer& upload, const Then& then, bool last = false);
  void put_durable(const UploadPointer& upload, const Segment& segment, const Then& then);
  Refusal sync_part(Upload& upload);
  void drop(const UploadPointer& upload, const Then& then);
  void expire(const UploadPointer& upload);

  Core& core_;
  Engine& engine_;
  FileSystem& files_;
  std::shared_ptr<Link> link_;
  std::atomic<uint64_t> writers_ = 0;  // numbers given
  std::atomic<int> finishing_ = 0;     // uploads being flushed to be committed next
};

}  // namespace skewscope::gather
