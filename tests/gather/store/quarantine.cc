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
    clock += 3601;  // after years an hour is waited
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

// Replaces rank 0 of a job: so many bytes of it are set aside.
void set_aside(Spool& spool, const std::string& job, uint32_t uid, size_t bytes) {
  NewUpload upload = upload_of(job, 0, bytes);
  upload.uid = uid;
  REQUIRE(spool.ask().put(upload, std::string(bytes, 'a')).refusal == Refusal::none);
  upload.metadata.replace = true;
  upload.length = 1;
  REQUIRE(spool.ask().put(upload, "b").refusal == Refusal::none);
}

TEST_CASE("nobody's file leaves quarantine because of what another owner has set aside, in however many jobs") {
  Spool spool("quarantine_owners");
  set_aside(spool, "hers", 1, 100);
  for (int job = 0; job < 10; ++job) set_aside(spool, "his" + std::to_string(job), 2, 50);
  spool.clock = real_time();
  GatherRetention small;
  small.quarantine_bytes = 300;
  spool.options.retention = small;
  spool.open();
  spool.clock += 3601;  // after years an hour is waited
  CHECK(eventually([&] { return spool.store->figures().quarantine_deleted == 6; }));
  CHECK(spool.store->figures().quarantine_bytes == 300);
  CHECK(files_in(spool.path("quarantine/hers")) == 1);
}

TEST_CASE("what is set aside counts as its job's owner's, after a start, too") {
  Spool spool("quarantine_user");
  spool.options.limits.largest_user = 250;
  spool.open();
  set_aside(spool, "one", 1, 100);
  set_aside(spool, "two", 1, 100);  // 202 of 250
  const auto asks = [&](uint32_t uid) {
    NewUpload upload = upload_of("three" + std::to_string(uid), 0, 49);
    upload.uid = uid;
    return spool.ask().create(upload).refusal;
  };
  CHECK(asks(1) == Refusal::quota);
  CHECK(asks(2) == Refusal::none);
  spool.open();
  CHECK(asks(1) == Refusal::quota);
  SECTION("no longer, once it is gone") {
    spool.clock = real_time() + 31 * 24 * 3600;
    usleep(600'000);  // the clock is seen
    spool.clock += 3601;
    CHECK(eventually([&] { return spool.store->figures().quarantine_deleted == 2; }));
    CHECK(eventually([&] { return asks(1) == Refusal::none; }));
  }
  SECTION("nor once its job is deleted") {
    spool.ask().delete_job("one");
    CHECK(asks(1) == Refusal::none);
  }
}

TEST_CASE("where nobody told the owner, each job is its own, and uses up no other's quota") {
  Spool spool("quota_untold");
  spool.options.limits.largest_user = 150;
  spool.open();
  const auto asks = [&](const std::string& job) {
    NewUpload upload = upload_of(job, 0, 100);
    upload.uid = 0;
    return spool.ask().create(upload).refusal;
  };
  CHECK(asks("alice") == Refusal::none);
  CHECK(asks("bob") == Refusal::none);
  CHECK(asks("bob") == Refusal::quota);
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
