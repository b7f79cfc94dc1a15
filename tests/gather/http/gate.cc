// What the gate lets through, and what it makes of it. What it refuses: malformed.cc.
#include "src/gather/http/gate.h"

#include <catch2/catch.hpp>

#include "head_lines.h"

namespace skewscope::gather {
namespace {

using Lines = std::vector<std::string_view>;

constexpr std::string_view kId = "0123456789abcdef0123456789abcdef";

Request admitted(Lines lines, Listener listener = Listener::main) {
  lines.emplace_back("Host: head.example:7475");
  const std::variant<Request, Refused> out = admit_lines(lines, listener);
  if (const Refused* refused = std::get_if<Refused>(&out)) FAIL(refused->status << " " << refused->reason);
  return std::get<Request>(out);
}

Refused refused(Lines lines, Listener listener = Listener::main) {
  lines.emplace_back("Host: head.example:7475");
  const std::variant<Request, Refused> out = admit_lines(lines, listener);
  return std::holds_alternative<Refused>(out) ? std::get<Refused>(out) : Refused{0, "admitted", {}};
}

std::string upload_line(std::string_view method) {
  return std::string(method) + " /v1/uploads/" + std::string(kId) + " HTTP/1.1";
}

TEST_CASE("every address of the API leads to its endpoint") {
  const std::vector<std::pair<std::string_view, Endpoint>> addresses = {
      {"OPTIONS /v1/uploads", Endpoint::upload_options},
      {"POST /v1/tokens", Endpoint::tokens},
      {"GET /v1/jobs", Endpoint::job_list},
      {"GET /v1/jobs/j", Endpoint::job_get},
      {"DELETE /v1/jobs/j", Endpoint::job_delete},
      {"POST /v1/jobs/j/end", Endpoint::job_end},
      {"POST /v1/jobs/j/revoke", Endpoint::job_revoke},
      {"GET /v1/jobs/j/ranks/7", Endpoint::rank_get},
      {"GET /v1/jobs/j/report", Endpoint::report},
      {"GET /v1/jobs/j/report.json", Endpoint::report},
      {"GET /v1/jobs/j/report/3.html", Endpoint::report},
      {"GET /v1/jobs/j/report.log", Endpoint::report},
      {"GET /v1/jobs/j/report/files/summary.txt", Endpoint::report_file},
      {"GET /v1/jobs/j/report/files/tables/rank_steps.csv", Endpoint::report_file},
      {"GET /v1/jobs/j/hang.html", Endpoint::report},
      {"GET /v1/jobs/j/captures/0/report.html", Endpoint::report},
      {"GET /v1/jobs/j/captures/12/report/files/tables/ranks.csv", Endpoint::report_file},
      {"GET /v1/nodes", Endpoint::nodes},
      {"GET /v1/history?job=j&limit=5", Endpoint::history},
      {"GET /nodes", Endpoint::page_nodes},
      {"GET /login", Endpoint::login},
      {"GET /", Endpoint::page_jobs},
      {"GET /jobs/j", Endpoint::page_job},
  };
  for (const auto& [address, endpoint] : addresses) {
    INFO(address);
    CHECK(admitted({std::string(address) + " HTTP/1.1"}).endpoint == endpoint);
  }
}

TEST_CASE("path, query and fields of a request arrive as they were meant") {
  const Request put = admitted({"PUT /v1/jobs/cluster-12.0.1/ranks/1023?capture=2&filename=a%20b.json HTTP/1.1",
                                "content-LENGTH: 5000000000", "Expect: 100-Continue", "Authorization: Bearer ss1.a.b",
                                "Repr-Digest: sha-256=:AA==:"});
  CHECK(put.endpoint == Endpoint::rank_put);
  CHECK(put.job == "cluster-12.0.1");
  CHECK(put.rank == 1023);
  CHECK(put.capture == 2);
  CHECK(put.query.at(1) == std::pair<std::string, std::string>("filename", "a b.json"));
  CHECK(put.content_length == 5000000000);
  CHECK(put.expects_continue);
  CHECK(put.authorization_scheme == "bearer");
  CHECK(put.bearer == "ss1.a.b");
  CHECK(put.repr_digest == "sha-256=:AA==:");
  CHECK(put.host == "head.example:7475");

  const Request capture = admitted({"GET /v1/jobs/j/captures/12/report.json HTTP/1.1"});
  CHECK(capture.within == "captures/c0012/");
  CHECK(capture.suffix == ".json");
  for (const std::string_view other : {"captures/12/hang.json", "captures/12/report.log", "captures/-1/report.json",
                                       "captures/10000/report.json", "captures/c0001/report.json"}) {
    INFO(other);
    CHECK(refused({"GET /v1/jobs/j/" + std::string(other) + " HTTP/1.1"}).status == 404);
  }

  const Request report = admitted({"GET /v1/jobs/j/report/12.html HTTP/1.1"});
  CHECK(report.generation == 12);
  CHECK(report.suffix == ".html");
  CHECK(admitted({"GET /v1/jobs/j/report.json HTTP/1.1"}).generation == 0);
}

TEST_CASE("a later run of a name is a job that is read and deleted and no file is sent to it by that name") {
  for (const char* line : {"GET /v1/jobs/j~2", "GET /v1/jobs/j~2/report.html", "GET /v1/jobs/j~2/ranks/0",
                           "DELETE /v1/jobs/j~2", "POST /v1/jobs/j~2/report", "GET /jobs/j~2", "GET /jobs/j%7E2"}) {
    INFO(line);
    CHECK(admitted({std::string(line) + " HTTP/1.1"}).job == "j~2");
  }
  CHECK(refused({"PUT /v1/jobs/j~2/ranks/0 HTTP/1.1", "Content-Length: 1"}).status == 400);
  for (const char* line : {"GET /v1/jobs/j~1", "GET /v1/jobs/j~02", "GET /v1/jobs/~2", "GET /v1/jobs/j~2~3"}) {
    INFO(line);
    CHECK(refused({std::string(line) + " HTTP/1.1"}).status == 400);
  }
  CHECK(admitted({"GET /v1/history?job=j~2 HTTP/1.1"}).query.at(0).second == "j~2");
  CHECK(admitted({"PUT /v1/jobs/j/ranks/0?age=12 HTTP/1.1", "Content-Length: 1"}).query.at(0).second == "12");
}

TEST_CASE("of a report's folder no address names what is not on the list of its files") {
  for (const char* path : {"index.html", "log", "COMPLETE", "tables", "tables/ranks", "tables/.csv", "tables/Ranks.csv",
                           "tables/summary.txt", "ranks.csv", "hang/hang.json", "tables/a/b.csv"}) {
    INFO(path);
    CHECK(refused({std::string("GET /v1/jobs/j/report/files/") + path + " HTTP/1.1"}).status == 404);
  }
  CHECK(admitted({"GET /v1/jobs/j/report/files/tables/ranks.csv HTTP/1.1"}).file == "tables/ranks.csv");
}

TEST_CASE("the search of jobs is read as a form writes it, and its empty fields ask for nothing") {
  const Request request = admitted({"GET /?q=a+b%2Bc%26&state=&owner=1000&since=2026-02-28&page=2 HTTP/1.1"});
  CHECK(request.query == std::vector<std::pair<std::string, std::string>>{
                             {"q", "a b+c&"}, {"owner", "1000"}, {"since", "2026-02-28"}, {"page", "2"}});
  for (const char* owner : {"alice", "alice.b-c_1", "4ever", "alice%40site.example", "SITE%5calice"}) {
    CHECK(admitted({std::string("GET /v1/jobs?owner=") + owner + " HTTP/1.1"}).query.size() == 1);
  }
  for (const char* query : {"q=%0a", "owner=-1", "owner=4294967296", "owner=a%20b", "owner=a:b", "owner=a%2fb",
                            "owner=%c3%a4", "page=0", "since=2026-02-30", "node=..%2f", "x="}) {
    INFO(query);
    CHECK(refused({std::string("GET /?") + query + " HTTP/1.1"}).status == 400);
  }
}

TEST_CASE("an escape in a path means the character it stands for") {
  CHECK(admitted({"GET /v1/%6aobs/%6A%2Db HTTP/1.1"}).job == "j-b");
}

TEST_CASE("a PATCH of tus is let through, and so is a POST that stands for it") {
  const std::string patch = upload_line("PATCH"), post = upload_line("POST");
  const Lines fields = {"Tus-Resumable: 1.0.0", "Upload-Offset: 0", "Content-Length: 0",
                        "Content-Type: application/offset+octet-stream"};
  for (const std::string& line : {patch, post}) {
    Lines lines = fields;
    lines.insert(lines.begin(), line);
    if (line == post) lines.emplace_back("X-HTTP-Method-Override: PATCH");
    const Request request = admitted(lines);
    CHECK(request.endpoint == Endpoint::upload_patch);
    CHECK(request.method == Method::patch);
    CHECK(request.upload_id == kId);
    CHECK(request.upload_offset == "0");
  }
}

TEST_CASE("a creation may carry the first bytes of the file") {
  const Request request = admitted({"POST /v1/uploads HTTP/1.1", "Tus-Resumable: 1.0.0", "Upload-Length: 10",
                                    "Content-Length: 4", "Content-Type: application/offset+octet-stream"});
  CHECK(request.endpoint == Endpoint::upload_create);
  CHECK(request.content_length == 4);
  CHECK(
      refused({"POST /v1/uploads HTTP/1.1", "Tus-Resumable: 1.0.0", "Upload-Length: 10", "Content-Length: 4"}).status ==
      415);
}

TEST_CASE("a connection stays open after HTTP/1.1 unless it says close, and never after HTTP/1.0") {
  CHECK(admitted({"GET / HTTP/1.1"}).keep_alive);
  CHECK(admitted({"GET / HTTP/1.1", "Connection: Keep-Alive"}).keep_alive);
  CHECK(!admitted({"GET / HTTP/1.1", "Connection: close"}).keep_alive);
  CHECK(!admitted({"GET / HTTP/1.0", "Connection: keep-alive"}).keep_alive);
  CHECK(!admitted({"GET / HTTP/1.0", "Expect: 100-continue"}).expects_continue);
}

TEST_CASE("a wrong method is told which ones there are") {
  const Refused answer = refused({upload_line("PUT")});
  CHECK(answer.status == 405);
  REQUIRE(answer.fields.size() == 1);
  CHECK(answer.fields[0].first == std::string("Allow"));
  CHECK(answer.fields[0].second == "HEAD, PATCH, DELETE");
}

TEST_CASE("another version of tus is told which one there is; OPTIONS asks without one") {
  const Refused answer = refused({upload_line("HEAD"), "Tus-Resumable: 0.2.2"});
  CHECK(answer.status == 412);
  REQUIRE(answer.fields.size() == 2);
  CHECK(answer.fields[0].first == std::string("Tus-Version"));
  CHECK(answer.fields[0].second == "1.0.0");
  CHECK(answer.fields[1].first == std::string("Tus-Resumable"));
  CHECK(admitted({"OPTIONS /v1/uploads HTTP/1.1"}).endpoint == Endpoint::upload_options);
}

TEST_CASE("a refusal of what tus asks for says which tus speaks") {
  const Refused answer = refused({upload_line("PATCH"), "Tus-Resumable: 1.0.0", "Content-Length: 1"});
  CHECK(answer.status == 400);
  REQUIRE(answer.fields.size() == 1);
  CHECK(answer.fields[0].first == std::string("Tus-Resumable"));
  CHECK(refused({"GET /v1/jobs HTTP/1.1", "Content-Length: 1"}).fields.empty());
}

TEST_CASE("where there is a GET there is a HEAD") {
  CHECK(admitted({"HEAD /v1/jobs/j/ranks/7 HTTP/1.1"}).endpoint == Endpoint::rank_get);
  CHECK(admitted({"HEAD / HTTP/1.1"}).endpoint == Endpoint::page_jobs);
  const Refused answer = refused({"PATCH /v1/jobs/j HTTP/1.1", "Content-Length: 0"});
  REQUIRE(answer.fields.size() == 1);
  CHECK(answer.fields[0].second == "PUT, GET, HEAD, DELETE");
}

TEST_CASE("a target in the form that proxies get is taken, and its authority counts as Host") {
  const Request request = admitted({"GET http://other.example:80/v1/jobs?state=ended HTTP/1.1"});
  CHECK(request.endpoint == Endpoint::job_list);
  CHECK(request.host == "other.example:80");
  CHECK(admitted({"GET HTTPS://head.example HTTP/1.1"}).endpoint == Endpoint::page_jobs);
}

TEST_CASE("the admin listener knows three addresses, the main one none of them") {
  for (const std::string path : {"/metrics", "/-/healthy", "/-/ready"}) {
    INFO(path);
    CHECK(admitted({"GET " + path + " HTTP/1.1"}, Listener::admin).method == Method::get);
    CHECK(admitted({"HEAD " + path + " HTTP/1.1"}, Listener::admin).method == Method::head);
    CHECK(refused({"POST " + path + " HTTP/1.1"}, Listener::admin).status == 405);
    CHECK(refused({"GET " + path + " HTTP/1.1"}).status == 404);
  }
  CHECK(refused({"GET /v1/jobs HTTP/1.1"}, Listener::admin).status == 404);
}

TEST_CASE("a control character that a parser let through is refused in fields that nobody reads, too") {
  for (const std::string value : {"a\nb", "a\rb", "a\tb", "a\x7f", "\x01"}) {
    RawHead head = head_of({"GET / HTTP/1.1", "Host: h"});
    head.fields.emplace_back("X-Unknown", value);
    CHECK(std::get<Refused>(admit(head, Listener::main)).status == 400);
  }
  RawHead head = head_of({"GET / HTTP/1.1", "Host: h"});
  head.fields.emplace_back("X-Unknown", "caf\xc3\xa9");
  CHECK(std::holds_alternative<Request>(admit(head, Listener::main)));
}

TEST_CASE("a folded field is refused before a parser joins it") {
  CHECK(!refuse_bytes("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  CHECK(refuse_bytes("GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n")->reason == std::string("a field is folded"));
  CHECK(refuse_bytes("GET / HTTP/1.1\r\nHost: a\n\r\n\r\n")->status == 400);
  CHECK(refuse_bytes("GET / HTTP/1.1\r\nHost: a\r\n")->reason == std::string("the head has no end"));
  CHECK(refuse_bytes("GET / HTTP/1.1\r\n\r\nX: a\r\n\r\n")->status == 400);
  CHECK(refuse_bytes("GET / HTTP/1.1\r\nX: " + std::string(9000, 'a') + "\r\n\r\n")->status == 431);
}

}  // namespace
}  // namespace skewscope::gather
