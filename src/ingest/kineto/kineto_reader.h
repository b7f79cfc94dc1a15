// Kineto JSON, plain, gzip or zstd, as a bounded stream.
#pragma once

#include <memory>

#include "file_builder.h"
#include "src/ingest/content/trace_reader.h"
#include "src/ingest/text/chunk_cutter.h"

namespace skewscope::ingest {

class KinetoReader : public TraceReader {
 public:
  explicit KinetoReader(const ReadSettings& settings = {});
  ~KinetoReader() override;
  bool recognises(std::string_view head) const override;
  Result<FileContent> read(const std::string& file, MemoryBudget& budget) const override;

 private:
  struct Chunk;
  class ChunkPool;
  struct Tools;
  void stream_events(ByteSource& source, ChunkCutter& cutter, FileBuilder& builder) const;

  ReadSettings settings_;
  std::unique_ptr<Tools> tools_;
};

}  // namespace skewscope::ingest
