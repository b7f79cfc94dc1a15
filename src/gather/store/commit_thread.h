// The one thread that makes changes durable: it takes all that are pending, renames, flushes each folder once, commits
// one transaction, and then tells everybody. While it flushes, the next batch gathers.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "src/gather/disk/file_system.h"
#include "src/gather/disk/manifest.h"
#include "src/gather/disk/spool_paths.h"
#include "src/gather/process/pulse.h"

namespace skewscope::gather {

struct Change {
  std::string key;  // of two with the same, the second waits for the next batch; "": with none
  // Before the flush of the folders that it adds. Not none: nothing of this change is done.
  std::function<Refusal(FoldersToFlush& folders)> prepare;
  std::function<void(Manifest&)> rows;   // inside the transaction
  std::function<void(Manifest&)> after;  // its transaction is committed
  std::function<void()> undo;            // of prepare, when the disk was too full for the transaction
  std::function<void(Refusal)> done;     // when all of it is durable, or nothing is
};

class CommitThread {
 public:
  struct Hooks {
    std::function<void(const std::string& why)> failed;  // nothing more is committed afterwards
    std::function<bool()> stopped;                       // the disk failed elsewhere: nothing more is committed either
    std::function<bool()> more_coming;                   // something is being flushed that will be posted within ms
    std::function<bool()> free_ballast;                  // the disk is full: anything given back?
    std::function<void(uint64_t flushes, double seconds)> flushed;
  };
  CommitThread(FileSystem& files, std::unique_ptr<Manifest> manifest, Hooks hooks);
  ~CommitThread();  // what was posted is done first; then the log is written into the database

  void post(Change change);
  bool advances() { return pulse_.advanced(); }

 private:
  void serve();
  std::deque<Change> take();
  void commit(std::deque<Change> batch);
  void undo(const std::deque<Change*>& changes, const FoldersToFlush& folders);
  template <class Folders>
  Refusal flush(Folders folder, Folders end);
  Refusal write_rows(const std::deque<Change*>& changes);
  void tidy(bool idle);
  void fail(const std::string& why);

  FileSystem& files_;
  std::unique_ptr<Manifest> manifest_;
  Hooks hooks_;
  bool failed_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Change> pending_;
  bool closing_ = false;
  Pulse pulse_;
  std::thread thread_;
};

}  // namespace skewscope::gather
