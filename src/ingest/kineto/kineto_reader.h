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
  std::vector<const char*> suffixes() const override { return {".json"}; }
  Recognition recognise(const std::string& file, std::string_view head) const override;
  Result<std::vector<FileContent>> read(const std::string& file, MemoryBudget& budget) const override;
  Result<std::vector<FileContent>> read_heads(const std::string& file) const override;
  std::optional<std::string> problem(const std::string& file, std::string_view tail) const override;

 private:
  struct Chunk;
  class ChunkPool;
  struct Tools;
  void stream_events(ByteSource& source, ChunkCutter& cutter, FileBuilder& builder) const;

  ReadSettings settings_;
  std::unique_ptr<Tools> tools_;
};

std::unique_ptr<TraceReader> make_kineto_reader(const ReaderSettings& settings);

}  // namespace skewscope::ingest
