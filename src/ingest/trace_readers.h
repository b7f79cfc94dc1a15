// The formats that are read.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/ingest/content/trace_reader.h"

namespace skewscope::ingest {

// One for the files of a job: readers use again what they made for the file before.
class TraceReaders {
 public:
  explicit TraceReaders(const ReaderSettings& settings = {});
  // Opens the file, picks the reader, reads. A file that cannot be opened is `not_a_trace` with a finding.
  Result<std::vector<FileContent>> read(const std::string& file, MemoryBudget& budget) const;
  // The one that reads the file; nullptr: no format is known that begins so. Errors: unreadable, no_input.
  Result<const TraceReader*> reader_of(const std::string& file) const;
  // How names of traces end, compressed or not: ".json", ".json.gz", ".json.zst".
  std::vector<std::string> suffixes() const;
  // Whether some reader has files of such names.
  bool take_name(std::string_view name) const;

 private:
  const TraceReader* surest(const std::string& file, std::string_view head) const;

  std::vector<std::unique_ptr<TraceReader>> readers_;
};

}  // namespace skewscope::ingest
