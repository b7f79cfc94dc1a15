// What the rows of a trace say of it as a whole: its window, its device.
#pragma once

#include <algorithm>

#include "skewscope/model/trace_file.h"
#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

struct Window {
  LocalNs first, last;
  bool any = false;

  void include(LocalNs start, int64_t duration_ns) {
    const LocalNs end = start + std::max<int64_t>(duration_ns, 0);
    first = any ? std::min(first, start) : start;
    last = any ? std::max(last, end) : end;
    any = true;
  }
  void include(const Window& other) {
    if (other.any) include(other.first, other.last - other.first);
  }
};

// Over launches and host ranges.
Window host_window(const FileContent& content);

// Sets the device and the window of a trace by its rows.
void describe_rows(LinkedTrace& linked);

// What a file says apart from its rows; ends `content`.
void take_over(FileContent& content, LinkedTrace& linked);

// By the interface that launched the work, else by the device.
GpuVendor vendor_of(const FileContent& content);

}  // namespace skewscope::ingest
