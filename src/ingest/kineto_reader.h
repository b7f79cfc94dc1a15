// Kineto JSON, plain, gzip or zstd, as a bounded stream.
#pragma once

#include "chunk_cutter.h"
#include "trace_reader.h"

namespace skewscope::ingest {

class KinetoReader : public TraceReader {
 public:
  explicit KinetoReader(ReadSettings settings = {}) : settings_(settings) {}
  bool recognises(std::string_view head) const override;
  Result<FileContent> read(const std::string& file, MemoryBudget& budget) const override;

 private:
  ReadSettings settings_;
};

}  // namespace skewscope::ingest
