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
  const char* format() const override { return "kineto json"; }
  const char* suffix() const override { return ".json"; }
  Recognition recognise(std::string_view head) const override;
  Result<FileContent> read(const std::string& file, MemoryBudget& budget) const override;
  Result<FileContent> read_head(const std::string& file) const override;
  bool ends_whole(std::string_view tail) const override;

 private:
  struct Chunk;
  class ChunkPool;
  struct Tools;
  void stream_events(ByteSource& source, ChunkCutter& cutter, FileBuilder& builder) const;

  ReadSettings settings_;
  std::unique_ptr<Tools> tools_;
};

std::unique_ptr<TraceReader> make_kineto_reader(bool details, const KernelTable& kernels, ReadProgress* progress);

}  // namespace skewscope::ingest
