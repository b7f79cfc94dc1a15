// Logs of NCCL's Inspector: up to two files, one behind the byte 1E. What is read obeys the invariants of its room, and
// the report from digests is that from the logs.
#include <fstream>

#include "memory_folder.h"
#include "skewscope/correlate.h"
#include "skewscope/ingest/make_digests.h"
#include "skewscope/report.h"
#include "src/ingest/read_files.h"
#include "src/ingest/trace_readers.h"

using namespace skewscope;  // NOLINT
using test::require;

namespace {

void write_files(const std::string& folder, std::string_view bytes) {
  const size_t cut = std::min(bytes.find('\x1e'), bytes.size());
  std::ofstream(folder + "/node0-pid1.log", std::ios::binary) << bytes.substr(0, cut);
  if (cut < bytes.size()) std::ofstream(folder + "/node0-pid2.log", std::ios::binary) << bytes.substr(cut + 1);
}

void check_content(const std::string& file) {
  ingest::MemoryBudget budget(int64_t{1} << 28);
  Result<std::vector<ingest::FileContent>> contents = ingest::TraceReaders().read(file, budget);
  if (!contents.ok()) return;
  for (ingest::FileContent& content : contents.value()) {
    const TraceFile linked = ingest::link_file(std::move(content));
    require(check_invariants(linked.linked.trace).empty());
  }
}

std::string report_of(const std::string& folder) {
  StageTimer timer;
  const auto report = correlate({folder}, {}, timer);
  if (report.ok()) return to_json(report.value(), {});
  require(report.error().kind != ErrorKind::internal);
  return "";
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFolder logs, digests;
  write_files(logs.path(), {reinterpret_cast<const char*>(data), size});
  check_content(logs.path() + "/node0-pid1.log");
  const std::string report = report_of(logs.path());
  const auto files = discover_files({logs.path()});
  if (report.empty() || !files.ok() || !make_digests(files.value(), digests.path(), false, {}).ok()) return 0;
  require(report_of(digests.path()) == report);
  return 0;
}
