// Logs of NCCL's Inspector while they are written: whole lines go to the gatherer again and again, only those that are
// new, each once.
//
// All logs of one rank are one stream, the gatherer's log of that rank: a process that was started again goes on behind
// the one before. What is known of a stream is one small file, written before each piece goes out:
//
//   STATE/logs/TARGET-RANK.json   where the stream is, how much of each log has gone in, and the piece under way
//
// The gatherer's offset then says how much of that piece it has. A log that became shorter, or whose bytes in front of
// what comes next are others, was begun anew: it is sent from its beginning. Without that file the gatherer's digest
// must be that of the log's own beginning.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "deliver.h"

namespace skewscope::ship {

class GrowingLogs {
 public:
  using GoOn = std::function<bool()>;
  using Say = std::function<void(Severity, const std::string&)>;

  // `target`: names where to, as a Ledger's does.
  GrowingLogs(const ShipOptions& options, std::string state_directory, const std::string& target);

  // Whether it is such a log: then it is sent by run().
  bool takes(const Candidate& file);
  // Until `go_on` says no; looks at all logs every `rescan`, or whenever one was taken.
  void run(Client& client, const GoOn& go_on, const Say& say);
  // Has each been sent as far as it is whole, or given up?
  bool all_decided() const;
  void add_to(Shipped& shipped) const;

 private:
  struct Source {
    uint64_t device = 0, inode = 0, sent = 0;
    std::string tail;  // digest of the bytes before `sent`; "": not known
  };
  struct UnderWay {
    size_t source = 0;
    uint64_t bytes = 0;
    std::string tail;  // once all of it is sent
  };
  struct Stream {
    UploadMetadata metadata;
    std::string upload;
    uint64_t offset = 0;
    std::vector<Source> sources;
    std::optional<UnderWay> under_way;
    bool in_step = false;  // the gatherer has said that `offset` is its own
  };
  struct Log {
    std::string path;
    int rank = -1;
    UploadMetadata metadata;
    uint64_t bytes = 0;  // sent by this run
    bool looked_at = false, bad = false;
    std::string reason;
    std::chrono::steady_clock::time_point not_before{}, failing_since{};
  };
  using Key = std::pair<uint64_t, uint64_t>;  // device, inode
  enum class Step { sent, nothing_new, failed, refused };

  Step look_at(const Key& key, Log& log, Client& client, const GoOn& go_on);
  Step send_some(int file, const Key& key, Log& log, Stream& stream, Client& client);
  bool identify(int file, Log& log, const GoOn& go_on) const;
  Step meet_gatherer(int file, const Key& key, Log& log, Stream& stream, Client& client);
  static bool adopt(int file, const Key& key, Stream& stream, const Reply& reply);
  static Step failed(Log& log, const Reply& reply);
  void settle(Log& log, Step step, const Say& say) const;
  std::string state_path(int rank) const;
  void load(Stream& stream) const;
  void save(const Stream& stream) const;

  const ShipOptions& options_;
  std::string state_directory_, target_;
  mutable std::mutex mutex_;
  std::map<Key, Log> logs_;        // with the lock
  std::map<int, Stream> streams_;  // by rank; of run() alone
};

}  // namespace skewscope::ship
