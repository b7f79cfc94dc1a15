// What makes the store go: its threads, its settings, its clocks and its end. Parts post work here and learn here
// whether the store may still promise anything.
//   file threads  one upload's operations, one after another: pwrite, fdatasync, SHA-256
//   commit thread renames, flushes of folders, rows: whatever must be true before somebody is answered
// Promise: whatever was posted is done before stop() ends. The first failure is final: it is reported once, and
// everything after it is refused as unavailable.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "commit_thread.h"
#include "guarded.h"
#include "src/gather/kept/store.h"
#include "src/gather/process/file_threads.h"

namespace skewscope::gather {

class Engine {
 public:
  Engine(StoreOptions options, std::unique_ptr<FileSystem> owned, FileSystem& files);

  FileSystem& files() { return files_; }
  const std::string& spool() const { return options_.spool; }
  const std::string& boot() const { return options_.boot; }  // from which running() counts
  GatherLimits limits() const { return settings_.lock()->limits; }
  GatherRetention retention() const { return settings_.lock()->retention; }
  void use(const GatherLimits& limits, const GatherRetention& retention) { *settings_.lock() = {limits, retention}; }
  Time now() const;
  // Is the wall clock behind what it told anybody since this was asked before? One asker.
  bool went_back();
  std::chrono::seconds running() const;
  Aging at_present(Aging aging) const;

  void fail(const std::string& why);
  bool failed() const { return failed_; }
  void drain() { draining_ = true; }  // takes no more work from outside
  bool draining() const { return draining_; }
  Refusal closed() const { return failed_ || draining_ ? Refusal::unavailable : Refusal::none; }
  Refusal refusal_of(int error, const std::string& what);  // fails unless it is a full disk

  void start(std::unique_ptr<Manifest> manifest, CommitThread::Hooks hooks);
  void stop();
  void on_file_thread(const std::string& id, std::function<void()> task);
  void post(Change change);
  template <class T>
  void answer(Reply<T> done, Outcome<T> outcome) {  // on a thread of the store
    on_file_thread("", [done = std::move(done), outcome = std::move(outcome)] { done(outcome); });
  }
  bool advances();

  void on_job_change(std::function<void(const std::string& job)> hook) { *hook_.lock() = std::move(hook); }
  void changed(const std::string& job);

 private:
  struct Settings {
    GatherLimits limits;
    GatherRetention retention;
  };
  void landed();

  StoreOptions options_;  // but for limits and retention
  Guarded<Settings> settings_;
  std::unique_ptr<FileSystem> owned_files_;
  FileSystem& files_;
  Guarded<std::function<void(const std::string&)>> hook_;
  std::atomic<bool> failed_ = false, draining_ = false;
  mutable std::atomic<Time> latest_{Time{}};  // that now() told
  std::atomic<int> in_flight_ = 0;            // tasks and changes posted and not done
  std::mutex landing_;
  std::condition_variable all_landed_;
  std::unique_ptr<CommitThread> commits_;
  std::unique_ptr<FileThreads> file_threads_;
};

}  // namespace skewscope::gather
