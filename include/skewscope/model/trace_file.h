// Data: one file, read and linked, before anybody asked which rank it is. What a format's reader leaves behind, what a
// digest keeps, what processes tell each other of their files; JobTrace is made of the TraceFiles of a job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skewscope/base/finding.h"
#include "skewscope/base/string_table.h"
#include "skewscope/model/rank_detail.h"
#include "skewscope/model/rank_runs.h"
#include "skewscope/model/rank_trace.h"

namespace skewscope {

enum class ContentKind : uint8_t {
  rank_trace,       // usable
  execution_trace,  // Chakra / PyTorch execution trace ("nodes", "schema")
  merged_trace,     // several ranks in one file
  front_end,        // CPU only, no collectives, no launches: an API server, a data loader
  not_a_trace,      // JSON of another kind, or no JSON
  empty,            // no bytes, or no event survived
};

struct ProcessGroup {
  std::string name, description;
  int64_t size = -1;
  RankRuns ranks;          // empty: not listed, or cut
  int64_t own_rank = -1;   // of the process that lists it, inside the group; -1: not told
  std::string ranks_text;  // as written where it was a string
};

struct DistributedInfo {
  bool present = false;
  bool after_events = false;  // on-demand traces: its rank is derived, see src/ingest/kineto/KINETO.md, section 8
  int64_t rank = -1, world_size = -1;
  std::string rank_from;  // what says the rank where it is no distributedInfo: "RANK of the environment"; "": that
  // Its place among the processes, or devices, of a file that holds several and says no rank; -1: none.
  int64_t place_in_file = -1;
  std::string backend;
  std::vector<ProcessGroup> groups;
};

// Places in the grid of parallel dimensions, -1 where the name has none. Expert parallelism is left out: its groups lie
// inside the others', it tells no rank.
struct Coordinates {
  int32_t tp = -1, cp = -1, dp = -1, pp = -1;

  bool any() const { return tp >= 0 || cp >= 0 || dp >= 0 || pp >= 0; }
};

// What the name of a file says.
struct FileNameFacts {
  int32_t rank = -1;        // global rank
  int32_t local_rank = -1;  // rank inside a node, or one parallel coordinate: no global rank by itself
  int32_t world_size = -1;  // "rank3-of-8", "rank3of8"
  Coordinates coordinates;  // "TP-<t>-DP-<d>-PP-<p>", "dp<d>_pp<p>_tp<t>", "tp<t>-pp<p>-dp<d>-cp<c>"
  std::string rule;         // which pattern says rank or local rank: "rank<R>", "worker<R>_step_<N>", "TP-<t>", …
  // Which capture of the job, in words that all ranks of the capture share: "iteration 10", "step 12", "EXTEND"; empty
  // where the name has none. capture_number orders captures; -1: none.
  std::string capture;
  int64_t capture_number = -1;
  // Name of the process in "<worker>.<stamp>.pt.trace.json": the same in every capture of one process; empty: none.
  std::string worker;
};

// What the part of a file is called wherever a file is named: "capture.sqlite#pid4242".
inline std::string part_name(const std::string& file, const std::string& part) {
  return part.empty() ? file : file + '#' + part;
}

// What one file, or one rank in a file of several, says about its rank.
struct RankEvidence {
  std::string file;   // as the user gave it; of a file of several ranks: part_name()
  std::string part;   // which of them: "pid4242", "gpu3"; "": the file has one
  int32_t place = 0;  // of the part among the `parts` of the file
  int32_t parts = 1;
  std::string folder;  // absolute path of the folder it lay in
  FileNameFacts name;
  std::string host;
  int64_t process_id = -1;      // on its host; -1: not known
  int32_t gpus = 0;             // deviceProperties
  DistributedInfo distributed;  // its groups are kept: communicators come of them
  int64_t symmetric_rank = -1;  // "Rank" of symmetric collectives on default_pg; -1: none, or not all the same
  int64_t default_group_size = -1;
  int64_t largest_group = -1;         // "Group size" of any call, size of any listed group
  std::vector<RankRuns> call_groups;  // members of the groups of its calls, complete lists only
  LocalNs first_event, last_event;

  // The file without the name of the part.
  std::string whole_file() const { return file.substr(0, file.size() - part_name("", part).size()); }
};

// The calls of a group, summed up: tracers that name one group differently use it alike.
struct GroupUse {
  uint32_t kinds = 0;  // a bit for each CollectiveKind
  int64_t calls = 0;
  int64_t mean_bytes = -1;  // of those whose bytes are known (collectives/traffic.h); -1: of none
};

// A process group as calls of one trace mention it; equal mentions once.
struct GroupMention {
  std::string name, description;
  int64_t size = -1;
  std::string ranks;  // "Process Group Ranks" as written
  int64_t rank_start = -1, rank_stride = -1;
  GroupUse use{};
};

// A call's group, and the ranks that are known inside the group only.
struct OpenCall {
  int32_t group = -1;          // row in LinkedTrace::groups; -1: no group metadata
  int64_t root_in_group = -1;  // rooted kinds
  int64_t peer_in_group = -1;  // send, recv
};

// Calls of more modules than kMostModules are of kOtherModules: no trace makes a report larger than the model is deep.
constexpr size_t kMostModules = 1024;
constexpr const char* kOtherModules = "other";

struct LinkedTrace {
  RankTrace trace;  // names are ids of `strings`; rank, session, communicator, root are open
  StringTable strings;
  std::vector<GroupMention> groups;
  std::vector<OpenCall> open_calls;       // row = row of trace.calls
  std::vector<std::string> modules;       // parts of the model that calls name, kMostModules at most
  Column<int64_t> open_peers;             // row = row of trace.messages: the peer's rank inside the group; -1: absent
  std::vector<std::string> device_names;  // by device id
  LocalNs first_host_row, last_host_row;  // over launches and host ranges: the window of a trace without anything else
  Findings findings;                      // of the file, its reader's included
  std::optional<RankDetail> detail;  // where IngestOptions::while_details_last asked for it and the file is no digest
};

struct TraceFile {
  std::string path;  // that it was read from: of the trace, or of its digest
  ContentKind kind = ContentKind::not_a_trace;
  bool usable = false;  // a trace of one rank; which files are is judged over all of them
  std::string format;   // its reader's name for it
  std::string compression, job_name;
  int64_t bytes = 0, events = 0;  // of the uncompressed text
  RankEvidence evidence;
  LinkedTrace linked;
  int64_t calls_elsewhere = 0;                              // that only the process has which read it
  std::optional<std::vector<int64_t>> steps_before_filter;  // numbers; given where --steps is
};

}  // namespace skewscope
