#include "authorize.h"

#include <algorithm>

#include "skewscope/protocol/names.h"

namespace skewscope::gather {
namespace {

constexpr std::string_view kLoginCookie = "__Host-skewscope=";
constexpr std::chrono::hours kLoginLife{8};

enum class Need { nothing, token, upload, read, list, own_runs, all_jobs, administer };

Need need_of(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::upload_options:
    case Endpoint::login:
    case Endpoint::logout:
    case Endpoint::metrics:
    case Endpoint::healthy:
    case Endpoint::ready:
      return Need::nothing;
    case Endpoint::tokens:
      return Need::token;
    case Endpoint::job_get:
    case Endpoint::rank_get:
    case Endpoint::report:
    case Endpoint::report_file:
    case Endpoint::page_job:
      return Need::read;
    case Endpoint::job_list:
    case Endpoint::page_jobs:
      return Need::list;
    case Endpoint::history:
      return Need::own_runs;
    case Endpoint::nodes:
    case Endpoint::page_nodes:
      return Need::all_jobs;
    case Endpoint::job_revoke:
    case Endpoint::job_delete:
      return Need::administer;
    case Endpoint::upload_create:
    case Endpoint::upload_head:
    case Endpoint::upload_patch:
    case Endpoint::upload_delete:
    case Endpoint::rank_put:
    case Endpoint::job_put:
    case Endpoint::job_end:
    case Endpoint::report_again:
      return Need::upload;
  }
  return Need::upload;
}

Scope scope_of(Need need) {
  if (need == Need::administer) return kAdmin;
  return need == Need::upload ? kUpload : kRead;
}

const TokenPayload* token_for(const Caller& caller, bool page) {
  if (caller.token) return &*caller.token;
  return page && caller.cookie ? &*caller.cookie : nullptr;
}

bool has_scope(const TokenPayload& token, unsigned scope) { return (token.scopes & (scope | kAdmin)) != 0; }

// Does a user's token: in a job that is his, and for an upload that makes one.
bool counts_for(uint32_t user, const std::string& job, const JobFacts* known, unsigned scope) {
  const bool is_there = known != nullptr && known->exists;
  return is_there ? known->owner_uid == user : scope == kUpload && !job.empty();
}

// Within one job. A token for every job has no epoch: it ends with its expiry or its key.
Decision within_job(const TokenPayload& token, const std::string& job, const JobFacts* known, unsigned scope) {
  if (const auto user = user_of(token)) {
    if (!counts_for(*user, job, known, scope)) return Decision::unknown;
    return has_scope(token, scope) ? Decision::allow : Decision::forbidden;
  }
  if (token.job != "*" && token.job != name_of_run(job)) return Decision::unknown;
  if (token.job != "*" && known != nullptr && token.epoch < known->epoch) return Decision::unauthenticated;
  return has_scope(token, scope) ? Decision::allow : Decision::forbidden;
}

// No token gives one: whoever holds it need not be the user.
Decision may_get_users_token(const Caller& caller) {
  if (caller.token) return Decision::forbidden;
  if (!caller.munge) return Decision::unauthenticated;
  return caller.munge->job == kOwnJobs && owns_jobs(caller.munge->uid) ? Decision::allow : Decision::forbidden;
}

// Root's credential says only that root of some node asks: the node's certificate must say which. The certificate alone
// proves nothing: every user whose jobs ran on the node may have read it.
Decision may_get_token(const std::string& job, const JobFacts* known, const Caller& caller) {
  if (job == kOwnJobs) return may_get_users_token(caller);
  if (caller.token) return within_job(*caller.token, job, known, kAdmin);
  if (!caller.munge) return Decision::unauthenticated;
  if (known == nullptr || !known->exists || caller.munge->job != job) return Decision::unknown;
  const bool owner = caller.munge->uid != 0 && caller.munge->uid == known->owner_uid;
  const auto& nodes = known->nodes;
  const bool agent = caller.munge->uid == 0 && !known->ended && !caller.node.empty() &&
                     std::find(nodes.begin(), nodes.end(), caller.node) != nodes.end();
  return owner || agent ? Decision::allow : Decision::unknown;
}

}  // namespace

