// Traces of a job: the bytes of up to four files, one behind each byte 1E. Reported as they are, one of them as `rank`
// does, and reported again from their digests. The stages assert the invariants of their rooms.
#include <fstream>
#include <sstream>

#include "memory_folder.h"
#include "skewscope/correlate.h"
#include "skewscope/examine.h"
#include "skewscope/ingest/make_digests.h"
#include "skewscope/report.h"

using namespace skewscope;  // NOLINT
using test::require;

namespace {

constexpr char kBetweenFiles = '\x1e';
constexpr size_t kMostFiles = 4;

void write_files(const std::string& folder, std::string_view bytes) {
  for (size_t file = 0; file < kMostFiles && !bytes.empty(); ++file) {
    const size_t end = file + 1 < kMostFiles ? std::min(bytes.find(kBetweenFiles), bytes.size()) : bytes.size();
    std::ofstream(folder + "/rank" + std::to_string(file) + ".json", std::ios::binary) << bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
}

void check_summary(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto starts = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
    require(starts <= 80);
  }
}

// What holds for a report of anything; "" where there is none.
std::string report_of(const std::string& folder, RankTableChoice rank_tables) {
  CorrelateOptions options;
  options.rank_tables = rank_tables;
  options.ingest.memory_limit_bytes = int64_t{1} << 28;
  StageTimer timer;
  const auto report = correlate({folder}, options, timer);
  if (!report.ok()) {
    require(report.error().kind != ErrorKind::internal);
    return "";
  }
  check_summary(terminal_summary(report.value(), "", false));
  return to_json(report.value(), {});
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFolder traces, digests;
  write_files(traces.path(), {reinterpret_cast<const char*>(data), size});
  const std::string report = report_of(traces.path(), RankTableChoice::gpu);
  report_of(traces.path(), RankTableChoice::all);  // reads more of each event: a damaged file may be another one then

  StageTimer timer;
  ExamineOptions one;
  one.ingest.ranks = {0};
  const auto examined = examine({traces.path()}, one, timer);
  require(examined.ok() || examined.error().kind != ErrorKind::internal);

  const auto files = discover_files({traces.path()});
  if (report.empty() || !files.ok()) return 0;
  if (!make_digests(files.value(), digests.path(), false, {}).ok()) return 0;
  require(report_of(digests.path(), RankTableChoice::gpu) == report);
  return 0;
}
