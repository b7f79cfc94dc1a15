// The second walk over a profile: lines of planes and their events, one after another.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "space.h"

namespace skewscope::ingest {

struct XLine {
  int64_t id = 0;
  std::string name;
  int64_t timestamp_ns = 0;  // what offsets of its events count from
};

struct XEvent {
  int64_t kind = 0;  // in Plane::events
  int64_t offset_ps = 0, duration_ps = 0;
  std::vector<std::string_view> stats;  // XStat messages
};

class RowVisitor {
 public:
  virtual ~RowVisitor() = default;
  // False: its rows are of no matter.
  virtual bool begin_plane(size_t plane) = 0;
  virtual bool begin_line(const XLine& line) = 0;
  // Throws protozero::exception where a stat is damaged. False: nothing more is worth reading.
  virtual bool add(const XEvent& event) = 0;
  virtual void end_plane() = 0;
};

// Counts messages that are damaged in `space`. `source` is at its beginning.
void walk_rows(ByteSource& source, RowVisitor& visitor, Space& space);

// What a stat is to skewscope, by its name; of one plane, as its stats name their names by numbers.
enum class StatRole : uint8_t {
  none,
  correlation_id,
  hlo_op,
  hlo_module,
  program_id,
  run_id,
  kernel_details,
  memcpy_details,
  memset_details,
  producer,  // "_p", of the type "_pt": what this event caused says the same as consumer
  producer_type,
  consumer,
  consumer_type,
  device_id,
  device,
  rank,
  clique_key,
  step_num,
  flops,
  bytes_accessed,
  hlo_category,
};

class StatRoles {
 public:
  StatRoles() = default;
  explicit StatRoles(const Plane& plane);
  StatRole of(int64_t id) const {
    return id >= 0 && static_cast<size_t>(id) < roles_.size() ? roles_[static_cast<size_t>(id)] : StatRole::none;
  }
  static StatRole of_name(std::string_view name);

 private:
  std::vector<StatRole> roles_;
};

}  // namespace skewscope::ingest
