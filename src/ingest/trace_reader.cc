#include "trace_reader.h"

#include <array>
#include <memory>

#include "byte_source.h"
#include "kineto_reader.h"
#include "reading.h"

namespace skewscope::ingest {
namespace {

constexpr size_t kHeadBytes = 4096;

}  // namespace

Result<FileContent> read_trace_file(const std::string& file, MemoryBudget& budget, bool details) {
  ReadSettings settings;
  settings.details = details;
  const KinetoReader kineto(settings);
  const std::array<const TraceReader*, 1> readers = {&kineto};

  Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) return unreadable_content(file, source.error().message);
  std::string head(kHeadBytes, '\0');
  head.resize(source.value()->read(head.data(), head.size()));
  for (const TraceReader* reader : readers) {
    if (reader->recognises(head)) return reader->read(file, budget);
  }
  return unrecognised_content(file, head, *source.value());
}

}  // namespace skewscope::ingest
