// A reader turns one file of one format into FileContent. To add a format: implement this, list it in trace_reader.cc.
#pragma once

#include <string>

#include "file_content.h"
#include "memory_budget.h"
#include "skewscope/base/result.h"

namespace skewscope::ingest {

class TraceReader {
 public:
  virtual ~TraceReader() = default;
  // Whether the first bytes of the uncompressed text (up to 4096) look like this format.
  virtual bool recognises(std::string_view head) const = 0;
  // Never fails on bad content: that becomes findings and a ContentKind. Errors: resource_limit only.
  virtual Result<FileContent> read(const std::string& file, MemoryBudget& budget) const = 0;
};

// Opens the file, picks the reader, reads; FileContent::details where asked for. A file that cannot be opened is
// `not_a_trace` with a finding.
Result<FileContent> read_trace_file(const std::string& file, MemoryBudget& budget, bool details = false);

}  // namespace skewscope::ingest
