// The agent of `skewscope ship`: finds finished traces on a node and sends each to a gatherer until an equal digest
// comes back. Never disturbs the job: bounded rate, lowest priority, and its failure is nobody else's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "skewscope/base/finding.h"
#include "skewscope/base/result.h"
#include "skewscope/ship/gatherer_client.h"

namespace skewscope {

// ShipProgress counts the files that this run has found and no earlier one had sent.
struct ShipProgress {
  int64_t files = 0, all_files = 0;  // accepted, known
  int64_t bytes = 0, all_bytes = 0;  // of them on the disk; of one under way, as far as the gatherer has it
};

struct ShipOptions : GathererConnection {
  std::vector<std::string> paths;  // directories to watch, or files
  std::string dumps;               // flight recorder dumps are watched, too: this path and a rank behind it; "": none
  std::string job;                 // is_name()
  std::optional<int> world_size;
  std::string host;  // of files that do not name theirs; "": the system's name, of files on this node's own disk
  std::string state_directory;  // "": .skewscope-ship in the first directory given
  std::string rank_regex;       // named group `rank`; "": from the file's name and content, as `report` does
  int capture = 0;
  bool once = false;    // send what is finished, then return
  bool digest = false;  // send `skewscope digest`s in place of the traces
  // Each is made by a process of its own: `program` digest. One that needs more is not made: the trace is named as bad.
  std::string program = "/proc/self/exe";
  uint64_t digest_memory_bytes = uint64_t{2} << 30;  // of address space
  std::chrono::seconds digest_time{1800};            // of a processor
  bool delete_source = false;                        // after an equal digest came back
  // The gatherer is asked again for what an earlier run had sent: it may have lost its spool, or deleted the job. What
  // is to be deleted here is always asked for.
  bool verify = false;
  bool dry_run = false;  // says what would be sent; asks nobody, changes nothing
  bool replace = false;  // other content for a rank that is there already
  uint64_t rate_bytes_per_s = 100'000'000;
  double cpu_percent = 100;        // of one processor, on average, over all that the agent does; 0: no bound
  int uploads = 2;                 // at a time
  std::chrono::seconds settle{5};  // size and modification time do not change this long, where no lease can be had
  std::chrono::seconds rescan{30};
  // Without `once`: after a pause, the first request comes at a random moment within this time, so that the agents of a
  // job do not all come at once.
  std::chrono::seconds spread{30};
  // How long a file may fail; with `once`, all files together without progress.
  std::chrono::seconds give_up{72 * 3600};
  std::chrono::seconds patience{600};         // for a file that is empty or cut: then it is bad
  uint64_t piece_bytes = uint64_t{32} << 20;  // largest body of one request; a cut costs one of each upload
  bool compress = true;                       // plain .json goes as gzip
  // A line of what goes on, one at a time, from any thread; may be empty.
  std::function<void(Severity, const std::string&)> say;
  std::function<void(const ShipProgress&)> progress;  // once a second, from the calling thread; may be empty
};

struct Shipped {
  uint64_t files = 0, bytes = 0;     // accepted durably, digest equal; bytes as they were sent
  std::set<std::string> jobs;        // the runs of the job's name that have them, as far as the gatherer said
  uint64_t before = 0;               // found accepted already, by an earlier run
  std::vector<std::string> planned;  // "FILE: rank R, SIZE" of what a dry run would send
  std::vector<std::string> bad;      // "FILE: why" of those that will never be finished or were refused for good
  std::vector<std::string> left;     // "FILE: why" of those that are not there yet
};

// With `once`: returns when every finished file was accepted or given up. Else runs until `stop` says true. May be
// killed at any moment: the state directory tells the next run where to go on. Gives itself the lowest priority: the
// calling thread stays at it. Errors: usage, no_input (a path that is not there), output (state_directory cannot be
// made).
Result<Shipped> ship_traces(const ShipOptions& options, const std::function<bool()>& stop);

}  // namespace skewscope
