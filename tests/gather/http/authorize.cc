// Every endpoint with every credential. Requests go through the gate and are about job A, which user 1000 owns, whose
// tokens of epoch 0 were revoked, and which runs on node n1; job B is somebody else's.
#include "src/gather/http/authorize.h"

#include <catch2/catch.hpp>

#include "head_lines.h"
#include "skewscope/protocol/sha256.h"

namespace skewscope::gather {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using std::chrono::sys_seconds;

const sys_seconds kAskedAt{seconds(1790000000)};
const std::string kSigningKey(32, 'n'), kSecondKey(32, 'o'), kRetiredKey(32, 'r');
const TokenKeys kKeys = TokenKeys::from({kSigningKey, kSecondKey});
const JobFacts kJobA{1, true, 1000, {"n0", "n1"}, false}, kJobB{0, true, 2000, {"n7"}, false},
    kDeletedA{1, false, 0, {}, false}, kNobodys{0, true, 0, {"n0"}, false}, kJobC{0, true, 9000, {}, false};

std::string token(const std::string& job, unsigned scopes, uint32_t epoch = 1, seconds life = hours(1),
                  const std::string& key = kSigningKey) {
  return TokenKeys::from({key}).mint({job, scopes, 1000, kAskedAt + life, epoch});
}

std::string users_token(uint32_t uid, unsigned scopes) {
  return kKeys.mint({"@" + std::to_string(uid), scopes, uid, kAskedAt + hours(1), 0});
}

// The first character from which it differs is in the signature.
std::string forged(std::string text) {
  char& last = text[text.size() - 10];
  last = last == 'A' ? 'B' : 'A';
  return text;
}

struct Credential {
  const char* name;
  std::string authorization, cookie;
  std::optional<MungeIdentity> munge;
  std::string node;
  bool insecure_local = false;
  std::string expected = "";  // one letter per endpoint, in the order of kEndpoints
  std::optional<TokenPayload> proxied = {};
};

Credential bearer(const char* name, const std::string& text, const std::string& expected) {
  return {name, "Bearer " + text, "", {}, "", false, expected};
}
Credential cookie(const char* name, const std::string& text, const std::string& expected) {
  return {name, "", text, {}, "", false, expected};
}
Credential munge(const char* name, uint32_t uid, const std::string& job, const std::string& node,
                 const std::string& expected) {
  return {name, "MUNGE MUNGE:AAAA:", "", MungeIdentity{uid, job}, node, false, expected};
}

Credential proxied(const char* name, uint32_t uid, bool is_operator, const std::string& expected) {
  return {name, "", "", {}, "", false, expected, payload_of_signed_on(uid, is_operator)};
}

struct Question {
  const char* line;
  const char* job;
  std::vector<std::string_view> fields = {};
};

const std::vector<std::string_view> kTus = {"Tus-Resumable: 1.0.0"};
const std::vector<Question> kEndpoints = {
    {"OPTIONS /v1/uploads", "", {}},
    {"GET /login", "", {}},
    {"POST /login", "", {"Content-Length: 9", "Content-Type: application/x-www-form-urlencoded"}},

    {"POST /v1/tokens", "A", {}},
    {"POST /v1/jobs/A/revoke", "A", {}},
    {"DELETE /v1/jobs/A", "A", {}},

    {"POST /v1/uploads", "A", {"Tus-Resumable: 1.0.0", "Upload-Length: 5"}},
    {"HEAD /v1/uploads/0123456789abcdef0123456789abcdef", "A", kTus},
    {"PATCH /v1/uploads/0123456789abcdef0123456789abcdef",
     "A",
     {"Tus-Resumable: 1.0.0", "Upload-Offset: 0", "Content-Length: 5",
      "Content-Type: application/offset+octet-stream"}},
    {"DELETE /v1/uploads/0123456789abcdef0123456789abcdef", "A", kTus},
    {"PUT /v1/jobs/A/ranks/0", "A", {"Content-Length: 5"}},
    {"PUT /v1/jobs/A", "A", {"Content-Length: 2"}},
    {"POST /v1/jobs/A/end", "A", {}},
    {"POST /v1/jobs/A/report", "A", {}},

    {"GET /v1/jobs/A", "A", {}},
    {"GET /v1/jobs/A/ranks/0", "A", {}},
    {"GET /v1/jobs/A/report.json", "A", {}},
    {"GET /v1/jobs", "", {}},

    {"GET /v1/jobs/A/report.html", "A", {}},
    {"GET /v1/jobs/A/report.log", "A", {}},
    {"GET /v1/jobs/A/report/files/summary.txt", "A", {}},
    {"GET /jobs/A", "A", {}},
    {"GET /", "", {}},

    {"GET /v1/nodes", "", {}},
    {"GET /v1/history?job=A", "", {}},
    {"GET /nodes", "", {}},
};

const std::string kUploadA = token("A", kUpload), kReadA = token("A", kRead), kBothA = token("A", kUpload | kRead),
                  kReadB = token("B", kRead);

// + allowed, a 401 (authenticate), f 403 (scope missing), - 404 (no such job).
//   open, tokens revoke delete, uploads rank_put job_put end report_again, job_get rank_get report list,
//   report.html report.log report_file page_job page_jobs, nodes history page_nodes
const std::vector<Credential> kCredentials = {
    {"nothing", "", "", {}, "", false, "+++ aaa aaaaaaaa aaaa aaaaa aaa"},
    {"--insecure-local", "", "", {}, "", true, "+++ +++ ++++++++ ++++ +++++ +++"},
    bearer("no token", "", "+++ aaa aaaaaaaa aaaa aaaaa aaa"),
    bearer("some text", "ss1.e30.AAAA", "+++ aaa aaaaaaaa aaaa aaaaa aaa"),
    bearer("a forged signature", forged(kBothA), "+++ aaa aaaaaaaa aaaa aaaaa aaa"),
    bearer("half a token", kBothA.substr(0, kBothA.size() / 2), "+++ aaa aaaaaaaa aaaa aaaaa aaa"),
    bearer("an expired token", token("A", kUpload | kRead, 1, seconds(0)), "+++ aaa aaaaaaaa aaaa aaaaa aaa"),
    bearer("a retired key", token("A", kAdmin, 1, hours(1), kRetiredKey), "+++ aaa aaaaaaaa aaaa aaaaa aaa"),
    bearer("a revoked token", token("A", kUpload | kRead, 0), "+++ aaa aaaaaaaa aaa+ aaaa+ fff"),
    bearer("a revoked admin of A", token("A", kAdmin, 0), "+++ aaa aaaaaaaa aaa+ aaaa+ fff"),
    bearer("A: upload", kUploadA, "+++ fff ++++++++ ffff fffff fff"),
    bearer("A: read", kReadA, "+++ fff ffffffff ++++ +++++ fff"),
    bearer("A: upload, read", kBothA, "+++ fff ++++++++ ++++ +++++ fff"),
    bearer("A: admin", token("A", kAdmin), "+++ +++ ++++++++ ++++ +++++ fff"),
    bearer("A: upload, signed with the key before", token("A", kUpload, 1, hours(1), kSecondKey),
           "+++ fff ++++++++ ffff fffff fff"),
    bearer("A: a later epoch", token("A", kUpload | kRead, 2), "+++ fff ++++++++ ++++ +++++ fff"),
    bearer("B: upload, read", token("B", kUpload | kRead), "+++ --- -------- ---+ ----+ fff"),
    bearer("B: admin", token("B", kAdmin), "+++ --- -------- ---+ ----+ fff"),
    bearer("a: upload, read (names keep their case)", token("a", kUpload | kRead), "+++ --- -------- ---+ ----+ fff"),
    bearer("every job: admin", token("*", kAdmin, 0), "+++ +++ ++++++++ ++++ +++++ +++"),
    bearer("every job: read", token("*", kRead, 0), "+++ fff ffffffff ++++ +++++ +++"),
    {"another scheme", "Basic " + kBothA, "", {}, "", false, "+++ aaa aaaaaaaa aaaa aaaaa aaa"},
    {"a token as MUNGE", "MUNGE " + kBothA, "", {}, "", false, "+++ aaa aaaaaaaa aaaa aaaaa aaa"},
    cookie("cookie of A", "__Host-skewscope=" + kReadA, "+++ aaa aaaaaaaa aaaa +++++ aaf"),
    cookie("cookie of A among others", "a=b; __Host-skewscope=" + kReadA + "; c=d", "+++ aaa aaaaaaaa aaaa +++++ aaf"),
    cookie("cookie of B", "__Host-skewscope=" + kReadB, "+++ aaa aaaaaaaa aaaa ----+ aaf"),
    cookie("cookie that may only upload", "__Host-skewscope=" + kUploadA, "+++ aaa aaaaaaaa aaaa fffff aaf"),
    cookie("cookie of an admin", "__Host-skewscope=" + token("*", kAdmin), "+++ aaa aaaaaaaa aaaa +++++ aa+"),
    cookie("forged cookie", "__Host-skewscope=" + forged(kReadA), "+++ aaa aaaaaaaa aaaa aaaaa aaa"),
    cookie("cookie twice", "__Host-skewscope=" + kReadA + "; __Host-skewscope=" + kReadA,
           "+++ aaa aaaaaaaa aaaa aaaaa aaa"),
    cookie("cookie of another name", "skewscope=" + kReadA, "+++ aaa aaaaaaaa aaaa aaaaa aaa"),
    {"forged bearer, good cookie",
     "Bearer " + forged(kBothA),
     "__Host-skewscope=" + kReadA,
     {},
     "",
     false,
     "+++ aaa aaaaaaaa aaaa aaaaa aaa"},
    {"bearer of B, cookie of A",
     "Bearer " + kReadB,
     "__Host-skewscope=" + kReadA,
     {},
     "",
     false,
     "+++ --- -------- ---+ ----+ fff"},
    munge("the owner", 1000, "A", "", "+++ +aa aaaaaaaa aaaa aaaaa aaa"),
    munge("the owner, for job B", 1000, "B", "", "+++ -aa aaaaaaaa aaaa aaaaa aaa"),
    munge("another user", 2000, "A", "", "+++ -aa aaaaaaaa aaaa aaaaa aaa"),
    munge("another user on a node of A", 2000, "A", "n1", "+++ -aa aaaaaaaa aaaa aaaaa aaa"),
    munge("root", 0, "A", "", "+++ -aa aaaaaaaa aaaa aaaaa aaa"),
    munge("root of a node of A", 0, "A", "n1", "+++ +aa aaaaaaaa aaaa aaaaa aaa"),
    munge("root of a node of B", 0, "A", "n7", "+++ -aa aaaaaaaa aaaa aaaaa aaa"),
    {"certificate of a node of A, which its users can read",
     "",
     "",
     {},
     "n1",
     false,
     "+++ aaa aaaaaaaa aaaa aaaaa aaa"},
    {"certificate of a node of B", "", "", {}, "n7", false, "+++ aaa aaaaaaaa aaaa aaaaa aaa"},
    {"certificate of a node of A, token of B",
     "Bearer " + kReadB,
     "",
     {},
     "n1",
     false,
     "+++ --- -------- ---+ ----+ fff"},
    {"certificate of a node of A, upload token",
     "Bearer " + kUploadA,
     "",
     {},
     "n1",
     false,
     "+++ fff ++++++++ ffff fffff fff"},
};

// Tokens of users; the rows are of job A, which is user 1000's.
const std::vector<Credential> kUsers = {
    bearer("user 1000: upload, read", users_token(1000, kUpload | kRead), "+++ fff ++++++++ ++++ +++++ f+f"),
    bearer("user 1000: read", users_token(1000, kRead), "+++ fff ffffffff ++++ +++++ f+f"),
    bearer("user 1000: upload", users_token(1000, kUpload), "+++ fff ++++++++ ffff fffff fff"),
    bearer("user 2000: upload, read", users_token(2000, kUpload | kRead), "+++ --- -------- ---+ ----+ f+f"),
    cookie("cookie of user 1000", "__Host-skewscope=" + users_token(1000, kRead), "+++ aaa aaaaaaaa aaaa +++++ aaf"),
    cookie("cookie of user 2000", "__Host-skewscope=" + users_token(2000, kRead), "+++ aaa aaaaaaaa aaaa ----+ aaf"),
    bearer("user 0, who is root and owns what nobody owns", users_token(0, kRead), "+++ aaa aaaaaaaa aaaa aaaaa aaa"),
    bearer("user 4294967295, who is nobody", users_token(UINT32_MAX, kRead), "+++ aaa aaaaaaaa aaaa aaaaa aaa"),
    bearer("user 1000: admin", users_token(1000, kAdmin), "+++ aaa aaaaaaaa aaaa aaaaa aaa"),
    bearer("user 1000: read, admin", users_token(1000, kRead | kAdmin), "+++ aaa aaaaaaaa aaaa aaaaa aaa"),
    bearer("the jobs of 2000 for user 1000", token("@2000", kRead), "+++ aaa aaaaaaaa aaaa aaaaa aaa"),
    bearer("a uid with a zero before it", token("@01000", kRead), "+++ aaa aaaaaaaa aaaa aaaaa aaa"),
    bearer("a uid that 32 bits cut to 1000", token("@4294968296", kRead), "+++ aaa aaaaaaaa aaaa aaaaa aaa"),
    bearer("no uid", token("@", kRead), "+++ aaa aaaaaaaa aaaa aaaaa aaa"),
    munge("user 1000, for a token of his own", 1000, "@", "", "+++ -aa aaaaaaaa aaaa aaaaa aaa"),
    proxied("user 1000 by the proxy", 1000, false, "+++ fff ffffffff ++++ +++++ f+f"),
    proxied("user 2000 by the proxy", 2000, false, "+++ --- -------- ---+ ----+ f+f"),
    proxied("an operator by the proxy", 3000, true, "+++ fff ffffffff ++++ +++++ +++"),
};

struct Asked {
  Request request;
  Caller caller;
};

Asked ask(const Question& question, const Credential& credential) {
  const std::string line = std::string(question.line) + " HTTP/1.1",
                    authorization = "Authorization: " + credential.authorization,
                    cookies = "Cookie: " + credential.cookie;
  std::vector<std::string_view> lines = {line, "Host: head"};
  lines.insert(lines.end(), question.fields.begin(), question.fields.end());
  if (!credential.authorization.empty()) lines.emplace_back(authorization);
  if (!credential.cookie.empty()) lines.emplace_back(cookies);
  const std::variant<Request, Refused> admitted = admit_lines(lines);
  if (const Refused* refused = std::get_if<Refused>(&admitted)) FAIL(line << ": " << refused->reason);
  Asked out;
  out.request = std::get<Request>(admitted);
  out.caller = identify(out.request, kKeys, kAskedAt);
  out.caller.munge = credential.munge;
  out.caller.node = credential.node;
  out.caller.insecure_local = credential.insecure_local;
  if (credential.proxied) out.caller.token = credential.proxied;
  if (out.request.authorization_scheme == "munge" && !credential.munge) out.caller.failed = true;
  return out;
}

char letter(Decision decision) {
  switch (decision) {
    case Decision::allow:
      return '+';
    case Decision::unauthenticated:
      return 'a';
    case Decision::forbidden:
      return 'f';
    case Decision::unknown:
      return '-';
  }
  return '?';
}

std::string decisions(const Credential& credential, const JobFacts* known) {
  std::string out;
  for (size_t i = 0; i < kEndpoints.size(); ++i) {
    if (i == 3 || i == 6 || i == 14 || i == 18 || i == 23) out += ' ';
    const Asked asked = ask(kEndpoints[i], credential);
    const bool has_job = kEndpoints[i].job[0] != '\0';
    out += letter(authorize(asked.request, kEndpoints[i].job, has_job ? known : nullptr, asked.caller));
  }
  return out;
}

TEST_CASE("each credential may do at each endpoint what it should and nothing else") {
  CHECK(kCredentials.size() * kEndpoints.size() >= 500);
  for (const Credential& credential : kCredentials) {
    INFO(credential.name);
    CHECK(decisions(credential, &kJobA) == credential.expected);
  }
}

TEST_CASE("a user's token does in each of his jobs what its scopes say, and nothing in another") {
  for (const Credential& credential : kUsers) {
    INFO(credential.name);
    CHECK(decisions(credential, &kJobA) == credential.expected);
  }
}

TEST_CASE("the jobs of a user are those that are his when he asks") {
  const Credential user = bearer("", users_token(1000, kUpload | kRead), "");
  JobFacts job = kJobA;
  CHECK(decisions(user, &job) == "+++ fff ++++++++ ++++ +++++ f+f");
  job.owner_uid = 2000;
  CHECK(decisions(user, &job) == "+++ --- -------- ---+ ----+ f+f");
  CHECK(decisions(user, &kNobodys) == "+++ --- -------- ---+ ----+ f+f");
}

TEST_CASE("a user may make a job of a name that is free, and reads nothing of one that is not there") {
  for (const JobFacts* free : {static_cast<const JobFacts*>(nullptr), &kDeletedA}) {
    CHECK(decisions(bearer("", users_token(1000, kUpload | kRead), ""), free) == "+++ --- ++++++++ ---+ ----+ f+f");
    CHECK(decisions(bearer("", users_token(1000, kRead), ""), free) == "+++ --- ffffffff ---+ ----+ f+f");
    CHECK(decisions(proxied("", 1000, false, ""), free) == "+++ --- ffffffff ---+ ----+ f+f");
  }
}

TEST_CASE("a user gets his token by MUNGE, and root and holders of tokens get none") {
  const auto decision = [](const Credential& credential) {
    return letter(authorize(ask({"POST /v1/tokens", "", {}}, credential).request, kOwnJobs, nullptr,
                            ask({"POST /v1/tokens", "", {}}, credential).caller));
  };
  CHECK(decision(munge("", 1000, "@", "", "")) == '+');
  CHECK(decision(munge("", 1000, "A", "", "")) == 'f');
  CHECK(decision(munge("", 0, "@", "", "")) == 'f');
  CHECK(decision(munge("", 0, "@", "n1", "")) == 'f');
  CHECK(decision(bearer("", users_token(1000, kUpload | kRead), "")) == 'f');
  CHECK(decision(bearer("", token("*", kAdmin, 0), "")) == 'f');
  CHECK(decision(proxied("", 1000, true, "")) == 'f');
  CHECK(decision(cookie("", "__Host-skewscope=" + users_token(1000, kRead), "")) == 'a');
}

TEST_CASE("a caller is known by a credential that counts, and not beside one that does not") {
  Caller nobody, token, cookie, node, munge, both, local;
  token.token = cookie.cookie = both.cookie = TokenPayload{};
  node.node = "n1";
  munge.munge = MungeIdentity{1000, "a"};
  both.failed = true;
  local.insecure_local = true;
  CHECK_FALSE(is_known(nobody));
  CHECK(is_known(token));
  CHECK(is_known(cookie));
  CHECK(is_known(node));
  CHECK(is_known(munge));
  CHECK_FALSE(is_known(both));
  CHECK(is_known(local));
}

TEST_CASE("who may not see a job cannot tell whether it exists") {
  for (const Credential& credential : kCredentials) {
    INFO(credential.name);
    const std::string there = decisions(credential, &kJobA), absent = decisions(credential, nullptr);
    for (size_t i = 0; i < there.size(); ++i) {
      if (there[i] == '-') CHECK(absent[i] == '-');
    }
  }
  // A user, who may make jobs, learns by that that a name is taken, and by nothing else.
  for (const Credential& credential : kUsers) {
    INFO(credential.name);
    const std::string there = decisions(credential, &kJobC), absent = decisions(credential, nullptr);
    for (size_t i = std::string("+++ fff ++++++++").size(); i < there.size(); ++i) CHECK(there[i] == absent[i]);
  }
}

TEST_CASE("a job's own token may create the job, an identity alone may not") {
  CHECK(decisions(bearer("", kBothA, ""), nullptr) == "+++ fff ++++++++ ++++ +++++ fff");
  CHECK(decisions(munge("", 1000, "A", "n1", ""), nullptr) == "+++ -aa aaaaaaaa aaaa aaaaa aaa");
}

TEST_CASE("a job's token counts in the later runs of its name and in no other job") {
  const Credential of_a = bearer("", kBothA, ""), of_b = bearer("", token("B", kUpload | kRead), "");
  for (const std::string run : {"A~2", "A~17"}) {
    const std::string line = "GET /v1/jobs/" + run;
    const Question question{line.c_str(), "", {}};
    const Asked asked = ask(question, of_a), other = ask(question, of_b);
    CHECK(asked.request.job == run);
    CHECK(authorize(asked.request, run, &kJobA, asked.caller) == Decision::allow);
    CHECK(authorize(other.request, run, &kJobA, other.caller) == Decision::unknown);
    CHECK(authorize(asked.request, "A-1~2", &kJobA, asked.caller) == Decision::unknown);
  }
  const Asked revoked = ask({"GET /v1/jobs/A~2", "", {}}, bearer("", token("A", kUpload | kRead, 0), ""));
  CHECK(authorize(revoked.request, "A~2", &kJobA, revoked.caller) == Decision::unauthenticated);
}

TEST_CASE("a token of a deleted job may not make another job of its name") {
  CHECK(decisions(bearer("", token("A", kUpload | kRead, 0), ""), &kDeletedA) == "+++ aaa aaaaaaaa aaa+ aaaa+ fff");
  CHECK(decisions(bearer("", kBothA, ""), &kDeletedA) == "+++ fff ++++++++ ++++ +++++ fff");
  CHECK(decisions(munge("", 1000, "A", "n1", ""), &kDeletedA) == "+++ -aa aaaaaaaa aaaa aaaaa aaa");
}

TEST_CASE("root's credential alone gets no token, not even for a job that root owns") {
  const JobFacts of_root{0, true, 0, {"n1"}, false}, of_nobody{0, true, {}, {"n1"}, false};
  CHECK(decisions(munge("", 0, "A", "", ""), &of_root).substr(4, 1) == "-");
  CHECK(decisions(munge("", 0, "A", "n1", ""), &of_root).substr(4, 1) == "+");
  CHECK(decisions(munge("", 0, "A", "", ""), &of_nobody).substr(4, 1) == "-");
  CHECK(decisions(munge("", 1000, "A", "", ""), &of_nobody).substr(4, 1) == "-");
}

TEST_CASE("root of a job's node gets its token until the job ends, its owner afterwards, too") {
  JobFacts ended = kJobA;
  ended.ended = true;
  CHECK(decisions(munge("", 0, "A", "n1", ""), &kJobA).substr(4, 1) == "+");
  CHECK(decisions(munge("", 0, "A", "n1", ""), &ended).substr(4, 1) == "-");
  CHECK(decisions(munge("", 1000, "A", "", ""), &ended).substr(4, 1) == "+");
}

TEST_CASE("what lets a job be deleted sooner may be set by an admin of it alone") {
  const auto may = [](const Credential& credential) {
    return may_delete("A", &kJobA, ask({"PUT /v1/jobs/A", "A", {"Content-Length: 2"}}, credential).caller);
  };
  CHECK(may(bearer("", token("A", kAdmin), "")));
  CHECK(may(bearer("", token("*", kAdmin, 0), "")));
  CHECK(may({"", "", "", {}, "", true}));
  CHECK_FALSE(may(bearer("", kBothA, "")));
  CHECK_FALSE(may(bearer("", token("A", kAdmin, 0), "")));
  CHECK_FALSE(may(bearer("", token("B", kAdmin), "")));
  CHECK_FALSE(may(cookie("", "__Host-skewscope=" + token("A", kAdmin), "")));
}

TEST_CASE("an upload that nobody knows is there for nobody but who may see every job") {
  const Question head = {"HEAD /v1/uploads/0123456789abcdef0123456789abcdef", "", kTus};
  const auto decision = [&](const std::string& text) {
    const Asked asked = ask(head, bearer("", text, ""));
    return letter(authorize(asked.request, "", nullptr, asked.caller));
  };
  CHECK(decision(kBothA) == '-');
  CHECK(decision(users_token(1000, kUpload | kRead)) == '-');
  CHECK(decision(token("*", kAdmin)) == '+');
  CHECK(decision(forged(kBothA)) == 'a');
}

TEST_CASE("a list shows a caller the jobs that it may read") {
  const auto shown = [](const Credential& credential) {
    const Asked api = ask({"GET /v1/jobs", "", {}}, credential), page = ask({"GET /", "", {}}, credential);
    std::string out;
    for (const Asked& asked : {api, page}) {
      out += may_read("A", kJobA, asked.caller, asked.request.endpoint) ? "A" : "-";
      out += may_read("B", kJobB, asked.caller, asked.request.endpoint) ? "B" : "-";
    }
    return out;
  };
  CHECK(shown(bearer("", kReadA, "")) == "A-A-");
  CHECK(shown(bearer("", kReadB, "")) == "-B-B");
  CHECK(shown(bearer("", token("*", kRead), "")) == "ABAB");
  CHECK(shown(bearer("", users_token(1000, kRead), "")) == "A-A-");
  CHECK(shown(bearer("", users_token(3000, kRead), "")) == "----");
  CHECK(shown(bearer("", users_token(1000, kUpload), "")) == "----");
  CHECK(shown(cookie("", "__Host-skewscope=" + users_token(1000, kRead), "")) == "--A-");
  CHECK(shown(proxied("", 1000, false, "")) == "A-A-");
  CHECK(shown(proxied("", 1000, true, "")) == "ABAB");
  CHECK(shown(bearer("", token("A", kRead, 0), "")) == "----");
  CHECK(shown(bearer("", kUploadA, "")) == "----");
  CHECK(shown(cookie("", "__Host-skewscope=" + kReadA, "")) == "--A-");
  CHECK(shown({"", "Bearer x", "__Host-skewscope=" + kReadA, {}, "", false}) == "----");
  CHECK(shown({"", "", "", {}, "", true}) == "ABAB");
}

TEST_CASE("a login lasts eight hours, or as long as the token it was got with, and may only read") {
  const auto verified = [](const std::string& text) { return kKeys.verify(text, kAskedAt).value(); };
  const TokenPayload day = login_payload(verified(token("A", kAdmin, 5, hours(24))), kAskedAt).value();
  CHECK(day.scopes == kRead);
  CHECK(day.job == "A");
  CHECK(day.epoch == 5);
  CHECK(day.expires == kAskedAt + hours(8));
  CHECK(login_payload(verified(token("*", kAdmin)), kAskedAt)->expires == kAskedAt + hours(1));
  CHECK(!login_payload(verified(kUploadA), kAskedAt));
  CHECK(login_payload(verified(users_token(1000, kUpload | kRead)), kAskedAt)->job == "@1000");
  CHECK(!login_payload(verified(users_token(1000, kUpload)), kAskedAt));
}

TEST_CASE("the login cookie is for this host alone, over TLS, out of reach of scripts and of other sites") {
  CHECK(login_cookie("ss1.a.b") ==
        "__Host-skewscope=ss1.a.b; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=28800");
  CHECK(token_of_cookie("__Host-skewscope=ss1.a.b") == "ss1.a.b");
  CHECK(token_of_cookie("x__Host-skewscope=ss1.a.b") == "");
}

}  // namespace
}  // namespace skewscope::gather
