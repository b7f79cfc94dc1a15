#include "trace_readers.h"

#include <algorithm>
#include <array>

#include "src/ingest/ascend/ascend_database.h"
#include "src/ingest/ascend/ascend_reader.h"
#include "src/ingest/content/no_trace.h"
#include "src/ingest/inspector/inspector_reader.h"
#include "src/ingest/kineto/kineto_reader.h"
#include "src/ingest/nsys/nsys_format.h"
#include "src/ingest/pftrace/pftrace_reader.h"
#include "src/ingest/rocm/rocpd_database.h"
#include "src/ingest/rocm/rocprof_json.h"
#include "src/ingest/sqlite/sqlite_reader.h"
#include "src/ingest/text/byte_source.h"
#include "src/ingest/xplane/viewer_reader.h"
#include "src/ingest/xplane/xplane_reader.h"

namespace skewscope::ingest {
namespace {

constexpr size_t kHeadBytes = 4096;
constexpr std::array kCompressions = {"", ".gz", ".zst"};

std::string head_of(ByteSource& source, size_t bytes) {
  std::string head(bytes, '\0');
  head.resize(source.read(head.data(), head.size()));
  return head;
}

// What other profilers write may parse as a trace, but has no row of a GPU; and what no reader knows may have a name.
void name_other_format(FileContent& content) {
  const Findings& findings = content.findings;
  const auto says_what_it_is = [](const Finding& f) { return f.code == "other-format" || f.code == "copied-trace"; };
  if (std::any_of(findings.begin(), findings.end(), says_what_it_is)) return;
  const bool nothing =
      content.gpu.empty() && (content.kind == ContentKind::rank_trace || content.kind == ContentKind::front_end);
  if (!nothing && content.kind != ContentKind::not_a_trace) return;
  Result<std::unique_ptr<ByteSource>> source = open_byte_source(content.file);
  if (!source.ok()) return;
  const std::string head = head_of(*source.value(), kOtherFormatBytes);
  // A database is known by its tables, or damaged: its head says less.
  const bool unreadable = std::any_of(content.findings.begin(), content.findings.end(), [](const Finding& finding) {
    return finding.code == FindingCode("unreadable-file");
  });
  if (head.starts_with("SQLite format 3") && (nothing || unreadable)) return;
  const OtherFormat* format = other_format(head);
  if (format == nullptr && !nothing) format = other_format_of_name(content.file);
  if (format != nullptr) set_other_format(*format, content);
}

std::vector<std::unique_ptr<SqliteFormat>> sqlite_formats() {
  std::vector<std::unique_ptr<SqliteFormat>> formats;
  formats.push_back(make_nsys_format());
  formats.push_back(make_ascend_database());
  formats.push_back(make_rocpd_database());
  formats.push_back(make_rpd_database());
  return formats;
}

}  // namespace

TraceReaders::TraceReaders(const ReaderSettings& settings) {
  readers_.push_back(make_xla_viewer_reader(settings));  // ahead of whose keys its files have, too
  readers_.push_back(make_kineto_reader(settings));
  readers_.push_back(make_sqlite_reader(sqlite_formats(), settings));
  readers_.push_back(make_xplane_reader(settings));
  readers_.push_back(make_ascend_reader(settings));
  readers_.push_back(make_rocprof_reader(settings));
  readers_.push_back(make_pftrace_reader(settings));
  readers_.push_back(make_inspector_reader(settings));
}

const TraceReader* TraceReaders::surest(const std::string& file, std::string_view head) const {
  const TraceReader* best = nullptr;
  Recognition sureness = Recognition::no;
  for (const auto& reader : readers_) {
    const Recognition own = reader->recognise(file, head);
    if (own > sureness) best = reader.get();
    sureness = std::max(sureness, own);
  }
  return best;
}

Result<const TraceReader*> TraceReaders::reader_of(const std::string& file) const {
  Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) return source.error();
  return surest(file, head_of(*source.value(), kHeadBytes));
}

Result<std::vector<FileContent>> TraceReaders::read(const std::string& file, MemoryBudget& budget) const {
  Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) return only(unreadable_content(file, source.error().message));
  const std::string head = head_of(*source.value(), kHeadBytes);
  const TraceReader* reader = surest(file, head);
  Result<std::vector<FileContent>> contents =
      reader == nullptr ? only(unrecognised_content(file, head, *source.value())) : reader->read(file, budget);
  if (contents.ok() && contents.value().size() == 1) name_other_format(contents.value().front());
  return contents;
}

std::vector<std::string> TraceReaders::suffixes() const {
  std::vector<std::string> suffixes;
  for (const auto& reader : readers_) {
    for (const std::string suffix : reader->suffixes()) {
      for (const char* compression : kCompressions) suffixes.push_back(suffix + compression);
    }
  }
  return suffixes;
}

bool TraceReaders::take_name(std::string_view name) const {
  for (const auto& reader : readers_) {
    for (const std::string suffix : reader->suffixes()) {
      for (const char* compression : kCompressions) {
        const std::string end = suffix + compression;
        if (name.size() > end.size() && name.ends_with(end) && reader->takes_name(name)) return true;
      }
    }
  }
  return false;
}

}  // namespace skewscope::ingest
