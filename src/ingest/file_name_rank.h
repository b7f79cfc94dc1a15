// What the name of a trace file says about its rank and its capture. Names are a convention, not a contract: content is
// asked first (rank_resolution.h).
#pragma once

#include <cstdint>
#include <string>

namespace skewscope::ingest {

// Places in the grid of parallel dimensions, -1 where the name has none. Expert parallelism is left out: its groups lie
// inside the others', it tells no rank.
struct Coordinates {
  int32_t tp = -1, cp = -1, dp = -1, pp = -1;

  bool any() const { return tp >= 0 || cp >= 0 || dp >= 0 || pp >= 0; }
};

struct FileNameFacts {
  int32_t rank = -1;        // global rank
  int32_t local_rank = -1;  // rank inside a node, or one parallel coordinate: no global rank by itself
  int32_t world_size = -1;  // "rank3-of-8", "rank3of8"
  Coordinates coordinates;  // "TP-<t>-DP-<d>-PP-<p>", "dp<d>_pp<p>_tp<t>", "tp<t>-pp<p>-dp<d>-cp<c>"
  std::string rule;         // which pattern told rank or local rank: "rank<R>", "worker<R>_step_<N>", "TP-<t>", …
  // Which capture of the job, in words that all ranks of the capture share: "iteration 10", "step 12", "EXTEND"; empty
  // where the name has none. capture_number orders captures; -1: none.
  std::string capture;
  int64_t capture_number = -1;
  // Name of the process in "<worker>.<stamp>.pt.trace.json": the same in every capture of one process; empty: none.
  std::string worker;
};

// `path`: folders and file name; folders "iteration_<N>" and "step_<N>" name captures.
FileNameFacts read_file_name(const std::string& path);

}  // namespace skewscope::ingest
