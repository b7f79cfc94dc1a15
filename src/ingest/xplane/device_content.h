// The trace of one device: its rows, who launched them, and what its collectives are.
#pragma once

#include <string>

#include "device_ids.h"
#include "src/ingest/content/memory_budget.h"
#include "src/ingest/content/trace_reader.h"
#include "xplane_rows.h"

namespace skewscope::ingest {

// What a device shares with the others of its file.
struct ProfileFacts {
  std::string format;  // FileContent::format
  std::string file;
  std::string host_name;
  int64_t base_time_ns = 0;  // 0: the profile does not say when it began
  int64_t devices = 0;       // of the file
  int64_t world_size = -1;
};

// Takes the rows. Errors: resource_limit.
Result<FileContent> content_of_device(DevicePlane& device, const DeviceId& id, const HostPlane& host,
                                      const ProfileFacts& facts, const ReaderSettings& settings, MemoryBudget& budget);

}  // namespace skewscope::ingest
