#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "skewscope/ingest.h"

using namespace skewscope;  // NOLINT
namespace fs = std::filesystem;

namespace {

// A folder of its own, removed at the end.
class Folder {
 public:
  Folder()
      : root_(fs::temp_directory_path() /
              ("skewscope_discover_" + std::to_string(getpid()) + "_" + std::to_string(counter_++))) {
    fs::create_directories(root_);
  }
  ~Folder() { fs::remove_all(root_); }

  std::string file(const std::string& name, const std::string& text = "{\"traceEvents\": []}") const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
    return (root_ / name).string();
  }
  std::string path(const std::string& name = "") const { return (name.empty() ? root_ : root_ / name).string(); }

 private:
  static inline int counter_ = 0;
  fs::path root_;
};

std::vector<std::string> names(const Result<std::vector<std::string>>& found) {
  REQUIRE(found.ok());
  std::vector<std::string> result;
  for (const std::string& file : found.value()) result.push_back(fs::path(file).filename().string());
  return result;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a directory gives its traces by suffix, at any depth, sorted") {
  const Folder folder;
  folder.file("b.json");
  folder.file("a/z.pt.trace.json.gz");
  folder.file("a/deep/er/y.json.zst");
  folder.file("notes.txt");
  folder.file("b.json.tmp");
  folder.file(".hidden.json");
  folder.file(".partial/x.json");
  CHECK(names(discover_files({folder.path()})) == Names{"y.json.zst", "z.pt.trace.json.gz", "b.json"});
}

TEST_CASE("a file is taken by its name whatever its suffix") {
  const Folder folder;
  CHECK(names(discover_files({folder.file("trace.txt")})) == Names{"trace.txt"});
}

TEST_CASE("a path with brackets that exists is no pattern") {
  const Folder folder;
  const std::string primus = folder.file("primus-exp[a]-rank[0].pt.trace.json");
  folder.file("primus-expa-rank0.pt.trace.json");
  CHECK(names(discover_files({primus})) == Names{"primus-exp[a]-rank[0].pt.trace.json"});
}

TEST_CASE("a pattern gives the files it matches and the traces of folders it matches") {
  const Folder folder;
  folder.file("rank0.json");
  folder.file("rank1.json");
  folder.file("other.json");
  folder.file("ranks/inner.json");
  CHECK(names(discover_files({folder.path("rank*")})) == Names{"rank0.json", "rank1.json", "inner.json"});
}

TEST_CASE("a file named twice, in two spellings, is one file") {
  const Folder folder;
  const std::string file = folder.file("a.json");
  CHECK(names(discover_files({file, folder.path(), folder.path("./a.json")})) == Names{"a.json"});
}

TEST_CASE("own report directories and documents are not traces") {
  const Folder folder;
  folder.file("rank0.json");
  folder.file("report/report.json", "{}");
  folder.file("report/COMPLETE", "");
  folder.file("report/tables/x.json", "{}");
  folder.file("truth.json", "{\n  \"schema\": \"skewscope.truth/1\",\n  \"ranks\": []}");
  CHECK(names(discover_files({folder.path()})) == Names{"rank0.json"});
}

TEST_CASE("a folder that goes away meanwhile hides none of the others") {
  const Folder folder;
  folder.file("a/rank0.json");
  folder.file("z/rank1.json");
  const std::jthread coming_and_going([&](const std::stop_token& done) {
    while (!done.stop_requested()) {
      for (const char* name : {"b", "m", "y"}) fs::create_directories(folder.path(name));
      for (const char* name : {"b", "m", "y"}) fs::remove(folder.path(name));
    }
  });
  for (int i = 0; i < 2000; ++i) REQUIRE(names(discover_files({folder.path()})) == Names{"rank0.json", "rank1.json"});
}

#if !SKEWSCOPE_SANITIZE  // which needs descriptors of its own
TEST_CASE("a folder that cannot be listed is an error, not an empty folder") {
  const Folder folder;
  folder.file("deep/rank0.json");
  folder.file("rank1.json");
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const int next = dup(0);
  close(next);
  const rlimit one_more{static_cast<rlim_t>(next) + 1, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &one_more);
  const auto found = discover_files({folder.path()});
  std::vector<Error> unlisted;
  const auto others = discover_files({folder.path()}, alone(), &unlisted);
  setrlimit(RLIMIT_NOFILE, &before);
  REQUIRE_FALSE(found.ok());
  CHECK(found.error().kind == ErrorKind::unreadable);
  CHECK_THAT(found.error().message, Catch::EndsWith("deep: cannot be listed: Too many open files"));
  CHECK(names(others) == Names{"rank1.json"});  // who asks for it gets the others, and is told
  REQUIRE(unlisted.size() == 1);
  CHECK(unlisted[0].message == found.error().message);
}
#endif

TEST_CASE("nothing found is no_input and says which path") {
  const Folder folder;
  folder.file("report/report.json", "{}");
  folder.file("report/COMPLETE", "");
  for (const std::string& path : {folder.path("missing.json"), folder.path("no*match"), folder.path("report")}) {
    const auto found = discover_files({path});
    REQUIRE_FALSE(found.ok());
    CHECK(found.error().kind == ErrorKind::no_input);
    CHECK(found.error().message.find(path) != std::string::npos);
  }
  CHECK_FALSE(discover_files({}).ok());
}

TEST_CASE("a folder without a trace says what lies there instead") {
  const Folder folder;
  folder.file("notes.txt");
  folder.file("a/report1.nsys-rep");
  const auto found = discover_files({folder.path()});
  REQUIRE_FALSE(found.ok());
  CHECK(found.error().message.find("report1.nsys-rep is a report of Nsight") != std::string::npos);
}

TEST_CASE("a loop of links between folders ends") {
  const Folder folder;
  folder.file("a/rank0.json");
  fs::create_directory_symlink(folder.path(), folder.path("a/loop"));
  CHECK(names(discover_files({folder.path()})) == Names{"rank0.json"});
}
