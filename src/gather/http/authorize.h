// May this caller do this: a pure decision, taken before any byte of a body is read.
//
// A job's token does within its job, and within the later runs of its name, what its scopes say, and elsewhere nothing:
// for it, other jobs do not exist. Scope admin represents all scopes; a token for "*" counts in every job. A user's
// counts in the jobs that he owns, and an upload by it under a name that is free makes another of these. MUNGE and
// client certificates prove who calls; they get a token (POST /v1/tokens) and nothing else. A browser's cookie is good
// for pages, and for what they link of reports, alone. Whom a proxy has signed on may do what a token of scope read
// may.
//
// | endpoint                                        | needs                                       |
// |-------------------------------------------------|---------------------------------------------|
// | OPTIONS, login, logout; the admin listener      | nothing; its metrics, where it is not on    |
// |                                                 | loopback, scope read of "*"                 |
// | tokens                                          | a user's: MUNGE of him; a job's: MUNGE of   |
// |                                                 | its owner; until the job's end, MUNGE of    |
// |                                                 | root and the certificate of one of its      |
// |                                                 | nodes; scope admin                          |
// | job_revoke, job_delete                          | scope admin                                 |
// | uploads, rank_put, job_put, job_end,            | scope upload; of job_put, what deletes      |
// | report_again                                    | sooner: may_delete()                        |
// | job_get, rank_get, report, report_file          | scope read                                  |
// | job_list, page_jobs                             | scope read; shows what may_read() says      |
// | pages; of reports .html, .log and files         | scope read, by cookie, too                  |
// | history                                         | scope read of "*", or of a user, who is     |
// |                                                 | shown his own                               |
// | nodes, page_nodes                               | scope read of "*": they are of every job    |
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate.h"
#include "tokens.h"

namespace skewscope::gather {

// In place of the name of a job for which a token is asked: of all jobs of whoever asks.
inline constexpr const char* kOwnJobs = "@";

// A MUNGE credential that was decoded (munge.h): who made it, and for which job, or kOwnJobs.
struct MungeIdentity {
  uint32_t uid = 0;
  std::string job;
};

struct Caller {
  std::optional<TokenPayload> token, cookie;  // verified
  bool failed = false;                        // a credential was shown that does not count: nothing else is asked
  std::optional<MungeIdentity> munge;
  std::string node;             // that its client certificate names; "": none
  bool insecure_local = false;  // the daemon asks nobody for anything
};

// Has shown a credential that counts, for whatever, or none is asked for. One of MUNGE counts once it is decoded; who
// gets a token for it shows that one with the next request.
bool is_known(const Caller& caller);
bool is_page(Endpoint endpoint, std::string_view suffix);  // or linked by one: for a browser

// What the request itself shows: bearer token and login cookie. A MUNGE credential (authorization_scheme "munge") is
// left to the caller of this, who sets `munge` or `failed`.
Caller identify(const Request& request, const TokenKeys& keys, std::chrono::sys_seconds now);

// A user whom a proxy has signed on may read: an operator every job, others their own. `uid`: as of jobs_of_user().
TokenPayload payload_of_signed_on(uint32_t uid, bool is_operator);

// What is known of a job.
struct JobFacts {
  uint32_t epoch = 0;      // tokens of an older one are revoked
  bool exists = true;      // false: a job of this name was deleted; `epoch` is what another begins with
  uint32_t owner_uid = 0;  // as the head node registered it, or whose token made it; 0: nobody's
  std::vector<std::string> nodes;
  bool ended = false;
};

enum class Decision {
  allow,
  unauthenticated,  // 401
  forbidden,        // 403: the token is the job's, and lacks the scope
  unknown,          // 404: there is no such job, or none for this caller; the answers must be the same
};
int status_of(Decision decision);  // 200 for allow

// `job`: that of the path, of Upload-Metadata, of the upload, or for which a token is asked; "" where there is none, as
// for an upload that nobody knows. `known`: null for a job that there never was.
Decision authorize(const Request& request, const std::string& job, const JobFacts* known, const Caller& caller);

// May what this caller sets let a job of his be deleted sooner.
bool may_delete(const std::string& job, const JobFacts* known, const Caller& caller);

// Does a list of jobs show this one to the caller.
bool may_read(const std::string& job, const JobFacts& known, const Caller& caller, Endpoint list);

// May this caller read every job, and what is said of all of them together.
bool sees_all_jobs(const Caller& caller, Endpoint endpoint);

// Login of browsers: a cookie whose value is a token of scope read that lives for 8 h, or as long as the token it was
// got with. nullopt: that token may not read.
std::optional<TokenPayload> login_payload(const TokenPayload& token, std::chrono::sys_seconds now);
std::string login_cookie(std::string_view token);  // the value of Set-Cookie
std::string end_of_login_cookie();                 // the same, of a browser that signs out
// The token in the value of Cookie; "" without one or with several.
std::string_view token_of_cookie(std::string_view cookies);

}  // namespace skewscope::gather
