#include "src/ship/http/reply.h"

#include <catch2/catch.hpp>
#include <random>

using namespace skewscope;
using namespace skewscope::ship;

namespace {

Reply read(const std::vector<std::string>& lines, const std::string& body = "") {
  ReplyReader reader;
  for (const std::string& line : lines) REQUIRE(reader.take_line(line + "\r\n"));
  REQUIRE(reader.take_body(body));
  return reader.reply();
}

}  // namespace

TEST_CASE("the answer after 100 Continue is the answer") {
  const Reply reply = read({"HTTP/1.1 100 Continue", "Upload-Offset: 1", "", "HTTP/1.1 204 No Content",
                            "upload-OFFSET:  42 ", "Upload-Length: 43", "Retry-After: 7", ""});
  CHECK(reply.status == 204);
  CHECK(reply.offset == 42);
  CHECK(reply.length == 43);
  CHECK(reply.retry_after == std::chrono::seconds(7));
  CHECK_FALSE(reply.digest);
}

TEST_CASE("an answer names a run of the job's name as the gatherer has it or none") {
  const auto job = [](const std::string& text) { return read({"HTTP/1.1 201 Created", "skewscope-job: " + text}).job; };
  CHECK((job("train") == "train" && job("train~2") == "train~2"));
  for (const char* text : {"", "train~", "train~1", "../train", "a b", "train~2/x"}) CHECK(job(text).empty());
}

TEST_CASE("numbers that are none are not there") {
  for (const char* text : {"", "-1", "+1", " ", "1 2", "1,1", "0x10", "1e3", "18446744073709551616"}) {
    INFO(text);
    CHECK_FALSE(read({"HTTP/1.1 200 OK", std::string("Upload-Offset: ") + text}).offset);
  }
  for (const char* line : {"HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 20", "HTTP/1.1 2x0 OK", "HTTP/1.1 000 OK"}) {
    CHECK(read({line}).status == 0);
  }
  CHECK_FALSE(read({"HTTP/1.1 503 x", "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT"}).retry_after);
}

TEST_CASE("a digest counts only as the SHA-256 member of Repr-Digest") {
  const Digest digest = sha256("abc");
  CHECK(read({"HTTP/1.1 204 x", "Repr-Digest: " + repr_digest(digest)}).digest == digest);
  CHECK_FALSE(read({"HTTP/1.1 204 x", "Repr-Digest: sha-256=:AAAA:"}).digest);
  CHECK_FALSE(read({"HTTP/1.1 204 x", "Digest: " + repr_digest(digest)}).digest);
}

TEST_CASE("heads and bodies have an end") {
  ReplyReader reader;
  REQUIRE(reader.take_line("HTTP/1.1 200 OK\r\n"));
  int lines = 0;
  while (reader.take_line("X: " + std::string(100, 'x') + "\r\n")) REQUIRE(++lines < 1000);
  size_t bytes = 0;
  while (reader.take_body(std::string(1000, 'x'))) REQUIRE((bytes += 1000) <= kLargestBody);
}

TEST_CASE("the problem's detail is shown short and without control characters") {
  CHECK(read({"HTTP/1.1 409 x"}, R"({"title":"t","detail":"other\u001b[2J content"})").detail == "other?[2J content");
  CHECK(read({"HTTP/1.1 409 x"}, R"({"title":"only a title"})").detail == "only a title");
  CHECK(read({"HTTP/1.1 409 x"}, "{\"detail\":\"" + std::string(5000, 'a') + "\"}").detail.size() == 200);
  for (const std::string& body : {std::string(60'000, '['), std::string("[1]"), std::string("{\"detail\":3}"),
                                  std::string("\xff\xfe"), std::string()}) {
    CHECK(read({"HTTP/1.1 409 x"}, body).detail.empty());
  }
}

TEST_CASE("an upload lies on the gatherer that was asked, nowhere else") {
  const std::string base = "https://head:7475";
  CHECK(upload_path("/v1/uploads/1f", base) == "/v1/uploads/1f");
  CHECK(upload_path("https://head:7475/v1/uploads/1f", base) == "/v1/uploads/1f");
  for (const std::string& place :
       {std::string(""), std::string("/"), std::string("1f"), std::string("//other/x"),
        std::string("https://head:74751/x"), std::string("https://other/v1/uploads/1f"),
        std::string("http://head:7475/x"), std::string("https://head:7475@other/x"), std::string("/a b"),
        std::string("/a\r\nX: y"), std::string("/../x"), std::string("/a\0b", 4), "/" + std::string(600, 'a')}) {
    INFO(place);
    CHECK_FALSE(upload_path(place, base));
  }
}

TEST_CASE("no bytes break the reading of an answer") {
  std::mt19937 random(1);
  const std::vector<std::string> words = {
      "HTTP/1.1 ", "204",      ": ", "Upload-Offset",      "Repr-Digest", "sha-256=:",   "\r\n",
      "\xff",      "Location", "-",  std::string(1, '\0'), "Retry-After", "{\"detail\":"};
  for (int round = 0; round < 20'000; ++round) {
    ReplyReader reader;
    for (int line = 0; line < 4; ++line) {
      std::string text;
      for (auto words_left = random() % 6; words_left > 0; --words_left) text += words[random() % words.size()];
      reader.take_line(text);
      reader.take_body(text);
    }
    const Reply reply = reader.reply();
    REQUIRE((reply.status == 0 || (reply.status >= 100 && reply.status <= 999)));
  }
}
