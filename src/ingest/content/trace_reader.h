// A reader turns files of one format into FileContent, several at a time. A format is one class of these, listed in
// trace_readers.cc.
#pragma once

#include <string>
#include <string_view>

#include "file_content.h"
#include "memory_budget.h"
#include "skewscope/base/result.h"

namespace skewscope::ingest {

class TraceReader {
 public:
  virtual ~TraceReader() = default;
  // Whether the first bytes of the uncompressed text (up to 4096) look like this format.
  virtual bool recognises(std::string_view head) const = 0;
  // Never fails on bad content: that becomes findings and a ContentKind. Errors: resource_limit only. Thread-safe.
  virtual Result<FileContent> read(const std::string& file, MemoryBudget& budget) const = 0;
};

}  // namespace skewscope::ingest
