// Which device of the job a device of a profile is: XLA numbers all devices through, and groups of collectives name
// them by these numbers. The number is the rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "xplane_rows.h"

namespace skewscope::ingest {

struct DeviceId {
  int64_t id = -1;   // -1: nothing tells it
  std::string from;  // what says so
};

// Row = row of `devices`, the file's; `host`: of the same file.
std::vector<DeviceId> global_ids(const std::vector<DevicePlane>& devices, const HostPlane& host, const Space& space);

// Devices of the job, as the largest program or clique tells; -1: neither does.
int64_t devices_of_job(const HostPlane& host, const Space& space);

}  // namespace skewscope::ingest