bool is_page(Endpoint endpoint, std::string_view suffix) {
  return endpoint == Endpoint::page_jobs || endpoint == Endpoint::page_job || endpoint == Endpoint::page_nodes ||
         endpoint == Endpoint::report_file || (endpoint == Endpoint::report && (suffix == ".html" || suffix == ".log"));
}

Caller identify(const Request& request, const TokenKeys& keys, std::chrono::sys_seconds now) {
  Caller out;
  if (request.authorization_scheme == "bearer") {
    out.token = keys.verify(request.bearer, now);
    out.failed = !out.token;
  } else if (!request.authorization_scheme.empty() && request.authorization_scheme != "munge") {
    out.failed = true;
  }
  const std::string_view cookie = token_of_cookie(request.cookie);
  if (!cookie.empty()) out.cookie = keys.verify(cookie, now);
  return out;
}

TokenPayload payload_of_signed_on(uint32_t uid, bool is_operator) {
  return {is_operator ? "*" : jobs_of_user(uid), kRead, uid, std::chrono::sys_seconds::max(), 0};
}

bool is_known(const Caller& caller) {
  return caller.insecure_local || !caller.node.empty() || caller.munge ||
         (!caller.failed && (caller.token || caller.cookie));
}

int status_of(Decision decision) {
  switch (decision) {
    case Decision::allow:
      return 200;
    case Decision::unauthenticated:
      return 401;
    case Decision::forbidden:
      return 403;
    case Decision::unknown:
      return 404;
  }
  return 401;
}

Decision authorize(const Request& request, const std::string& job, const JobFacts* known, const Caller& caller) {
  const Need need = need_of(request.endpoint);
  if (need == Need::nothing || caller.insecure_local) return Decision::allow;
  if (caller.failed) return Decision::unauthenticated;
  if (need == Need::token) return may_get_token(job, known, caller);
  const TokenPayload* token = token_for(caller, is_page(request.endpoint, request.suffix));
  if (token == nullptr) return Decision::unauthenticated;
  if (need == Need::list || (need == Need::own_runs && user_of(*token))) {
    return has_scope(*token, kRead) ? Decision::allow : Decision::forbidden;
  }
  if (need == Need::all_jobs || need == Need::own_runs) {
    return sees_all_jobs(caller, request.endpoint) ? Decision::allow : Decision::forbidden;
  }
  return within_job(*token, job, known, scope_of(need));
}

bool may_read(const std::string& job, const JobFacts& known, const Caller& caller, Endpoint list) {
  if (caller.insecure_local) return true;
  const TokenPayload* token = caller.failed ? nullptr : token_for(caller, is_page(list, ""));
  return token != nullptr && within_job(*token, job, &known, kRead) == Decision::allow;
}

bool sees_all_jobs(const Caller& caller, Endpoint endpoint) {
  if (caller.insecure_local) return true;
  const TokenPayload* token = caller.failed ? nullptr : token_for(caller, is_page(endpoint, ""));
  return token != nullptr && token->job == "*" && has_scope(*token, kRead);
}

bool may_delete(const std::string& job, const JobFacts* known, const Caller& caller) {
  if (caller.insecure_local) return true;
  return caller.token && within_job(*caller.token, job, known, kAdmin) == Decision::allow;
}

std::optional<TokenPayload> login_payload(const TokenPayload& token, std::chrono::sys_seconds now) {
  if (!has_scope(token, kRead)) return std::nullopt;
  TokenPayload out = token;
  out.scopes = kRead;
  out.expires = std::min<std::chrono::sys_seconds>(token.expires, now + kLoginLife);
  return out;
}

std::string login_cookie(std::string_view token) {
  return std::string(kLoginCookie) + std::string(token) + "; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=" +
         std::to_string(std::chrono::seconds(kLoginLife).count());
}

std::string end_of_login_cookie() {
  return std::string(kLoginCookie) + "; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0";
}

std::string_view token_of_cookie(std::string_view cookies) {
  std::string_view out;
  while (!cookies.empty()) {
    std::string_view pair = cookies.substr(0, cookies.find(';'));
    cookies.remove_prefix(std::min(pair.size() + 1, cookies.size()));
    while (pair.starts_with(' ')) pair.remove_prefix(1);
    if (!pair.starts_with(kLoginCookie)) continue;
    if (!out.empty()) return "";
    out = pair.substr(kLoginCookie.size());
  }
  return out;
}

}  // namespace skewscope::gather
