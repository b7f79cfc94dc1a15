#include "endpoints.h"

#include <algorithm>

#include "log.h"
#include "pages.h"

namespace skewscope::gather {
namespace {

constexpr const char* kCookie = "__Host-skewscope";
constexpr int kCookieLife = 8 * 3600;  // s
constexpr size_t kJobsOnPage = 1000;

std::chrono::sys_seconds now() {
  return std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
}

// What a browser is shown is read with a cookie; everything that changes something wants the token itself.
bool takes_cookie(Endpoint endpoint) {
  return endpoint == Endpoint::page_jobs || endpoint == Endpoint::page_job || endpoint == Endpoint::report;
}

bool is_open(Endpoint endpoint) {
  return endpoint == Endpoint::login || endpoint == Endpoint::metrics || endpoint == Endpoint::healthy ||
         endpoint == Endpoint::ready || endpoint == Endpoint::upload_options;
}

std::string_view cookie_in(std::string_view field) {
  while (!field.empty()) {
    std::string_view pair = field.substr(0, field.find(';'));
    field.remove_prefix(std::min(field.size(), pair.size() + 1));
    while (pair.starts_with(' ')) pair.remove_prefix(1);
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == kCookie) return pair.substr(equals + 1);
  }
  return {};
}

Response see_other(const std::string& where) {
  Response response;
  response.status = 303;
  return response.field("Location", where);
}

Response text(int status, const char* body) {
  Response response;
  response.status = status;
  response.field("Content-Type", "text/plain; charset=utf-8");
  response.body = body;
  return response;
}

// Host must say who we are: a page elsewhere that has its own name resolve to our address gets nothing.
bool is_named(std::string_view host, const GatherOptions& options) {
  if (options.server_name.empty() || same_ignoring_case(host, options.listen)) return true;
  const size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) host = host.substr(0, colon);
  const std::string_view listen = options.listen;
  return same_ignoring_case(host, options.server_name) || host == listen.substr(0, listen.rfind(':'));
}

Response unauthorized() { return problem(401, "a valid credential is needed").field("WWW-Authenticate", "Bearer"); }

}  // namespace

Endpoints::Endpoints(Store& store, const std::shared_ptr<const Settings>& settings)
    : store_(store),
      limits_(settings->options.limits),
      lobby_(limits_),
      buffers_(2 * static_cast<size_t>(limits_.bodies)),  // as many go out as come in
      settings_(settings) {}

void Endpoints::use(const std::shared_ptr<const Settings>& settings) {
  const std::lock_guard lock(mutex_);
  settings_ = settings;
}

std::shared_ptr<const Settings> Endpoints::settings() const {
  const std::lock_guard lock(mutex_);
  return settings_;
}

// --- credentials

std::optional<Caller> Endpoints::caller_of(std::string_view token) const {
  const auto held = settings();
  const auto payload = held->keys ? held->keys->verify(token, now()) : std::nullopt;
  if (!payload) return std::nullopt;
  const auto job = store_.job(payload->job);
  if (job && payload->epoch < job->epoch) return std::nullopt;  // revoked
  return Caller{false, payload->job, payload->scopes, payload->uid, token_trace(token)};
}

std::variant<Caller, Response> Endpoints::identify(const Request& request) {
  if (!is_named(request.host, settings()->options)) return problem(421, "this is another server");
  if (settings()->options.insecure_local || is_open(request.endpoint)) return Caller{true, "", 0, 0, ""};
  const bool by_cookie = request.authorization_scheme.empty() && takes_cookie(request.endpoint);
  const bool bearer = request.authorization_scheme == "bearer";
  if (by_cookie || bearer) {
    if (auto caller = caller_of(by_cookie ? cookie_in(request.cookie) : std::string_view(request.bearer))) {
      return *std::move(caller);
    }
  }
  metrics_.authentication_failed(bearer ? "token" : by_cookie ? "cookie" : "none");
  if (by_cookie) return see_other("/login");
  return unauthorized();
}

// --- endpoints

