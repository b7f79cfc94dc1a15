#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <random>

#include "reader_support.h"
#include "skewscope/ingest/whole_trace.h"
#include "tests/temporary_folder.h"

using namespace skewscope;

namespace {

struct Written : test::Folder {
  std::string file;
  Written(const std::string& name, const std::string& bytes) : Folder("check_file") {
    std::filesystem::create_directories(path);
    file = (path / name).string();
    std::ofstream(file, std::ios::binary) << bytes;
  }
  FileCheck check(const std::string& named = "", const std::string& regex = "") const {
    return check_file(file, named.empty() ? file : named, {regex, false, 0, {}}).value();
  }
};

std::string noise_as_letters(size_t size) {
  std::mt19937 random(7);
  std::string text(size, ' ');
  for (char& c : text) c = static_cast<char>('a' + random() % 20);
  return text;
}

const std::string kEvents = R"("traceEvents":[{"ph":"X","name":"a","ts":1,"dur":2,"pid":0,"tid":1}])";
const std::string kWhole = R"({"distributedInfo":{"rank":3,"world_size":8},)" + kEvents + R"(,"traceName":"t"})";

}  // namespace

TEST_CASE("JSON is whole when its first brace is closed, and only then") {
  CHECK(Written("a.json", kWhole).check().whole);
  CHECK(Written("a.json", kWhole + "\n").check().whole);
  CHECK(Written("a.json", "{" + kEvents + "}").check().whole);  // no traceName: read to the end
  CHECK(Written("a.json", R"([{"ph":"X","name":"}]\"}"}])").check().whole);
  for (const std::string& cut : {std::string(), std::string(" "), std::string("{"), kWhole.substr(0, kWhole.size() - 1),
                                 kWhole.substr(0, 60), std::string(R"({"name":"}"})").substr(0, 10)}) {
    const FileCheck check = Written("a.json", cut).check();
    CHECK_FALSE(check.whole);
    CHECK(check.may_grow);
    CHECK_FALSE(check.problem.empty());
  }
}

TEST_CASE("a large gzip file that nobody writes to is whole when its last bytes are its stream's end, and only then") {
  const std::string gzip = ingest::gzipped(noise_as_letters(3'000'000), 1);
  REQUIRE(gzip.size() > 1'500'000);
  const auto check = [](const std::string& bytes, bool closed) {
    const Written written("rank3.json.gz", bytes);
    return check_file(written.file, written.file, {"", closed, 0, {}}).value();
  };
  CHECK(check(gzip, true).whole);
  CHECK(check(ingest::gzipped(kWhole) + gzip, true).whole);
  for (const size_t cut : {1, 3, 7, 8, 9, 20, 1000, 100'000, 400'000}) {
    INFO("without the last " << cut);
    CHECK_FALSE(check(gzip.substr(0, gzip.size() - cut), true).whole);
  }
  CHECK_FALSE(check(gzip + "x", true).whole);
  std::string damaged = gzip;
  damaged[1000] ^= 1;
  CHECK(check(damaged, true).whole);  // the report says so
  CHECK_FALSE(check(damaged, false).whole);
}

TEST_CASE("a check that is told to stop stops") {
  const Written written("rank3.json.gz", ingest::gzipped(noise_as_letters(100'000)));
  CHECK_FALSE(check_file(written.file, written.file, {"", true, 0, [] { return false; }}).ok());
}

TEST_CASE("rank and world size come of the keys before the events") {
  const FileCheck check = Written("rank5.json", kWhole).check();
  CHECK(check.rank == Rank(3));
  CHECK(check.rank_source == "distributedInfo");
  CHECK(check.world_size == 8);
}

#if !SKEWSCOPE_SANITIZE  // which needs descriptors of its own
TEST_CASE("a check that is short of descriptors says so, and never tells another rank than the content's") {
  const Written file("rank5.json", kWhole);  // is rank 3
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const int next = dup(0);
  close(next);
  bool unreadable = false, told = false;
  for (rlim_t free = 0; free < 6; ++free) {
    const rlimit some{static_cast<rlim_t>(next) + free, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &some);
    const auto checked = check_file(file.file, file.file, {"", false, 0, {}});
    setrlimit(RLIMIT_NOFILE, &before);
    CHECK((checked.ok() ? checked.value().rank == Rank(3) : checked.error().kind == ErrorKind::unreadable));
    (checked.ok() ? told : unreadable) = true;
  }
  CHECK((unreadable && told));
}
#endif

TEST_CASE("the name tells where the content does not, the pattern before both") {
  const Written file("held", "{" + kEvents + "}");
  CHECK(file.check("/traces/job_rank5-of-16.json").rank == Rank(5));
  CHECK(file.check("/traces/job_rank5-of-16.json").world_size == 16);
  CHECK(file.check("/traces/n7/rank5.json", "n(?<rank>\\d+)/").rank == Rank(7));
  CHECK_FALSE(check_file(file.file, file.file, {"no group", false, 0, {}}).ok());
}

TEST_CASE("what only other files could confirm is no rank") {
  const Written file("held", "{" + kEvents + "}");
  CHECK_FALSE(file.check("/traces/trace.json").rank.known());
  CHECK_FALSE(file.check("/traces/local_rank3.json").rank.known());
  CHECK_FALSE(file.check("/traces/node.1694128201545.pt.trace.json").rank.known());
  CHECK(file.check("/traces/trace.json").world_size == 0);
}

TEST_CASE("what an analysis made of profiles is no rank's trace, and says so") {
  for (const char* name : {"cluster_communication.json", "communication_group.json"}) {
    const FileCheck check = Written(name, R"({"collective":{}})").check();
    CHECK_FALSE(check.whole);
    CHECK_FALSE(check.may_grow);
    CHECK(check.problem == "what an analysis made of Ascend profiles, no trace of a rank");
  }
}
