// Logs of NCCL's Inspector while they are written: whole lines go to the gatherer again and again, only those that are
// new, each once.
//
// All logs of one rank in one run of the job's name are one stream, the gatherer's log of that rank: a process that was
// started again goes on behind the one before. Of which run a log is the gatherer says, as it is told when the log was
// begun. What is known of a stream is one small file, written before each piece goes out:
//
//   STATE/logs/TARGET-RANK.json   where the stream is, how much of each log has gone in, and the piece under way; of a
//                                 second run TARGET-RANK~2.json
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
#include <set>
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
  // Of one run of the job's name: the gatherer says of which.
  struct Stream {
    std::string job;  // "": not known
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
    std::string job;     // to which they went; "": not known
    bool looked_at = false, bad = false;
    std::string reason;
    std::chrono::steady_clock::time_point not_before{}, failing_since{};
  };
  using Key = std::pair<uint64_t, uint64_t>;  // device, inode
  using StreamKey = std::pair<int, int>;      // rank, number of the run
  enum class Step { sent, nothing_new, failed, refused };

  Step look_at(const Key& key, Log& log, Client& client, const GoOn& go_on);
  Step send_some(int file, const Key& key, Log& log, const StreamKey& of, Client& client);
  bool identify(int file, Log& log, const GoOn& go_on) const;
  Step meet_gatherer(int file, const Key& key, Log& log, std::optional<StreamKey>& of, Client& client);
  std::optional<StreamKey> stream_of(int rank, const Key& key);
  static bool adopt(int file, const Key& key, Stream& stream, const Reply& reply);
  static Step failed(Log& log, const Reply& reply);
  void settle(Log& log, Step step, const Say& say) const;
  std::string state_path(const StreamKey& of) const;
  void load(int rank);
  static std::optional<Stream> read_state(const std::string& path);
  void save(const StreamKey& of, const Stream& stream) const;

  const ShipOptions& options_;
  std::string state_directory_, target_;
  mutable std::mutex mutex_;
  std::map<Key, Log> logs_;  // with the lock
  // Of run() alone.
  std::map<StreamKey, Stream> streams_;
  std::set<int> loaded_;  // ranks
};

}  // namespace skewscope::ship
