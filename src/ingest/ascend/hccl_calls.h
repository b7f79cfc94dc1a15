// Collectives of HCCL as rows: each call is a row of the GPU that communicates, on a stream of its group's own, with
// the arguments that say what it is.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "src/ingest/content/row_collector.h"

namespace skewscope::ingest {

struct HcclCall {
  std::string_view name;   // with or without "@" and the group
  std::string_view group;  // its hash; "": the name tells, or nobody
  LocalNs start;
  int64_t duration_ns = 0;
  int64_t wait_ns = 0;       // as the device measured it; 0: it tells of none
  int64_t correlation = -1;  // of its launch
  int64_t elements = -1;     // "count": of what a rank gives, or where results are scattered, gets
  int64_t group_size = -1;   // where the members are not told
  int64_t peer = -1;         // inside the group, of a message; -1: not told
  std::string_view dtype;    // "FP32"; "": not told
};

class HcclCalls {
 public:
  explicit HcclCalls(RowCollector& rows) : rows_(rows) {}

  void set_device(int16_t device) { device_ = device; }

  // After the groups of the file are known.
  void add(const HcclCall& call);

 private:
  CommArgs args_of(const HcclCall& call, std::string_view group);
  int32_t stream_of(std::string_view group);

  RowCollector& rows_;
  int16_t device_ = 0;
  std::map<std::string, int32_t, std::less<>> streams_;
};

}  // namespace skewscope::ingest
