// One finished file, from the lease to the gatherer's word: hold, check, identify, hash, send, retry.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "cpu_share.h"
#include "http/client.h"
#include "ledger.h"
#include "retry.h"
#include "skewscope/ship.h"

namespace skewscope::ship {

struct Candidate {
  std::string path;
  FileStamp stamp;
  bool last_try = false;  // with --once: where the run of another file of its rank is not over, it is bad
};

struct Delivery {
  enum class End {
    accepted,
    unfinished,  // empty, cut: may become whole, but then with another stamp
    not_now,     // somebody writes to it, another agent has it, it changed
    waits,       // until what is older of its rank has been dealt with
    later,       // again after `again_in`: the gatherer has another file of its rank, whose run is not over
    unreadable,  // for want of memory, descriptors or a disk, which may pass
    bad,         // never
    left,        // given up
    stopped,
  };
  End end = End::stopped;
  std::string reason;
  uint64_t bytes = 0;    // as sent; 0 and accepted: it was before
  int rank = -1;         // where it is known
  std::string job = "";  // accepted: which run of the job's name has it; "": not known
  std::chrono::seconds again_in{};
};

enum class Claim {
  granted,
  waits,     // for an older file of its rank
  outdated,  // a newer one has been accepted
};

// What one worker works with; several share ledger and pace.
struct Worker {
  const ShipOptions& options;
  const Ledger& ledger;
  Client& client;
  CpuShare& cpu;
  Outage& outage;
  std::function<bool()> go_on;  // asked between blocks of work: rests within the share
  std::function<void(Severity, const std::string&)> say;
  std::function<double()> random;        // uniform in [0, 1)
  std::function<Claim(int rank)> claim;  // of the file under way
  std::function<void(double)> arrived;   // the share of that file that the gatherer has
};

Delivery deliver(const Candidate& candidate, Worker& worker);

// What is said of a file of so many ranks that nothing names.
std::string unknown_rank_of(int32_t ranks);

}  // namespace skewscope::ship
