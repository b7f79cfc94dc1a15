#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "src/ingest/ranks/rank_overrides.h"

using skewscope::ErrorKind;
using skewscope::RankEvidence;
using skewscope::ingest::RankOverrides;

namespace {

// A CSV file that lives as long as the object, of this process alone: tests run side by side.
class MapFile {
 public:
  explicit MapFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("skewscope_rank_map_" + std::to_string(getpid()) + "_" + std::to_string(counter_++) + ".csv")) {
    std::ofstream(path_) << text;
  }
  ~MapFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  static inline int counter_ = 0;
  std::filesystem::path path_;
};

RankEvidence called(const std::string& path) {
  RankEvidence file;
  file.file = path;
  return file;
}

// Of a file of several ranks.
RankEvidence part(const std::string& path, const std::string& name, int32_t place) {
  RankEvidence file = called(path + "#" + name);
  file.part = name;
  file.place = place;
  return file;
}

}  // namespace

TEST_CASE("a row or a number for a file of several ranks says the first, a row for a part its own") {
  const MapFile map("node1.sqlite,8,node1\nnode2.sqlite#pid77,3\n");
  const auto overrides = RankOverrides::make(map.path(), "node(?<rank>[0-9]+)");
  REQUIRE(overrides.ok());
  CHECK(overrides.value().from_map(part("a/node1.sqlite", "pid40", 0)) == 8);
  CHECK(overrides.value().from_map(part("a/node1.sqlite", "pid41", 1)) == 9);
  CHECK(overrides.value().host_from_map(part("a/node1.sqlite", "pid41", 1)) == "node1");
  CHECK(overrides.value().from_map(part("a/node2.sqlite", "pid77", 1)) == 3);
  CHECK(overrides.value().from_map(part("a/node2.sqlite", "pid78", 2)) == -1);
  CHECK(overrides.value().from_regex(part("a/node2.sqlite", "pid78", 2)) == 4);
}

TEST_CASE("a rank map answers by path, then by file name") {
  const MapFile map("path,rank\n a/x.json , 3\n\"b,c.json\",5\r\ny.json,7\n\n");
  const auto overrides = RankOverrides::make(map.path(), "");
  REQUIRE(overrides.ok());
  CHECK(overrides.value().from_map(called("a/x.json")) == 3);
  CHECK(overrides.value().from_map(called("./a/x.json")) == 3);
  CHECK(overrides.value().from_map(called("somewhere/b,c.json")) == 5);
  CHECK(overrides.value().from_map(called("deep/er/y.json")) == 7);
  CHECK(overrides.value().from_map(called("other/x.json")) == -1);
}

TEST_CASE("a rank map that cannot be read or understood is a usage error that names the line") {
  CHECK(RankOverrides::make("/no/such/map.csv", "").error().kind == ErrorKind::usage);
  const MapFile words("x.json,three\n");
  CHECK(RankOverrides::make(words.path(), "").error().message.find("line 1") != std::string::npos);
  const MapFile twice("x.json,1\nx.json,2\n");
  CHECK(RankOverrides::make(twice.path(), "").error().message.find("line 2") != std::string::npos);
  const MapFile negative("x.json,-1\n");
  CHECK(RankOverrides::make(negative.path(), "").error().kind == ErrorKind::usage);
}

TEST_CASE("a regex gives the rank by its named group, wherever the group stands") {
  const auto rank_by = [](const char* pattern, const char* path) {
    const auto overrides = RankOverrides::make("", pattern);
    REQUIRE(overrides.ok());
    return overrides.value().from_regex(called(path));
  };
  CHECK(rank_by("gpu(?P<rank>\\d+)", "job/gpu12.json") == 12);
  CHECK(rank_by("gpu(?<rank>[0-9]+)", "job/gpu12.json") == 12);
  CHECK(rank_by("(a|b)\\((?:x)[(](?P<host>h\\d)-(?P<rank>\\d+)", "b(x(h1-42") == 42);
  CHECK(rank_by("gpu(?P<rank>\\d+)", "job/cpu12.json") == -1);
  CHECK(rank_by("gpu(?P<rank>\\w+)", "job/gpuzero.json") == -1);
  CHECK(rank_by("(?P<rank>\\d+)", "99999999999999999999.json") == -1);
}

TEST_CASE("a regex without a group named rank, or that is none, is a usage error") {
  CHECK(RankOverrides::make("", "gpu(\\d+)").error().kind == ErrorKind::usage);
  CHECK(RankOverrides::make("", "gpu(?P<rank>\\d+").error().kind == ErrorKind::usage);
  CHECK(RankOverrides::make("", "gpu(?P<rank").error().kind == ErrorKind::usage);
}

TEST_CASE("a path as long as the system allows does not exhaust the stack") {
  const auto overrides = RankOverrides::make("", "(.|x)*(?P<rank>\\d+)");
  REQUIRE(overrides.ok());
  CHECK(overrides.value().from_regex(called(std::string(1'000'000, 'a') + "7")) == -1);
}

TEST_CASE("a rank map that is a folder or a device is a usage error") {
  for (const char* map : {"/", "/dev/zero"}) {
    const auto overrides = RankOverrides::make(map, "");
    REQUIRE_FALSE(overrides.ok());
    CHECK(overrides.error().kind == ErrorKind::usage);
    CHECK(overrides.error().message.find("not a regular file") != std::string::npos);
  }
}

TEST_CASE("a map with hosts says both, with a heading or without, and may leave the rank open") {
  const MapFile headed("path,rank,host\n/a/x.json,3,node17\n\"b,c.json\",5,7\ny.json,,node-2.example.com\nz.json,1,\n");
  const auto overrides = RankOverrides::make(headed.path(), "");
  REQUIRE(overrides.ok());
  CHECK(overrides.value().from_map(called("/a/x.json")) == 3);
  CHECK(overrides.value().host_from_map(called("/a/x.json")) == "node17");
  CHECK(overrides.value().from_map(called("b,c.json")) == 5);
  CHECK(overrides.value().host_from_map(called("b,c.json")) == "7");
  CHECK(overrides.value().from_map(called("deep/y.json")) == -1);
  CHECK(overrides.value().host_from_map(called("deep/y.json")) == "node-2.example.com");
  CHECK(overrides.value().from_map(called("z.json")) == 1);
  CHECK(overrides.value().host_from_map(called("z.json")).empty());
  const MapFile bare("x.json,3,node17\nb,c.json,5\n");
  const auto mixed = RankOverrides::make(bare.path(), "");
  REQUIRE(mixed.ok());
  CHECK(mixed.value().host_from_map(called("x.json")) == "node17");
  CHECK(mixed.value().from_map(called("b,c.json")) == 5);
  CHECK(mixed.value().host_from_map(called("b,c.json")).empty());
}

TEST_CASE("a map whose host is no name, or that gives a file two hosts, is refused with its line") {
  for (const char* text : {"path,rank,host\nx.json,3,no/name\n", "x.json,3,node1\nx.json,3,node2\n",
                           "path,rank,host\nx.json,,\n", "path,rank,host\n,3,node1\n"}) {
    INFO(text);
    const MapFile file(text);
    const auto overrides = RankOverrides::make(file.path(), "");
    REQUIRE_FALSE(overrides.ok());
    CHECK(overrides.error().kind == ErrorKind::usage);
    CHECK(overrides.error().message.find(", line 2: ") != std::string::npos);
  }
}
