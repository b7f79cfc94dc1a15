// Files of the spool that are damaged, lost, or nobody's.
#include <catch2/catch.hpp>

#include "skewscope/gather.h"
#include "spool.h"
#include "src/gather/disk/manifest.h"

namespace skewscope::gather {
namespace {

using test::has_file_in;
using test::kTrace;
using test::overwrite;
using test::problems_of;
using test::Spool;
using test::upload_of;

TEST_CASE("a file that is lost is counted, told, and can be sent again") {
  Spool spool("lost");
  spool.ask().put("train", 0, kTrace);
  spool.close();
  std::filesystem::remove(spool.path("jobs/train/ranks/c0000/r00000.json"));
  CHECK(problems_of(spool) == std::vector<std::string>{"jobs/train/ranks/c0000/r00000.json is lost"});
  spool.open();
  CHECK(spool.store->figures().lost_files == 1);
  CHECK(spool.ask().put("train", 0, kTrace).value.complete);
  CHECK(problems_of(spool).empty());
}

TEST_CASE("a flipped bit in a kept file is found by the check, and repaired by quarantine") {
  Spool spool("rot");
  spool.ask().put("train", 0, kTrace);
  spool.close();
  const auto path = spool.path("jobs/train/ranks/c0000/r00000.json");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  overwrite(path, 3, "T");
  CHECK(problems_of(spool).size() == 1);
  CHECK(problems_of(spool, true).size() == 1);
  CHECK(problems_of(spool).empty());
  CHECK(has_file_in(spool.path("quarantine/train")));
}

TEST_CASE("a flipped bit in the last segment of an open upload ends the upload") {
  Spool spool("part_rot");
  const std::string id = spool.ask().create(upload_of("train", 0, 8)).value.id;
  spool.ask().patch(id, 0, "abcd");
  spool.close();
  overwrite(spool.path("in/" + id + ".part"), 1, "B");
  spool.open();
  CHECK(spool.ask().state(id).refusal == Refusal::unknown);
  CHECK(has_file_in(spool.path("quarantine/train")));
}

TEST_CASE("what is in the spool and nobody knows is set aside; the daemon starts") {
  Spool spool("strangers");
  spool.ask().put("train", 0, kTrace);
  spool.close();
  std::ofstream(spool.path("in/0123456789abcdef0123456789abcdef.part")) << "bytes";
  std::ofstream(spool.path("in/odd")) << "bytes";
  std::ofstream(spool.path("jobs/train/ranks/c0000/r00001.json")) << "bytes";
  std::ofstream(spool.path("jobs/train/ranks/c0000/odd")) << "bytes";
  std::ofstream(spool.path("jobs/odd")) << "bytes";
  spool.open();
  REQUIRE(spool.error.empty());
  CHECK(spool.store->job("train")->arrived == 1);
  CHECK(spool.store->figures().quarantined == 3);  // of a part nobody was told: it goes
  CHECK(std::filesystem::is_empty(spool.path("in")));
}

TEST_CASE("symbolic links in the spool are not followed") {
  Spool spool("links");
  spool.ask().put("train", 0, kTrace);
  spool.close();
  const auto path = spool.path("jobs/train/ranks/c0000/r00000.json");
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/etc/passwd", path);
  spool.open();
  REQUIRE(spool.error.empty());
  CHECK(spool.ask().content("train", 0).empty());
}

TEST_CASE("ten thousand files are back within seconds of a start") {
  Spool spool("many");
  spool.close();
  {
    auto opened = Manifest::open(spool.options.spool + "/gather.sqlite", nullptr, true);
    REQUIRE(opened.manifest);
    std::filesystem::create_directories(spool.path("jobs/train/ranks/c0000"));
    const auto fill = [&] {
      JobRow job;
      job.name = "train";
      opened.manifest->put(job);
      for (int rank = 0; rank < 10'000; ++rank) {
        char name[32];
        std::snprintf(name, sizeof name, "r%05d.json", rank);
        std::ofstream(spool.path("jobs/train/ranks/c0000") / name) << kTrace;
        opened.manifest->put(
            FileRow{"train", 0, rank, 1, kTrace.size(), sha256(kTrace), ".json", 0, "", "", {}, false});
      }
    };
    REQUIRE(opened.manifest->transaction(fill) == ManifestStatus::fine);
  }
  spool.open();
  REQUIRE(spool.error.empty());
  CHECK(spool.store->job("train")->arrived == 10'000);
  CHECK(spool.store->figures().recovery_seconds < 5);
}

}  // namespace
}  // namespace skewscope::gather
