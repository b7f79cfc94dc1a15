#include <catch2/catch.hpp>

#include "skewscope/gather.h"

namespace skewscope {
namespace {

std::vector<std::string> paths_of(const std::vector<KeptDump>& dumps) {
  std::vector<std::string> paths;
  for (const KeptDump& dump : dumps) paths.push_back(dump.path);
  return paths;
}

TEST_CASE("dumps of one incident follow one another within minutes") {
  CHECK(paths_of(last_incident({{1000, 2, "c"}, {1000, 0, "a"}, {1004, 1, "b"}})) ==
        std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("after a longer pause dumps are of another incident, and the last one counts") {
  CHECK(paths_of(last_incident({{1000, 0, "a"}, {1000, 1, "b"}, {1006, 1, "later"}})) ==
        std::vector<std::string>{"later"});
}

TEST_CASE("of two dumps of a rank in one incident the newer counts") {
  CHECK(paths_of(last_incident({{1000, 0, "old"}, {1002, 0, "new"}, {1001, 1, "b"}})) ==
        std::vector<std::string>{"new", "b"});
}

TEST_CASE("without a dump there is no incident") { CHECK(last_incident({}).empty()); }

}  // namespace
}  // namespace skewscope
