// What a file says of its session: time zero, hosts, environment, devices, versions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "skewscope/model/rank_detail.h"
#include "table_rows.h"

namespace skewscope::ingest {

// A rank by the environment that a launcher gives each process.
struct EnvironmentRank {
  int64_t rank = -1, world_size = -1;
  std::string variable;  // that says the rank
};

// Of "RANK=3\nWORLD_SIZE=8", or JSON of the same.
EnvironmentRank rank_in_environment(std::string_view text);

struct Session {
  bool has_base = false;
  int64_t base_ns = 0;                             // utcEpochNs
  std::map<int64_t, std::string> host_of_machine;  // by machine_number()
  std::map<int64_t, EnvironmentRank> of_machine;   // of whatever started the session
  std::map<int64_t, EnvironmentRank> of_process;   // by process_key()
  std::vector<DeviceProperties> devices;           // by number
  std::string unknown_version;                     // of the export; "": known
};

Session read_session(const Database& database, RowDefects& defects);

}  // namespace skewscope::ingest
