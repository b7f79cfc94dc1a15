// The parts of a Kineto file around its events, by style and vendor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "event_text.h"
#include "job.h"

namespace skewscope::simulate {

// Processes, threads, streams and devices of one rank's trace.
struct Layout {
  int64_t pid = 0, autograd_tid = 0;
  int32_t device = 0;
  StampStyle stamps;

  Place host(bool autograd) const { return {pid, autograd ? autograd_tid : pid}; }
};
Layout make_layout(const Job& job, int32_t rank);

// Stream number in the trace; for gloo the number of the thread that works for the group.
int64_t stream_number(const Job& job, const Layout& layout, int32_t stream);

// All devices have this name; "" for a job without GPUs.
const char* device_name(TraceVendor vendor);

// What the head says of libraries and drivers, as readers understand it (RankTrace::software).
std::vector<std::string> software_of(const Job& job);

// Up to the first event.
void print_head(Text& text, const Job& job, int32_t rank, const Layout& layout);

// Names of processes and threads, the trace span, the end. Local times.
void print_tail(Text& text, const Job& job, const Layout& layout, const std::string& trace_name, int64_t begin_ns,
                int64_t end_ns);

}  // namespace skewscope::simulate
