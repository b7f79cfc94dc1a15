#include "commit_thread.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace skewscope::gather {
namespace {

constexpr size_t kLargestBatch = 256;
constexpr auto kGather = std::chrono::milliseconds(5);
constexpr auto kIdle = std::chrono::seconds(1);
constexpr uint64_t kCheckpointAt = 4 << 20;

}  // namespace

CommitThread::CommitThread(FileSystem& files, std::unique_ptr<Manifest> manifest, Hooks hooks)
    : files_(files), manifest_(std::move(manifest)), hooks_(std::move(hooks)), thread_([this] { serve(); }) {}

CommitThread::~CommitThread() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

void CommitThread::post(Change change) {
  const std::lock_guard lock(mutex_);
  pending_.push_back(std::move(change));
  changed_.notify_one();
}

void CommitThread::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const bool idle = !changed_.wait_for(lock, kIdle, [&] { return closing_ || !pending_.empty(); });
    if (pending_.empty() && closing_) break;
    // One flush serves all: a moment's wait for those that are nearly here costs less than a flush of their own.
    changed_.wait_for(lock, kGather,
                      [&] { return idle || closing_ || pending_.size() >= kLargestBatch || !hooks_.more_coming(); });
    std::deque<Change> batch = take();
    lock.unlock();
    {
      const Pulse::Work work(pulse_);
      if (!batch.empty()) commit(std::move(batch));
      tidy(idle);
    }
    lock.lock();
  }
  lock.unlock();
  tidy(true);
}

std::deque<Change> CommitThread::take() {
  std::deque<Change> batch;
  std::set<std::string> keys;
  while (!pending_.empty() && batch.size() < kLargestBatch) {
    const std::string& key = pending_.front().key;
    if (!key.empty() && !keys.insert(key).second) break;
    batch.push_back(std::move(pending_.front()));
    pending_.pop_front();
  }
  return batch;
}

void CommitThread::commit(std::deque<Change> batch) {
  FoldersToFlush folders;
  std::deque<Change*> prepared;
  for (Change& change : batch) {
    failed_ = failed_ || hooks_.stopped();
    Refusal refusal = failed_ ? Refusal::unavailable : Refusal::none;
    if (refusal == Refusal::none && change.prepare) {
      refusal = change.prepare(folders);
      if (refusal == Refusal::no_space && hooks_.free_ballast()) refusal = change.prepare(folders);
    }
    if (refusal == Refusal::none) {
      prepared.push_back(&change);
    } else {
      change.done(refusal);
    }
  }
  Refusal refusal = flush(folders.begin(), folders.end());
  if (refusal == Refusal::none) refusal = write_rows(prepared);
  if (refusal == Refusal::no_space) undo(prepared, folders);
  for (Change* change : prepared) {
    if (refusal == Refusal::none && change->after) change->after(*manifest_);
    change->done(refusal);
  }
}

// What was moved back lies flushed before anybody learns of it: the next change may forget where it came from.
void CommitThread::undo(const std::deque<Change*>& changes, const FoldersToFlush& folders) {
  for (const Change* change : changes) {
    if (change->undo) change->undo();
  }
  flush(folders.rbegin(), folders.rend());
}

template <class Folders>
Refusal CommitThread::flush(Folders folder, Folders end) {
  failed_ = failed_ || hooks_.stopped();
  const auto start = std::chrono::steady_clock::now();
  uint64_t flushes = 0;
  for (; folder != end && !failed_; ++folder, ++flushes) {
    const int error = files_.sync_folder(*folder);
    Pulse::beat_here();
    if (error != 0) fail("cannot flush the folder " + *folder + ": " + std::strerror(error));
  }
  hooks_.flushed(flushes, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return failed_ ? Refusal::unavailable : Refusal::none;
}

Refusal CommitThread::write_rows(const std::deque<Change*>& changes) {
  const auto has_rows = [](const Change* change) { return change->rows != nullptr; };
  if (failed_) return Refusal::unavailable;
  if (std::none_of(changes.begin(), changes.end(), has_rows)) return Refusal::none;
  const auto start = std::chrono::steady_clock::now();
  const auto write = [&] {
    return manifest_->transaction([&] {
      for (const Change* change : changes) {
        if (change->rows) change->rows(*manifest_);
      }
    });
  };
  ManifestStatus status = write();
  if (status == ManifestStatus::full && hooks_.free_ballast()) status = write();
  hooks_.flushed(1, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  if (status == ManifestStatus::full) return Refusal::no_space;
  if (status != ManifestStatus::fine) fail("cannot write " + std::string(kManifestName) + ": " + manifest_->why());
  return failed_ ? Refusal::unavailable : Refusal::none;
}

// A checkpoint that finds the disk full is tried again; the log holds everything until then.
void CommitThread::tidy(bool idle) {
  if (failed_ || manifest_->log_bytes() == 0 || (!idle && manifest_->log_bytes() < kCheckpointAt)) return;
  const ManifestStatus status = manifest_->checkpoint();
  if (status != ManifestStatus::fine && status != ManifestStatus::full) {
    fail("cannot checkpoint " + std::string(kManifestName) + ": " + manifest_->why());
  }
}

void CommitThread::fail(const std::string& why) {
  if (!failed_) hooks_.failed(why);
  failed_ = true;
}

}  // namespace skewscope::gather
