// What XLA's trace viewer shows of a profile ("trace.json.gz" beside the ".xplane.pb"), read back as the planes, lines
// and events of a profile.
//
// Problem: the viewer's file has the rows and most of what is said of them, all of it as text, but neither programs nor
// when the profile began. Idea: nothing of it means anything else than in the profile that it was made of, so it is
// turned back into that, and everything behind it stays one. Source of the form: xplane_to_trace_events and
// trace_events_to_json of openxla/xla. Cost: one pass; the events are held until all are there, as a viewer shows a
// million at most.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "row_walk.h"
#include "space.h"
#include "src/ingest/content/defects.h"

namespace skewscope::ingest {

struct ViewerEvent {
  int64_t kind = 0, offset_ps = 0, duration_ps = 0;
  std::string stats;  // as Plane::EventKind::stats
};

struct ViewerLine {
  XLine line;
  std::vector<ViewerEvent> events;
};

struct ViewerTrace {
  Space space;                                       // its planes are the viewer's processes
  std::vector<std::map<int64_t, ViewerLine>> lines;  // by plane, then by thread
  int64_t events = 0;
};

// The viewer leaves out what is more.
constexpr int64_t kMostViewerEvents = 1'000'000;

// Errors: resource_limit.
Result<ViewerTrace> read_viewer_trace(const std::string& file, ByteSource& source, MemoryBudget& budget,
                                      DefectCounts& defects);

// As the second walk over a profile.
void walk_viewer_rows(const ViewerTrace& trace, RowVisitor& visitor);

}  // namespace skewscope::ingest
