// What the agent knows of a file under its stamp, from when it was found to when its fate is decided.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "deliver.h"
#include "rank_claims.h"
#include "scan.h"

namespace skewscope::ship {

struct Seen {
  enum class State { watched, queued, waiting, unfinished, accepted, bad, left };
  Candidate file;
  State state = State::watched;
  std::string reason;
  std::chrono::steady_clock::time_point since;  // this stamp was first seen
  uint64_t scan = 0;                            // that found it last
  bool spooled = false;                         // known of the ledger: its own name may be gone
  bool at_work = false;
  bool before = false;                                              // accepted already, by an earlier run
  double arrived = 0;                                               // the share that the gatherer has
  int rank = -1;                                                    // once it is known
  std::optional<std::chrono::steady_clock::time_point> unreadable;  // the last try, if it was

  std::chrono::steady_clock::time_point not_before;  // waiting: the next try; max(): the last one

  // Takes over what came of a delivery. With `once` nobody waits for it to be finished. `held`: the spool has it.
  void settle(const Delivery& delivery, const ShipOptions& options, bool held);
  void leave(std::string why);
};

using SeenFiles = std::map<std::string, Seen>;  // by stamp

// Of what this run has to send; bad files and those that are left are not counted.
ShipProgress progress_of(const SeenFiles& files);
// With --once: is there nothing to wait for but last tries?
bool all_decided(const SeenFiles& files);
// The oldest of these, if there is one: by now all that is older is there, as far as this agent sends it.
std::optional<std::string> begin_last_try(SeenFiles& files);
std::set<int> waiting_ranks(const SeenFiles& files);

// What the claim of a file's rank learns of its delivery.
RankClaims::Verdict verdict_of(Delivery::End end, bool once);

}  // namespace skewscope::ship
