// Files of several ranks: what their parts are called, and that the cache keeps them all or none.
#include <catch2/catch.hpp>
#include <fstream>

#include "reader_support.h"
#include "skewscope/ingest.h"
#include "src/ingest/digests/digest_cache.h"
#include "src/ingest/read_files.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT
namespace fs = std::filesystem;

namespace {

std::vector<TraceFile> two_parts(const std::string& path) {
  std::vector<TraceFile> parts;
  for (const char* part : {"pid10", "pid11"}) {
    FileContent content;
    content.file = path;
    content.part = part;
    content.format = "two ranks a file";
    content.kind = ContentKind::rank_trace;
    parts.push_back(link_file(std::move(content)));
    parts.back().evidence.place = static_cast<int32_t>(parts.size()) - 1;
    parts.back().evidence.parts = 2;
    set_path(path, parts.back());
  }
  return parts;
}

}  // namespace

TEST_CASE("a part is named by its file and itself, and read from its file") {
  const TempFile file("rows of two ranks");
  CHECK(file_of_part(part_name(file.path(), "pid10")) == file.path());
  CHECK(file_of_part(file.path()) == file.path());
  CHECK(file_of_part("/nowhere/capture.sqlite#pid10") == "/nowhere/capture.sqlite#pid10");
  CHECK(discover_files({file.path() + "#pid10"}).value() == std::vector<std::string>{file.path() + "#pid10"});
}

TEST_CASE("a file whose name has the mark of parts is no part") {
  const fs::path folder = fs::temp_directory_path() / "skewscope_parts";
  fs::create_directories(folder);
  std::ofstream(folder / "run") << "";
  std::ofstream(folder / "run#2") << "";
  CHECK(file_of_part((folder / "run#2").string()) == (folder / "run#2").string());
  CHECK(file_of_part((folder / "run#3").string()) == (folder / "run").string());
  fs::remove_all(folder);
}

TEST_CASE("the name of a file of several ranks says the rank of none") {
  const std::vector<TraceFile> parts = two_parts("/tmp/job_rank3_step12.sqlite");
  CHECK(parts[0].evidence.file == "/tmp/job_rank3_step12.sqlite#pid10");
  CHECK(parts[0].evidence.name.rank == -1);
  CHECK(parts[0].evidence.name.capture == "step 12");
}

TEST_CASE("the cache keeps all parts of a file, and finds none where one is gone") {
  const fs::path folder = fs::temp_directory_path() / ("skewscope_cached_parts_" + std::to_string(getpid()));
  fs::create_directories(folder);
  const std::string trace = (folder / "capture.sqlite").string();
  std::ofstream(trace) << "rows";
  fs::last_write_time(trace, fs::file_time_type::clock::now() - std::chrono::hours(1));
  CacheOptions cache;
  cache.directory = (folder / "cache").string();
  cache.limit_bytes = 1 << 20;
  cache.writer = "test";
  MemoryBudget budget(0);
  std::string cached;
  for (int tries = 0; cached.empty() && tries < 100; ++tries) {  // a file that changed just now is not kept
    usleep(100'000);
    cached = cached_path(trace, cache);
  }
  CHECK(find_cached(trace, cached, budget).empty());
  store_cached(trace, two_parts(trace), cached, cache);
  const std::vector<TraceFile> found = find_cached(trace, cached, budget);
  REQUIRE(found.size() == 2);
  CHECK(found[0].evidence.file == trace + "#pid10");
  CHECK(found[1].evidence.file == trace + "#pid11");
  CHECK(found[1].format == "two ranks a file");
  int64_t removed = 0;
  for (const auto& entry : fs::directory_iterator(cache.directory)) {
    if (entry.path().string().find(".1.cached") != std::string::npos) removed += fs::remove(entry.path()) ? 1 : 0;
  }
  CHECK(removed == 1);
  CHECK(find_cached(trace, cached, budget).empty());
  fs::remove_all(folder);
}
