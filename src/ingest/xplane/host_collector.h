// What the host did, of a plane "/host:CPU": launches, executions of programs, the user's steps, cliques of devices.
#pragma once

#include <string_view>
#include <unordered_map>

#include "row_walk.h"
#include "xplane_rows.h"

namespace skewscope::ingest {

class HostCollector {
 public:
  // `plane` outlives what is collected.
  HostCollector(const Plane& plane, const XTime& time, bool details, HostPlane& host);

  bool begin_line(const XLine& line);
  void add(const XEvent& event);

 private:
  enum class Meaning : uint8_t { other, execution, run, clique, sync };
  struct Kind {
    const std::string* name = nullptr;
    Meaning meaning = Meaning::other;
  };

  Kind& kind_of(int64_t id);
  void add_clique(int64_t device, int64_t rank, std::string_view key);

  const Plane& plane_;
  const XTime& time_;
  const bool details_;
  HostPlane& host_;
  StatRoles roles_;
  std::unordered_map<int64_t, Kind> kinds_;
  XLine line_;
};

}  // namespace skewscope::ingest
