// What a profile (XSpace) says around its rows: planes, the names of what happened, hosts, programs. The first of two
// walks over the file: a plane's names come behind its rows.
//
// Source of the field numbers: xplane.proto of openxla/xprof and openxla/xla.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hlo_module.h"
#include "skewscope/base/result.h"
#include "src/ingest/content/memory_budget.h"
#include "src/ingest/text/byte_source.h"

namespace skewscope::ingest {

// A value that is kept with an event, the kind of an event, or a plane (XStat).
struct XStat {
  enum class Kind : uint8_t { none, integer, real, text, bytes };

  int64_t id = 0;  // of its name
  Kind kind = Kind::none;
  int64_t integer = 0;  // also what was unsigned
  double real = 0;
  std::string_view text;  // or bytes; of the message, or of the plane
};

struct Plane {
  // What many events have in common.
  struct EventKind {
    std::string name, display_name;
    std::string stats;  // its stats, each behind its length of four bytes
  };

  std::string name;  // "/device:TPU:0", "/host:CPU"
  std::unordered_map<int64_t, EventKind> events;
  std::unordered_map<int64_t, std::string> stat_names;  // values of other stats refer to them, too
  std::vector<std::string> stats;                       // XStat messages

  // Throws protozero::exception where the message is damaged.
  XStat stat(std::string_view message) const;
  std::string_view stat_name(int64_t id) const;
  // Visits the stats of the plane that can be read: name, stat.
  template <class Visit>
  void each_stat(const Visit& visit) const;
  // Those of a kind of event.
  template <class Visit>
  void each_stat_of(const EventKind& kind, const Visit& visit) const;
};

struct Space {
  std::vector<Plane> planes;  // in the order of the file
  std::vector<std::string> hosts;
  std::unordered_map<int64_t, HloModule> programs;  // by program id
  uint64_t bytes = 0;
  SourceEnd end = SourceEnd::whole;
  bool cut = false;            // the file ends inside its last plane, which is left out
  int64_t damaged = 0;         // messages that are no protobuf
  int64_t first_damaged = -1;  // byte offset
  int64_t large_programs = 0;  // whose HLO is too large to be read
  int64_t charged = 0;         // of the budget, for as long as the space lives
};

namespace xplane_field {
// XSpace
constexpr uint32_t kPlanes = 1, kHostnames = 4;
// XPlane
constexpr uint32_t kPlaneName = 2, kLines = 3, kEventMetadata = 4, kStatMetadata = 5, kPlaneStats = 6;
// XLine
constexpr uint32_t kLineId = 1, kLineName = 2, kTimestampNs = 3, kEvents = 4, kLineDisplayId = 10,
                   kLineDisplayName = 11;
// XEvent
constexpr uint32_t kMetadataId = 1, kOffsetPs = 2, kDurationPs = 3, kEventStats = 4;
}  // namespace xplane_field

// Errors: resource_limit.
Result<Space> read_space(const std::string& file, ByteSource& source, MemoryBudget& budget);

template <class Visit>
void Plane::each_stat(const Visit& visit) const {
  for (const std::string& message : stats) {
    const XStat value = stat(message);
    visit(stat_name(value.id), value);
  }
}

template <class Visit>
void Plane::each_stat_of(const EventKind& kind, const Visit& visit) const {
  for (size_t at = 0; at + 4 <= kind.stats.size();) {
    uint32_t size = 0;
    kind.stats.copy(reinterpret_cast<char*>(&size), 4, at);
    const XStat value = stat(std::string_view(kind.stats).substr(at + 4, size));
    visit(stat_name(value.id), value);
    at += 4 + size;
  }
}

}  // namespace skewscope::ingest
