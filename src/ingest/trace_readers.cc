#include "trace_readers.h"

#include <algorithm>

#include "src/ingest/content/no_trace.h"
#include "src/ingest/kineto/kineto_reader.h"
#include "src/ingest/text/byte_source.h"

namespace skewscope::ingest {
namespace {

constexpr size_t kHeadBytes = 4096;

// What other profilers write may parse as a trace, but has no row of a GPU; and what no reader knows may have a name.
void name_other_format(FileContent& content) {
  const bool nothing =
      content.gpu.empty() && (content.kind == ContentKind::rank_trace || content.kind == ContentKind::front_end);
  if (!nothing && content.kind != ContentKind::not_a_trace) return;
  Result<std::unique_ptr<ByteSource>> source = open_byte_source(content.file);
  if (!source.ok()) return;
  std::string head(kOtherFormatBytes, '\0');
  head.resize(source.value()->read(head.data(), head.size()));
  const OtherFormat* format = other_format(head);
  if (format == nullptr && !nothing) format = other_format_of_name(content.file);
  if (format != nullptr) set_other_format(*format, content);
}

}  // namespace

TraceReaders::TraceReaders(bool details, const KernelTable& kernels) {
  ReadSettings settings;
  settings.details = details;
  settings.kernels = &kernels;
  readers_.push_back(std::make_unique<KinetoReader>(settings));
}

Result<FileContent> TraceReaders::read(const std::string& file, MemoryBudget& budget) const {
  Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) return unreadable_content(file, source.error().message);
  std::string head(kHeadBytes, '\0');
  head.resize(source.value()->read(head.data(), head.size()));
  const auto known =
      std::find_if(readers_.begin(), readers_.end(), [&](const auto& reader) { return reader->recognises(head); });
  Result<FileContent> content =
      known == readers_.end() ? unrecognised_content(file, head, *source.value()) : (*known)->read(file, budget);
  if (content.ok()) name_other_format(content.value());
  return content;
}

}  // namespace skewscope::ingest
