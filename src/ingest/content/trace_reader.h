// A reader turns files of one format into FileContent, several at a time. To add a format: implement this, list it in
// trace_reader.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

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

// All formats. One for the files of a job: readers use again what they made for the file before.
class TraceReaders {
 public:
  // `details`: with FileContent::details. `kernels` must live on.
  explicit TraceReaders(bool details = false, const KernelTable& kernels = KernelTable::built_in());
  // Opens the file, picks the reader, reads. A file that cannot be opened is `not_a_trace` with a finding.
  Result<FileContent> read(const std::string& file, MemoryBudget& budget) const;

 private:
  std::vector<std::unique_ptr<TraceReader>> readers_;
};

}  // namespace skewscope::ingest
