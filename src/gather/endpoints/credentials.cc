// Who asks, for which job, and whether they may.
#include <fmt/format.h>

#include <algorithm>

#include "endpoints.h"
#include "pages.h"
#include "sign_on.h"
#include "src/gather/http/host.h"
#include "src/gather/http/listener.h"

namespace skewscope::gather {
namespace {

bool is_form(Endpoint endpoint) { return endpoint == Endpoint::login || endpoint == Endpoint::logout; }

// The head node speaks on the registry's socket, of jobs alone: root, or the user that was named.
Admitted registry_caller(const Request& request) {
  if (request.endpoint != Endpoint::job_put && request.endpoint != Endpoint::job_end &&
      request.endpoint != Endpoint::report_again && request.endpoint != Endpoint::job_revoke &&
      request.endpoint != Endpoint::job_get) {
    return problem(403, "only jobs are registered here");
  }
  Caller caller;
  caller.insecure_local = true;
  return caller;
}

}  // namespace

Caller Endpoints::caller_of(const Call& call) const {
  const auto held = settings();
  Caller caller;
  if (held->options.insecure_local) {
    caller.insecure_local = true;
    return caller;
  }
  if (held->keys) caller = gather::identify(call.request, *held->keys, wall_clock());
  if (call.request.authorization_scheme == "munge" && !held->munge) caller.failed = true;
  caller.node = call.certificate_name;
  return caller;
}

// The job that a request is about. What cannot be read is answered by its handler: only to those who hold a token.
std::optional<UploadMetadata> Endpoints::upload_of(const Request& request) const {
  if (request.endpoint == Endpoint::upload_create) {
    const ParsedMetadata parsed = parse_upload_metadata(request.upload_metadata);
    return parsed.problem == nullptr ? std::optional(parsed.metadata) : std::nullopt;
  }
  return request.upload_id.empty() ? std::nullopt : store_.metadata_of(request.upload_id);
}

std::string Endpoints::job_of(const Request& request, const Caller& caller) const {
  if (const auto upload = upload_of(request)) return upload->job;
  if (request.endpoint == Endpoint::upload_create) return caller.token ? caller.token->job : "";
  return request.upload_id.empty() ? request.job : "";
}

bool Endpoints::proves_something(const Call& call, const Caller& caller) const {
  const auto held = settings();
  if (!held->keys || caller.failed) return false;
  const bool munge = call.request.authorization_scheme == "munge";
  return munge ? held->munge != nullptr : caller.token.has_value();
}

// Names of users that are searched for, or whose page it is: a search finds nothing by one that is not known yet.
bool Endpoints::waits_for_names(const Request& request, const Caller& caller) const {
  if (request.endpoint != Endpoint::page_jobs && request.endpoint != Endpoint::job_list) return false;
  const auto user = user_of(caller);
  if (user && users_.of_uid(*user).known == UserNames::Known::not_yet) return true;
  return std::any_of(request.query.begin(), request.query.end(), [this](const auto& pair) {
    const bool is_name = pair.first == "owner" || pair.first == "q";
    return is_name && users_.of_name(pair.second).known == UserNames::Known::not_yet;
  });
}

Admitted Endpoints::admit_caller(const Call& call) {
  const Request& request = call.request;
  if (call.registry) return registry_caller(request);
  const auto held = settings();
  const bool ours = is_admin(request.endpoint) ? is_our_admin_host(request.host, held->options)
                                               : is_our_host(request.host, held->options);
  if (!ours) return problem(421, "this is another server");
  // A page of elsewhere may ask for nothing where nobody is asked who they are, and for no login, which would make the
  // browser another's.
  const bool guarded = held->options.insecure_local || is_form(request.endpoint);
  if (guarded && !is_our_page(request.origin, request.host)) {
    return problem(403, "the request came from a page of another server");
  }
  Caller caller;
  if (call.proxy) {
    if (is_form(request.endpoint)) return see_other("/");
    Admitted who = signed_on(call, held->options, users_);
    if (!std::holds_alternative<Caller>(who)) return who;
    caller = std::get<Caller>(std::move(who));
  } else {
    caller = caller_of(call);
  }
  const bool open_to_others = request.endpoint == Endpoint::metrics && !is_loopback(held->options.admin);
  if (open_to_others && !sees_all_jobs(caller, Endpoint::metrics)) {
    metrics_.authentication_failed(request.authorization_scheme.empty() ? "none" : "token");
    return unauthorized("metrics want a token of every job with the scope read");
  }
  if (request.endpoint == Endpoint::tokens && proves_something(call, caller)) return caller;  // of what: see token()
  const std::string job = job_of(request, caller);
  const auto facts = facts_of(store_, job);
  const Decision decision = authorize(request, job, facts ? &*facts : nullptr, caller);
  if (decision == Decision::allow && waits_for_names(request, caller)) return NotKnownYet{};
  if (decision == Decision::allow) return caller;
  if (decision == Decision::unauthenticated) {
    metrics_.authentication_failed(request.authorization_scheme.empty() ? "none" : "token");
    // A browser whose cookie has expired is shown where to get another.
    if (request.authorization_scheme.empty() && is_page(request.endpoint, request.suffix)) return see_other("/login");
    return unauthorized(why_unauthenticated(request, caller, facts));
  }
  if (decision == Decision::forbidden) return problem(403, "the credential does not have the scope for this");
  return is_page(request.endpoint, request.suffix) ? page_not_found() : problem(404, "no such job, upload or file");
}

// Whoever holds a token that was once good may know what has become of it.
std::string Endpoints::why_unauthenticated(const Request& request, const Caller& caller,
                                           const std::optional<JobFacts>& facts) const {
  const auto held = settings();
  const bool ours = held->keys && request.authorization_scheme == "bearer" &&
                    held->keys->verify(request.bearer, std::chrono::sys_seconds::min());
  if (caller.failed && ours) return "the token has expired";
  if (!caller.token || !facts) return "a valid credential is required";
  return fmt::format(
      "the token has epoch {}, but the job accepts none before {}: it was revoked, or the job was deleted",
      caller.token->epoch, facts->epoch);
}

bool Endpoints::revoked(const Call& call) const {
  const auto& shown = call.caller.token ? call.caller.token : call.caller.cookie;
  if (!shown || shown->job == "*") return false;
  const auto user = user_of(*shown);
  if (!user) return shown->epoch < store_.epoch_of(shown->job);
  const auto job = store_.job_in_brief(job_of(call.request, call.caller));
  return job && job->owner_uid != *user;
}

}  // namespace skewscope::gather
