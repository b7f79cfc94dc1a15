// Stage: flight recorder dumps of the ranks of a job that hangs -> which rank did not come, and who waits for
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skewscope/base/result.h"
#include "skewscope/model/flight_dump.h"
#include "skewscope/model/hang_report.h"

namespace skewscope {

// One dump out of its bytes: a pickle of protocols 0 to 5 that holds plain values alone, or JSON; gzip around either.
// Errors: no_input, with the place of what is refused.
Result<FlightDump> read_flight_dump(std::string_view bytes, const std::string& file);

struct DumpOptions {
  std::string rank_regex;  // named group `rank`, searched in the path; empty: the rank is the number in the file's name
};

struct ReadDumps {
  std::vector<FlightDump> dumps;      // by rank
  std::vector<std::string> problems;  // files that are no dump, by name; a rank twice
};
// Those in a folder (its sub-folders, too), or the files themselves. Errors: usage (the expression), no_input where no
// dump is found.
Result<ReadDumps> read_flight_dumps(const std::vector<std::string>& paths, const DumpOptions& options);

// `world_size`: the job has at least so many ranks; 0: as the dumps say. One rank has at most one dump, and each dump
// its rank.
HangReport find_hang(const std::vector<FlightDump>& dumps, int32_t world_size = 0);

// The report for a terminal, at most 15 lines.
std::string hang_summary(const HangReport& report, size_t columns, bool color);
// Schema "skewscope.hang/1".
struct HangStamp {
  std::string command, tool_version, created_utc;
};
std::string hang_json(const HangReport& report, const HangStamp& stamp);
// summary.txt, hang.json, index.html, tables/{culprits,groups,ranks}.csv, COMPLETE. Errors: output, where the folder
// exists and was not made by this function and `force` is not given.
Result<Done> write_hang(const HangReport& report, const std::string& directory, const HangStamp& stamp, bool force);

}  // namespace skewscope
