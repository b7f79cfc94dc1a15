#include "digest_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>

#include "skewscope/digest.h"
#include "src/ingest/ranks/file_name_rank.h"

namespace skewscope::ingest {
namespace {

namespace fs = std::filesystem;

// Appends up to `count` bytes.
void read_more(std::ifstream& in, size_t count, std::string& bytes) {
  const size_t before = bytes.size();
  bytes.resize(before + count);
  in.read(bytes.data() + before, static_cast<std::streamsize>(count));
  bytes.resize(before + static_cast<size_t>(in.gcount()));
}

TraceFile unusable(const std::string& path, const std::string& reason) {
  TraceFile file;
  set_path(path, file);
  file.linked.findings.push_back(finding_of_file(Severity::warning, "not-a-trace", path, reason + "; left out"));
  return file;
}

}  // namespace

bool is_digest_file(const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return false;  // a pipe would wait for its writer
  std::ifstream in(path, std::ios::binary);
  std::string head;
  read_more(in, kDigestHeadBytes, head);
  return is_digest(head);
}

Result<TraceFile> read_digest_file(const std::string& path, MemoryBudget& budget) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return cannot_read(path, errno);
  std::error_code failed;
  const uintmax_t file_bytes = fs::file_size(path, failed);
  std::string bytes;
  read_more(in, kDigestHeadBytes, bytes);
  read_more(in, digest_table_bytes(bytes), bytes);
  const std::optional<DigestSizes> sizes = digest_sizes(bytes);
  // What the table does not add up to is not read: the error is that of the head alone.
  if (failed || !sizes || sizes->file != file_bytes) return unusable(path, from_digest(bytes).error().message);
  const auto needed = static_cast<int64_t>(sizes->file + sizes->inflated + sizes->decoded);
  if (!budget.take(needed)) {
    budget.give_back(needed);
    return budget.exceeded_by(path);
  }
  read_more(in, static_cast<size_t>(file_bytes) - bytes.size(), bytes);
  if (in.bad()) {
    budget.give_back(needed);
    return cannot_read(path, EIO);
  }
  Result<TraceFile> file = from_digest(bytes);
  budget.give_back(needed);
  if (!file.ok()) return unusable(path, file.error().message);
  if (!budget.take(bytes_of(file.value().linked.trace))) return budget.exceeded_by(path);
  file.value().evidence.name = name_facts(file.value());
  return file;
}

bool could_be_read(const TraceFile& file) {
  return std::none_of(file.linked.findings.begin(), file.linked.findings.end(), is_of_unreadable_file);
}

void set_path(const std::string& path, TraceFile& file) {
  const std::string before = file.evidence.file;
  for (Finding& finding : file.linked.findings) {
    if (finding.file == before) finding.file = part_name(path, file.evidence.part);
  }
  file.linked.trace.file = file.evidence.file = part_name(path, file.evidence.part);
  file.evidence.folder = fs::absolute(path).lexically_normal().parent_path().string();
  file.evidence.name = name_facts(file);
}

FileNameFacts name_facts(const TraceFile& file) {
  FileNameFacts facts = read_file_name(file.evidence.whole_file());
  if (file.evidence.parts == 1) return facts;
  FileNameFacts of_any;
  of_any.world_size = facts.world_size;
  of_any.capture = std::move(facts.capture);
  of_any.capture_number = facts.capture_number;
  return of_any;
}

int64_t bytes_of(const RankTrace& trace) {
  int64_t bytes = 0;
  const auto add = [&](const auto& column) { bytes += static_cast<int64_t>(column.size() * sizeof(column[0])); };
  for_each_column(trace.gpu, add);
  for_each_column(trace.launches, add);
  add(trace.synchronizing);
  add(trace.stream_waits);
  add(trace.steps);
  add(trace.calls);
  add(trace.messages);
  add(trace.splits);
  return bytes;
}

}  // namespace skewscope::ingest
