#include "trace_readers.h"

#include <algorithm>

#include "src/ingest/content/no_trace.h"
#include "src/ingest/kineto/kineto_reader.h"
#include "src/ingest/text/byte_source.h"

namespace skewscope::ingest {
namespace {

constexpr size_t kHeadBytes = 4096;

std::string head_of(ByteSource& source, size_t bytes) {
  std::string head(bytes, '\0');
  head.resize(source.read(head.data(), head.size()));
  return head;
}

// What other profilers write may parse as a trace, but has no row of a GPU; and what no reader knows may have a name.
void name_other_format(FileContent& content) {
  const bool nothing =
      content.gpu.empty() && (content.kind == ContentKind::rank_trace || content.kind == ContentKind::front_end);
  if (!nothing && content.kind != ContentKind::not_a_trace) return;
  Result<std::unique_ptr<ByteSource>> source = open_byte_source(content.file);
  if (!source.ok()) return;
  const OtherFormat* format = other_format(head_of(*source.value(), kOtherFormatBytes));
  if (format == nullptr && !nothing) format = other_format_of_name(content.file);
  if (format != nullptr) set_other_format(*format, content);
}

}  // namespace

TraceReaders::TraceReaders(bool details, const KernelTable& kernels, ReadProgress* progress) {
  readers_.push_back(make_kineto_reader(details, kernels, progress));
}

const TraceReader* TraceReaders::surest(std::string_view head) const {
  const TraceReader* best = nullptr;
  Recognition sureness = Recognition::no;
  for (const auto& reader : readers_) {
    const Recognition own = reader->recognise(head);
    if (own > sureness) best = reader.get();
    sureness = std::max(sureness, own);
  }
  return best;
}

Result<const TraceReader*> TraceReaders::reader_of(const std::string& file) const {
  Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) return source.error();
  return surest(head_of(*source.value(), kHeadBytes));
}

Result<FileContent> TraceReaders::read(const std::string& file, MemoryBudget& budget) const {
  Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) return unreadable_content(file, source.error().message);
  const std::string head = head_of(*source.value(), kHeadBytes);
  const TraceReader* reader = surest(head);
  Result<FileContent> content =
      reader == nullptr ? unrecognised_content(file, head, *source.value()) : reader->read(file, budget);
  if (!content.ok()) return content;
  if (reader != nullptr) content.value().format = reader->format();
  name_other_format(content.value());
  return content;
}

std::vector<std::string> TraceReaders::suffixes() const {
  std::vector<std::string> suffixes;
  for (const auto& reader : readers_) {
    for (const char* compression : {"", ".gz", ".zst"}) suffixes.push_back(std::string(reader->suffix()) + compression);
  }
  return suffixes;
}

}  // namespace skewscope::ingest