void Endpoints::begin(const CallPointer& call, std::function<void(Next)> next) {
  const Rooms rooms{store_, lobby_};
  if (draining_) {
    Response response = problem(503, "the daemon is stopping");
    response.close = true;
    return next(std::move(response));
  }
  switch (call->request.endpoint) {
    case Endpoint::upload_options:
      return next(upload_options(limits_));
    case Endpoint::upload_create:
      return create_upload(rooms, call, next);
    case Endpoint::upload_head:
      return head_upload(rooms, call, next);
    case Endpoint::upload_patch:
      return patch_upload(rooms, call, next);
    case Endpoint::upload_delete:
      return delete_upload(rooms, call, next);
    case Endpoint::rank_put:
      return put_rank(rooms, call, next);
    case Endpoint::rank_get:
      return next(get_rank(store_, *call));
    case Endpoint::report:
      return next(get_report(store_, *call));
    case Endpoint::job_put:
      return put_job(rooms, call, next);
    case Endpoint::job_list:
      return next(list_jobs(store_, *call));
    case Endpoint::job_get:
      return next(get_job(store_, *call));
    case Endpoint::job_end:
      return end_job(rooms, call, next);
    case Endpoint::job_delete:
      return delete_job(rooms, call, next);
    case Endpoint::tokens:
      return next(problem(501, "no MUNGE here"));
    case Endpoint::login:
      return next(login(call));
    case Endpoint::page_jobs:
    case Endpoint::page_job:
      return next(page_of(*call));
    case Endpoint::metrics:
    case Endpoint::healthy:
    case Endpoint::ready:
      return next(admin(*call));
  }
}

Response Endpoints::page_of(const Call& call) const {
  if (call.request.endpoint == Endpoint::page_job) {
    if (refuse_scope(call.caller, call.request.job, kRead)) return page_not_found();
    const auto job = store_.job(call.request.job);
    return job ? job_page(*job) : page_not_found();
  }
  if (!call.caller.anybody && (call.caller.scopes & (kRead | kAdmin)) == 0) return see_other("/login");
  const auto jobs = visible_jobs(store_, call.caller, "", kJobsOnPage);
  return jobs_page(jobs, jobs.size() == kJobsOnPage);
}

Response Endpoints::admin(const Call& call) const {
  if (call.request.endpoint == Endpoint::healthy) return text(200, "healthy\n");
  if (call.request.endpoint == Endpoint::ready) return ready() ? text(200, "ready\n") : text(503, "not ready\n");
  Response response;
  response.field("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  response.body = metrics_.text(store_.figures(), lobby_.figures(), store_.jobs("", SIZE_MAX));
  return response;
}

// A token is base64url and dots: in a form it stands as it is.
Next Endpoints::login(const CallPointer& call) {
  if (call->request.method != Method::post) return login_page(false);
  return TakeDocument{[this, call](const std::string& body, const Respond& respond) {
    constexpr std::string_view kField = "token=";
    const std::string_view token = std::string_view(body).starts_with(kField)
                                       ? std::string_view(body).substr(kField.size())
                                       : std::string_view();
    const auto verdict = lobby_.verdict(call->peer);
    const auto caller = caller_of(token);
    if (!caller || (caller->scopes & (kRead | kAdmin)) == 0) {
      lobby_.failed(call->peer);
      metrics_.authentication_failed("login");
      Response refusal = verdict == FailureThrottle::Verdict::pass
                             ? login_page(true)
                             : problem(429, "too many failed authentications");
      refusal.close = true;
      return respond(std::move(refusal));
    }
    respond(see_other("/").field("Set-Cookie", std::string(kCookie) + "=" + std::string(token) +
                                                   "; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=" +
                                                   std::to_string(kCookieLife)));
  }};
}

// --- what is told of each request

void Endpoints::served(const Served& served) {
  const double seconds = std::chrono::duration<double>(served.duration).count();
  const int status = served.response->status;
  if (served.call != nullptr) metrics_.request(served.endpoint, status, seconds);
  if (*served.refused != '\0') metrics_.refused(served.refused);
  if (served.call == nullptr) {
    return log_warning("refused", {{"request", served.request_id},
                                   {"peer", served.peer},
                                   {"status", int64_t{status}},
                                   {"err", served.refused}});
  }
  if (is_open(served.endpoint)) return;  // a probe every few seconds is no event
  const Call& call = *served.call;
  const auto log = status < 500 ? log_info : log_error;
  const bool ranked = served.endpoint == Endpoint::rank_put || served.endpoint == Endpoint::rank_get;
  log("request", {{"request", served.request_id},
                  {"route", name_of(served.endpoint)},
                  {"status", int64_t{status}},
                  {"job", call.request.job},
                  {"rank", ranked ? LogValue(int64_t{call.request.rank}) : LogValue(std::string_view())},
                  {"upload", call.request.upload_id},
                  {"peer", served.peer},
                  {"node", call.certificate_name},
                  {"uid", int64_t{call.caller.uid}},
                  {"token", call.caller.token_trace},
                  {"bytes", static_cast<int64_t>(served.received_bytes)},
                  {"dur_ms", static_cast<int64_t>(seconds * 1000)},
                  {"err", served.refused}});
}

}  // namespace skewscope::gather
