// The order in which folders are flushed: were it another, a power loss between two flushes could lose what was moved.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather {
namespace {

TEST_CASE("each folder of the spool has a rank of its own, and what lies in it has the same") {
  std::set<FlushRank> ranks;
  for (const SpoolFolder& folder : kFolders) {
    CHECK(flush_rank(folder.name) == folder.rank);
    CHECK(flush_rank(folder.name + std::string("/job/ranks")) == folder.rank);
    CHECK(ranks.insert(folder.rank).second);
  }
}

TEST_CASE("trash is flushed before quarantine, that before jobs and in last") {
  const FoldersToFlush folders = {"in", "jobs", "quarantine", "trash", "quarantine/job", "jobs/z"};
  CHECK(std::vector<std::string>(folders.begin(), folders.end()) ==
        std::vector<std::string>{"trash", "quarantine/job", "quarantine", "jobs/z", "jobs", "in"});
}

TEST_CASE("a folder is flushed before those that it lies in") {
  const FoldersToFlush folders = {"jobs", "jobs/a", "jobs/a/ranks", "jobs/a/ranks/c0000", "jobs/b"};
  CHECK(std::vector<std::string>(folders.begin(), folders.end()) ==
        std::vector<std::string>{"jobs/b", "jobs/a/ranks/c0000", "jobs/a/ranks", "jobs/a", "jobs"});
}

}  // namespace
}  // namespace skewscope::gather
