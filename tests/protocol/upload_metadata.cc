#include <catch2/catch.hpp>

#include "skewscope/protocol/names.h"
#include "skewscope/protocol/upload_metadata.h"

namespace skewscope {
namespace {

std::string problem_of(const std::string& text) {
  const ParsedMetadata parsed = parse_upload_metadata(text);
  return parsed.problem == nullptr ? "" : parsed.problem;
}

std::string pair(const std::string& key, const std::string& value) { return key + " " + base64(value); }

TEST_CASE("metadata is read as it was written") {
  UploadMetadata sent;
  sent.job = "cluster-123.0.1";
  sent.capture = 2;
  sent.rank = 1016;
  sent.ranks = 8;
  sent.filename = "rank \"1023\", \xc3\xa9.json";
  sent.sha256 = sha256("abc");
  sent.world_size = 1024;
  sent.replace = true;
  sent.grows = true;
  const ParsedMetadata read = parse_upload_metadata(encode(sent));
  REQUIRE(read.problem == nullptr);
  CHECK(read.metadata.job == sent.job);
  CHECK(read.metadata.capture == 2);
  CHECK(read.metadata.rank == 1016);
  CHECK(read.metadata.ranks == 8);
  CHECK(read.metadata.filename == sent.filename);
  CHECK(read.metadata.sha256 == sent.sha256);
  CHECK(read.metadata.world_size == 1024);
  CHECK(read.metadata.replace);
  CHECK(read.metadata.grows);
}

TEST_CASE("keys that skewscope does not know are passed over, with or without a value") {
  CHECK(problem_of(pair("job", "j") + "," + pair("rank", "0") + ", is_confidential," + pair("mime", "x")) == "");
}

TEST_CASE("metadata that says nothing usable is refused, without being echoed") {
  const std::string good = pair("job", "j") + "," + pair("rank", "0");
  CHECK(problem_of("") == "job and rank are needed");
  CHECK(problem_of(pair("job", "j")) == "job and rank are needed");
  CHECK(problem_of(good + "," + pair("rank", "1")) == "a key is there twice");
  CHECK(problem_of(good + ",sha256 !!") == "a value is not base64");
  CHECK(problem_of(good + ",,") == "a key is empty");
  CHECK(problem_of(pair("job", "../x") + "," + pair("rank", "0")) == "job is no valid name");
  for (const char* rank : {"-1", "", "1.0", "1048576", "99999999999", "0x1", " 1"}) {
    INFO(rank);
    CHECK(problem_of(pair("job", "j") + "," + pair("rank", rank)) == "rank is no valid number");
  }
  CHECK(problem_of(good + "," + pair("world_size", "0")) == "world_size is no valid number");
  CHECK(problem_of(good + "," + pair("ranks", "0")) == "ranks is no valid number");
  CHECK(problem_of(pair("job", "j") + "," + pair("ranks", "9") + "," + pair("rank", "1048570")) ==
        "ranks is no valid number");
  CHECK(problem_of(good + "," + pair("capture", "100000000")) == "capture is no valid number");
  CHECK(problem_of(good + "," + pair("age", "-1")) == "age is no number of seconds");
  CHECK(problem_of(pair("job", "train~2") + "," + pair("rank", "0")) == "job is no valid name");
  CHECK(problem_of(good + "," + pair("sha256", "abc")) == "sha256 is not 64 hexadecimal digits");
  CHECK(problem_of(good + "," + pair("filename", std::string(256, 'x'))) == "filename is too long");
}

TEST_CASE("a name is a plain file name of at most 64 characters") {
  for (const char* name : {"a", "7", "job-1_2.3", "A.B"}) CHECK(is_name(name));
  for (const char* name : {"", ".", "..", ".a", "-a", "_a", "a..b", "a/b", "a b", "a%20", "\xc3\xa9", "a\n"}) {
    INFO(name);
    CHECK(!is_name(name));
  }
  CHECK(is_name(std::string(64, 'a')));
  CHECK(!is_name(std::string(65, 'a')));
}

TEST_CASE("a job is a name or a later run of one, which has no other spelling") {
  for (const char* job : {"a", "a~2", "job-1_2.3~10", "a~999999"}) CHECK(is_job(job));
  for (const char* job :
       {"", "~2", "a~", "a~0", "a~1", "a~02", "a~-2", "a~2x", "a~2~3", "a~1000000", "a..b~2", "a/b~2"}) {
    INFO(job);
    CHECK_FALSE(is_job(job));
  }
  CHECK_FALSE(is_name("a~2"));
  CHECK(is_job(run_of(std::string(64, 'a'), kMostRunNumber)));
  CHECK((run_of("a", 1) == "a" && run_of("a", 12) == "a~12"));
  CHECK((name_of_run("a~12") == "a" && name_of_run("a") == "a"));
  CHECK((number_of_run("a~12") == 12 && number_of_run("a") == 1));
}

TEST_CASE("the first bytes of a file say what it is called") {
  CHECK(std::string(suffix_of_content("\x1f\x8b\x08")) == ".json.gz");
  CHECK(std::string(suffix_of_content("\x28\xb5\x2f\xfd")) == ".json.zst");
  CHECK(std::string(suffix_of_content("\x89skew")) == ".digest");
  CHECK(std::string(suffix_of_content("{\"traceEvents\"")) == ".json");
  CHECK(std::string(suffix_of_content("")) == ".json");
  CHECK(std::string(suffix_of_content("SQLite format 3")) == ".sqlite");
  CHECK(std::string(suffix_of_content("\n\x0f\x12\x04")) == ".xplane.pb");
  CHECK(std::string(suffix_of_content("\n\x0f\x40\x04")) == ".pftrace");
  CHECK(std::string(suffix_of_content("\n\x81\x02\x32")) == ".pftrace");  // 257 bytes, a snapshot of clocks
  CHECK(std::string(suffix_of_content("\n {\"")) == ".json");
  CHECK(std::string(suffix_of_content(" \n[{")) == ".json");
}

}  // namespace
}  // namespace skewscope
