// Collectives of backends that run on the host: gloo, MPI, UCC. Each is a range of a worker's thread.
#pragma once

#include <vector>

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

struct HostCall {
  int32_t range = -1;   // row of comm_ops
  int32_t record = -1;  // row of comm_ops: a record_param_comms of the program's thread; -1: none tells of it
  bool own = false;     // the record is the call's own; else only its group and its type are
};

// All of a file, in its order.
std::vector<HostCall> host_calls(const FileContent& content);

}  // namespace skewscope::ingest
