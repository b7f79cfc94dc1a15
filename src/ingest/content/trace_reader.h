// A reader turns files of one format into FileContent, several at a time. A format is one class of these, in a room of
// its own, and a line of trace_readers.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "file_content.h"
#include "memory_budget.h"
#include "skewscope/base/result.h"

namespace skewscope::ingest {

// How sure a reader is that a text is of its format.
enum class Recognition : uint8_t { no, perhaps, yes };

class TraceReader {
 public:
  virtual ~TraceReader() = default;

  // What the format is called: "kineto json".
  virtual const char* format() const = 0;
  // How names of its files end, before what says their compression: ".json".
  virtual const char* suffix() const = 0;
  // By the first bytes of the uncompressed text (up to 4096). The surest of all readers reads the file.
  virtual Recognition recognise(std::string_view head) const = 0;
  // Never fails on bad content: that becomes findings and a ContentKind. Errors: resource_limit only. Thread-safe.
  virtual Result<FileContent> read(const std::string& file, MemoryBudget& budget) const = 0;

  // For who passes files on without reading them (skewscope/ingest/whole_trace.h): what comes before the events.
  // Errors: unreadable.
  virtual Result<FileContent> read_head(const std::string& file) const = 0;
  // Whether a text that ends in these bytes is whole. False: they alone do not tell.
  virtual bool ends_whole(std::string_view tail) const = 0;
  // Whether the text is whole where the first bracket of its JSON is closed.
  virtual bool is_json() const { return true; }
};

}  // namespace skewscope::ingest
