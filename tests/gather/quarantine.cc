// What is set aside does not stay for ever.
#include <catch2/catch.hpp>

#include <chrono>
#include <fstream>

#include "spool.h"

namespace skewscope::gather {
namespace {

using test::Asking;
using test::eventually;
using test::Spool;
using test::upload_of;

int64_t real_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

size_t files_in(const std::filesystem::path& folder) {
  size_t count = 0;
  if (!std::filesystem::exists(folder)) return 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) count += entry.is_regular_file();
  return count;
}

// A spool whose rank 0 was replaced, with something that nobody knows; the clock is right.
struct Full : Spool {
  explicit Full(const std::string& name) : Spool(name) {
    ask().put("train", 0, std::string(100, 'a'));
    NewUpload other = upload_of("train", 0, 100);
    other.metadata.replace = true;
    ask().put(other, std::string(100, 'b'));
    close();
    std::ofstream(path("in/somebody.part")) << std::string(100, 'c');
    clock = real_time();
    open();
  }
};

TEST_CASE("what is set aside is deleted when it is old, and not before") {
  Full spool("quarantine_age");
  CHECK(eventually([&] { return spool.store->figures().quarantine_files == 2; }));
  CHECK(spool.store->figures().quarantine_bytes == 200);
  spool.clock += 29 * 24 * 3600;
  usleep(400'000);
  CHECK(files_in(spool.path("quarantine")) == 2);
  spool.clock += 2 * 24 * 3600;
  CHECK(eventually([&] { return spool.store->figures().quarantine_deleted == 2; }));
  CHECK(files_in(spool.path("quarantine")) == 0);
  CHECK(eventually([&] { return files_in(spool.path("trash")) == 0; }));
  CHECK(spool.store->figures().quarantine_bytes == 0);
  CHECK(spool.ask().content("train", 0) == std::string(100, 'b'));
}

TEST_CASE("of what is set aside the oldest goes while all is too large") {
  Full spool("quarantine_size");
  usleep(1'100'000);  // times are told by the second
  NewUpload third = upload_of("train", 0, 100);
  third.metadata.replace = true;
  spool.ask().put(third, std::string(100, 'd'));
  GatherRetention small;
  small.quarantine_bytes = 150;
  spool.store->use(spool.options.limits, small);
  spool.clock += 61;
  CHECK(eventually([&] { return spool.store->figures().quarantine_deleted == 2; }));
  usleep(400'000);
  REQUIRE(files_in(spool.path("quarantine")) == 1);
  const auto left = *std::filesystem::directory_iterator(spool.path("quarantine/train"));
  std::string bytes(3, ' ');
  std::ifstream(left.path()).read(bytes.data(), 3);
  CHECK(bytes == "bbb");  // the last that was replaced
}

TEST_CASE("a job is no longer charged for what has left its quarantine") {
  Full spool("quarantine_charge");
  spool.options.limits.largest_job = 250;
  spool.open();
  CHECK(spool.ask().create(upload_of("train", 1, 100)).refusal == Refusal::quota);
  spool.clock += 31 * 24 * 3600;
  CHECK(eventually([&] { return spool.store->figures().quarantine_deleted == 2; }));
  CHECK(spool.ask().create(upload_of("train", 1, 100)).refusal == Refusal::none);
  CHECK(spool.ask().create(upload_of("train", 2, 100)).refusal == Refusal::quota);
}

TEST_CASE("a damaged manifest is set aside in quarantine and ages there") {
  Full spool("quarantine_manifest");
  spool.close();
  std::filesystem::resize_file(spool.path("gather.sqlite"), 100);
  spool.open();
  REQUIRE(spool.error.empty());
  CHECK(files_in(spool.path("quarantine/.manifests")) > 0);
  spool.clock += 31 * 24 * 3600;
  CHECK(eventually([&] { return files_in(spool.path("quarantine/.manifests")) == 0; }));
}

}  // namespace
}  // namespace skewscope::gather
