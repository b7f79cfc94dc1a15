#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "src/ship/scan.h"

namespace skewscope::ship {
namespace {

// Of a file with these bytes.
std::string why_not(const std::string& bytes) {
  char name[] = "/tmp/skewscope_dump_XXXXXX";
  const int file = mkstemp(name);
  REQUIRE(file >= 0);
  REQUIRE(write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  std::string why = why_no_whole_dump(file);
  close(file);
  unlink(name);
  return why;
}

TEST_CASE("a dump is what PyTorch was told to write, and the rank behind it") {
  CHECK(rank_of_dump("/tmp/nccl_trace_rank_12", "/tmp/nccl_trace_rank_") == 12);
  CHECK(rank_of_dump("/dumps/_dump_0", "/dumps/_dump_") == 0);
  for (const char* other : {"/tmp/nccl_trace_rank_", "/tmp/nccl_trace_rank_1.json", "/tmp/nccl_trace_rank_-1",
                            "/tmp/nccl_trace_rank_x", "/tmp/other_12", "/tmp/nccl_trace_rank_99999999"}) {
    CHECK(rank_of_dump(other, "/tmp/nccl_trace_rank_") == std::nullopt);
  }
  CHECK(rank_of_dump("/tmp/nccl_trace_rank_12", "") == std::nullopt);
}

TEST_CASE("a pickle is whole with its STOP, JSON with its last brace") {
  CHECK(why_not(std::string("\x80\x02}q\x00.", 6)).empty());
  CHECK(why_not("{\"entries\": []}\n").empty());
  CHECK_FALSE(why_not("\x80\x02}q").empty());
  CHECK_FALSE(why_not("{\"entries\": [").empty());
  CHECK_FALSE(why_not("").empty());
}

TEST_CASE("a dump is kept under the minute since 1970 in which it was written") {
  FileStamp stamp;
  stamp.mtime_ns = int64_t{1'784'112'779} * 1'000'000'000;
  CHECK(minute_of(stamp) == 29'735'212);
}

}  // namespace
}  // namespace skewscope::ship
