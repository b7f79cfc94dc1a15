// Users whom a proxy has signed on: alice is user 1000, root is root, and the directory of "slow" does not answer.
#include "src/gather/endpoints/sign_on.h"

#include <catch2/catch.hpp>
#include <thread>

#include "src/gather/http/gate.h"

namespace skewscope::gather {
namespace {

NssAnswer people(const std::string& key) {
  if (key == "alice") return {false, NssUser{1000, "alice"}};
  if (key == "alice@site.example") return {false, NssUser{1001, "alice@site.example"}};
  if (key == "root") return {false, NssUser{0, "root"}};
  if (key == "minus1") return {false, NssUser{UINT32_MAX, "minus1"}};
  return {key == "away", {}};
}

struct Proxy {
  UserNames users{people};
  GatherOptions options;

  Admitted answer(const std::string& field, Endpoint endpoint = Endpoint::job_list) const {
    Call call;
    call.proxy = true;
    call.request.user = field;
    call.request.endpoint = endpoint;
    Admitted who = signed_on(call, options, users);
    while (std::holds_alternative<NotKnownYet>(who)) {
      std::this_thread::yield();
      who = signed_on(call, options, users);
    }
    return who;
  }
  // The token's job of who is let in, else the status.
  std::string who(const std::string& field) const {
    const Admitted admitted = answer(field);
    if (const auto* refusal = std::get_if<Response>(&admitted)) return std::to_string(refusal->status);
    const TokenPayload token = std::get<Caller>(admitted).token.value();
    CHECK(token.scopes == kRead);
    return token.job;
  }
};

TEST_CASE("a user of NSS whom the proxy names may read his jobs, and nobody else gets in") {
  const Proxy proxy;
  CHECK(proxy.who("alice") == "@1000");
  CHECK(proxy.who("alice@site.example") == "@1001");  // is a name in NSS
  for (const char* nobody : {"", "bob", "Alice", "alice ", " alice", "alice,bob", "root", "minus1", "1000", "@1000",
                             "*", "4294968296", "alice@other.example", "../alice", "alice:x"}) {
    INFO(nobody);
    CHECK(proxy.who(nobody) == "403");
  }
  CHECK(proxy.who("away") == "503");
}

TEST_CASE("an operator whom the proxy names may read every job") {
  Proxy proxy;
  proxy.options.operators = {"carol", "alice", "root"};
  CHECK(proxy.who("alice") == "*");
  CHECK(proxy.who("alice@site.example") == "@1001");
  CHECK(proxy.who("root") == "403");
  CHECK(proxy.who("carol") == "403");  // is no user
}

TEST_CASE("an address names a user where its domain is that of the option, and nobody in any other") {
  CHECK(user_named("alice@Site.Example", "site.example") == "alice");
  CHECK(user_named("alice", "site.example") == "alice");
  CHECK(user_named("alice@site.example", "") == "alice@site.example");
  for (const char* other : {"alice@evil.example", "alice@site.example.evil", "alice@",
                            "alice@site.example@evil.example", "@site.example"}) {
    INFO(other);
    CHECK(user_named(other, "site.example").empty());
  }
}

TEST_CASE("a browser is shown why its user is not let in, as text") {
  const Proxy proxy;
  const auto page = std::get<Response>(proxy.answer("<script>", Endpoint::page_jobs));
  CHECK(page.status == 403);
  CHECK(page.body.find("Signed in as &lt;script&gt;.") != std::string::npos);
  CHECK(page.body.find("<script") == std::string::npos);
}

TEST_CASE(
    "the proxy's field names the user on its socket alone, once, and nothing else of the browser's counts there") {
  const auto gate = [](const RawHead& head, std::string_view user_header) {
    return admit(head, Listener::main, user_header);
  };
  RawHead head{"GET", "/", 11, {{"Host", "head"}, {"x-forwarded-USER", "alice"}, {"X-Forwarded-For", "10.0.0.9"}}};
  CHECK(std::get<Request>(gate(head, "X-Forwarded-User")).user == "alice");
  CHECK(std::get<Request>(gate(head, "X-Forwarded-User")).forwarded_for == "10.0.0.9");
  CHECK(std::get<Request>(gate(head, "Remote-User")).user.empty());
  CHECK(std::get<Request>(gate(head, "")).user.empty());
  CHECK(std::get<Request>(gate(head, "")).forwarded_for.empty());
  head.fields.insert(head.fields.end(), {{"Authorization", "Negotiate a b c"}, {"Cookie", "x=y"}, {"TE", "trailers"}});
  const Request request = std::get<Request>(gate(head, "X-Forwarded-User"));
  CHECK(request.authorization_scheme.empty());
  CHECK(request.cookie.empty());
  head.fields.emplace_back("X-Forwarded-User", "bob");
  CHECK(std::get<Refused>(gate(head, "X-Forwarded-User")).status == 400);
  const RawHead foreign{"GET", "/", 11, {{"Host", "head"}, {"X-Forwarded-User", "\xc3\xa4"}}};
  CHECK(std::get<Refused>(gate(foreign, "X-Forwarded-User")).status == 400);
}

}  // namespace
}  // namespace skewscope::gather
