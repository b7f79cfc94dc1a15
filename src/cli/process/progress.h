// What is being done and how far it has come, on one line of standard error that is written over.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "skewscope/ingest/read_progress.h"
#include "terminal.h"

namespace skewscope::cli {

// Shows nothing of work that takes less than a moment. The line is gone once this ends, before results are printed.
class Progress {
 public:
  // `shown`: false: says nothing, takes no thread. Where standard error is no terminal, lines follow each other.
  explicit Progress(bool shown);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // For IngestOptions: "read 31 of 64 files, 41.0 of 80.0 GB, 12 s left", then `then`: "correlating the traces".
  std::shared_ptr<ReadProgress> reading(std::string then);
  // As far as it is known from elsewhere: "sent 31 of 64 files, 41.0 of 80.0 GB, 12 s left".
  void sent(const ReadProgress::At& at);
  // From here on this is done: "writing skewscope-report".
  void doing(std::string what);
  // The same, of so many: "merging: 12 of 64 traces".
  void count(int64_t done, int64_t all);

 private:
  void run();
  std::string words() const;
  void show(const std::string& text);

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::shared_ptr<ReadProgress> reading_;
  std::string then_, doing_;
  std::optional<ReadProgress::At> sent_, sent_first_;  // now, and when it was first told
  int64_t done_ = 0, all_ = 0;
  double began_s_ = 0;
  std::string last_;
  bool on_terminal_ = false;
  std::thread thread_;
};

// Takes the line away, where one is shown, for what must be said meanwhile.
void clear_progress();

}  // namespace skewscope::cli
