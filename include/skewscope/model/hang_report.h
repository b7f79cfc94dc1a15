// Data: why a job hangs: who did not come to which call, and who waits for whom.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skewscope {

enum class CulpritKind : uint8_t {
  missing,   // has no call under way and did not enter one that others are in
  mismatch,  // entered another operation, size, type or order than the others
  no_dump,   // others wait for it, and it left no dump
  stuck,     // entered, but its GPU does not go on where those of others did
  late,      // missing, and it was last in the calls before, too
};
enum class Certainty : uint8_t { certain, likely, possible };

struct Culprit {
  int32_t rank = -1;
  CulpritKind kind = CulpritKind::missing;
  Certainty certainty = Certainty::possible;
  std::string group;            // HangGroup::id; "": none
  int64_t collective_seq = -1;  // of the call in that group; -1: a send or receive, or not determined
  std::string operation;        // that the others are in
  std::string reason;           // one sentence
  std::string last_action;      // the last call its host made, with its group and time; "": not recorded
  std::vector<std::string> stack, other_stack;  // of that call, innermost first; of another member's call
  int32_t waiting = 0;                          // ranks that wait because of it
};

struct HangGroup {
  std::string id;  // name, and "name@first rank" where groups share a name
  std::string name, description;
  std::vector<int32_t> ranks;
  int64_t last_completed_seq = -1;                    // by all members with a dump; -1: not determined
  int64_t stalled_seq = -1;                           // the first that not all completed; -1: none
  std::string stalled_operation;                      // "all_reduce", "send 0->1"
  std::vector<int32_t> entered_ranks, missing_ranks;  // of the stalled call; missing: with a dump, not entered
  std::vector<int32_t> no_dump_ranks;
};

enum class RankState : uint8_t { done, waiting, culprit, no_dump };

struct HangRank {
  int32_t rank = -1;
  RankState state = RankState::done;
  std::string group;  // of the call that it is in; "": in none
  int64_t collective_seq = -1;
  std::string operation;
  std::vector<int32_t> waits_for;  // the nearest, at most kMostWaits; empty: nobody known
  int64_t late_ns = -1;            // median over its calls: behind the middle of the members; -1: not determined
  double last_share = -1;          // of its calls it was the last in; -1: not determined
};
constexpr size_t kMostWaits = 16;

// Who waits for whom, from group to group, to a culprit.
struct HangLink {
  std::vector<int32_t> ranks;    // these are in
  std::string group, operation;  // this call
  int64_t collective_seq = -1;
  std::vector<int32_t> waits_for;  // for these
};

struct HangReport {
  int32_t world_size = 0;
  int64_t dumps = 0;
  std::vector<int32_t> ranks_without_dump, waiting_ranks;
  bool stalled = false;               // a call is under way that not all completed
  std::vector<Culprit> culprits;      // worst first
  std::vector<HangGroup> groups;      // stalled ones first
  std::vector<HangRank> ranks;        // by rank
  std::vector<HangLink> chain;        // from the culprits outward
  std::vector<std::string> problems;  // of files that could not be read, and what follows
};

const char* to_string(CulpritKind kind);
const char* to_string(Certainty certainty);
const char* to_string(RankState state);

}  // namespace skewscope
