#include "digest_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "file_name_rank.h"
#include "skewscope/digest.h"

namespace skewscope::ingest {
namespace {

namespace fs = std::filesystem;

std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::string bytes(in ? static_cast<size_t>(std::max<std::streamoff>(in.tellg(), 0)) : 0, '\0');
  in.seekg(0);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(in.gcount()));
  return bytes;
}

TraceFile unusable(const std::string& path, const std::string& reason) {
  TraceFile file;
  set_place(path, file);
  file.linked.findings.push_back({Severity::warning, "not-a-trace", path, Rank(), -1, 1, reason + "; left out"});
  return file;
}

}  // namespace

bool is_digest_file(const std::string& path) {
  char head[8] = {};
  std::ifstream in(path, std::ios::binary);
  in.read(head, sizeof head);
  return is_digest({head, static_cast<size_t>(in.gcount())});
}

Result<TraceFile> read_digest_file(const std::string& path, MemoryBudget& budget) {
  const std::string bytes = read_bytes(path);
  const int64_t columns = decoded_bytes(bytes);
  if (!budget.take(columns)) return budget.exceeded_by(path);
  Result<TraceFile> file = from_digest(bytes);
  if (!file.ok()) {
    budget.give_back(columns);
    return unusable(path, file.error().message);
  }
  file.value().evidence.name = read_file_name(file.value().evidence.file);
  return file;
}

bool write_digest_file(const TraceFile& file, const std::string& path) {
  const std::string bytes = to_digest(file);
  const std::string partial = path + ".partial" + std::to_string(getpid());
  std::ofstream out(partial, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  std::error_code failed;
  if (out) fs::rename(partial, path, failed);
  if (out && !failed) return true;
  fs::remove(partial, failed);
  return false;
}

void set_place(const std::string& path, TraceFile& file) {
  const std::string before = file.evidence.file;
  for (Finding& finding : file.linked.findings) {
    if (finding.file == before) finding.file = path;
  }
  file.linked.trace.file = path;
  file.evidence.file = path;
  file.evidence.folder = fs::absolute(path).lexically_normal().parent_path().string();
  file.evidence.name = read_file_name(path);
}

}  // namespace skewscope::ingest
