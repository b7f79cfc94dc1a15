#include "endpoints.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "history_text.h"
#include "src/gather/http/listener.h"
#include "src/gather/process/log.h"

namespace skewscope::gather {
namespace {

constexpr size_t kNodesOnPage = 200, kRunsOnPage = 50, kNodesAheadOfJobs = 3;
constexpr int kReaders = 4;
constexpr const char* kText = "text/plain; charset=utf-8";

std::string name_of_this_server(const GatherOptions& options) {
  if (!options.server_name.empty()) return options.server_name;
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

int64_t open_descriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator all("/proc/self/fd", error);
  return error ? 0 : std::distance(begin(all), end(all)) - 1;  // less the one that looks
}

// "": everybody, where nobody is asked who they are, and the head node itself.
std::string asker_of(const Call& call) {
  if (call.request.endpoint == Endpoint::metrics) return "metrics";
  if (call.registry || call.caller.insecure_local) return "";
  const auto& shown = call.caller.token ? call.caller.token : call.caller.cookie;
  return shown ? owner_of(shown->job, shown->uid) : "";
}

bool brings_a_file(Endpoint endpoint) { return endpoint == Endpoint::upload_create || endpoint == Endpoint::rank_put; }

// Why an answer is a refusal, where its request was understood.
const char* reason_of(int status) {
  switch (status) {
    case 408:
      return "slow";
    case 409:
      return "conflict";
    case 410:
      return "expired";
    case 413:
      return "too_large";
    case 429:
      return "too_many";
    case 460:
      return "checksum";
    case 503:
      return "unavailable";
    case 507:
      return "no_space";
    default:
      return "request";
  }
}

}  // namespace

Endpoints::Endpoints(Store& store, const History& history, const std::shared_ptr<const Settings>& settings)
    : store_(store),
      history_(history),
      lobby_(settings->options.limits),
      buffers_(static_cast<size_t>(settings->options.limits.bodies)),
      download_buffers_(static_cast<size_t>(settings->options.limits.downloads)),
      readers_(kReaders),
      desk_(store),
      settings_(settings) {}

void Endpoints::use(const std::shared_ptr<const Settings>& settings) {
  lobby_.use(settings->options.limits);
  buffers_.use(static_cast<size_t>(settings->options.limits.bodies));
  download_buffers_.use(static_cast<size_t>(settings->options.limits.downloads));
  store_.use(settings->options.limits, settings->options.retention);
  const std::lock_guard lock(mutex_);
  settings_ = settings;
}

void Endpoints::use_memory(uint64_t bytes) {
  memory_ = bytes;
  const uint64_t most = limits().soft_memory;
  const bool is_short = bytes > (short_of_memory_ ? most - most / 10 : most);  // no to and fro at the bound
  if (short_of_memory_.exchange(is_short) == is_short) return;
  const auto log = is_short ? log_warning : log_info;
  log(is_short ? "memory_short" : "memory_regained", {{"bytes", static_cast<int64_t>(bytes)}});
}

std::shared_ptr<const Settings> Endpoints::settings() const {
  const std::lock_guard lock(mutex_);
  return settings_;
}

void Endpoints::begin(const CallPointer& call, std::function<void(Next)> next) {
  const auto held = settings();
  const Context context{store_, lobby_, held->options.retention.age, held->options.deadlines};
  if (draining_) {
    Response response = problem(503, "the daemon is stopping");
    response.close = true;
    return next(std::move(response));
  }
  if (short_of_memory_ && brings_a_file(call->request.endpoint)) return next(problem(503, "memory is low"));
  switch (call->request.endpoint) {
    case Endpoint::upload_options:
      return next(upload_options(limits()));
    case Endpoint::upload_create:
      return create_upload(context, call, next);
    case Endpoint::upload_head:
      return head_upload(context, call, next);
    case Endpoint::upload_patch:
      return patch_upload(context, call, next);
    case Endpoint::upload_delete:
      return delete_upload(context, call, next);
    case Endpoint::rank_put:
      return put_rank(context, call, next);
    case Endpoint::rank_get:
    case Endpoint::report:
    case Endpoint::report_file:
      return next(file_of(*call));
    case Endpoint::job_put:
      return put_job(context, call, next);
    case Endpoint::job_list:
      return next(in_turn(call, [this, call] { return list_jobs(store_, history_, users_, *call); }));
    case Endpoint::job_get:
      return next(in_turn(call, [this, call] { return get_job(store_, *call); }));
    case Endpoint::job_end:
      return end_job(context, call, next);
    case Endpoint::report_again:
      return report_again(context, call, next);
    case Endpoint::job_revoke:
      return revoke_tokens(context, call, next);
    case Endpoint::job_delete:
      return delete_job(context, call, next);
    case Endpoint::tokens:
      return next(token(call));
    case Endpoint::login:
      return next(login(call));
    case Endpoint::logout:
      return next(to_browser(see_other("/login").field("Set-Cookie", end_of_login_cookie())));
    case Endpoint::nodes:
      return next(in_turn(call, [this] { return document(200, "application/json", nodes_json(history_)); }));
    case Endpoint::history:
      return next(in_turn(call, [this, call] { return runs_of_series(store_, history_, *call); }));
    case Endpoint::page_jobs:
    case Endpoint::page_job:
    case Endpoint::page_nodes:
      return next(in_turn(call, [this, call] { return to_browser(page_of(*call)); }));
    case Endpoint::metrics:
      return next(in_turn(call, [this, call] { return admin(*call); }));
    case Endpoint::healthy:
    case Endpoint::ready:
      return next(admin(*call));
  }
}

// Which browsers then believe of this host, whatever the port.
Response Endpoints::to_browser(Response response) const {
  const auto held = settings();
  const auto time = held->options.hsts;
  if (time.count() == 0 || held->options.certificate.empty()) return response;
  return response.field("Strict-Transport-Security", fmt::format("max-age={}", time.count()));
}

// Whoever asks for lists, states and pages in a loop takes from nobody else what reports and uploads need.
Next Endpoints::in_turn(const CallPointer& call, std::function<Response()> answer) {
  const std::string asker = asker_of(*call);
  if (asker.empty()) return answer();
  std::optional<std::chrono::milliseconds> wait;
  {
    const std::lock_guard lock(mutex_);
    wait = pace_.wait(asker, std::chrono::steady_clock::now());
  }
  if (!wait) return problem(429, "too many lists, states or pages");
  if (*wait == std::chrono::milliseconds(0)) return answer();
  return AnswerLater{*wait,
                     [this, call, answer = std::move(answer)] { return revoked(*call) ? unauthorized() : answer(); }};
}

Response Endpoints::file_of(const Call& call) {
  auto slot = lobby_.download(sharer_of(call, call.request.job));
  if (!slot) return problem(503, "too many downloads at once");
  const Endpoint endpoint = call.request.endpoint;
  Response response = endpoint == Endpoint::rank_get      ? get_rank(store_, call)
                      : endpoint == Endpoint::report_file ? get_report_file(store_, call)
                                                          : get_report(store_, call);
  response.held = std::move(slot);
  return response;
}

Response Endpoints::page_of(const Call& call) const {
  if (call.request.endpoint == Endpoint::page_nodes) return nodes_page(history_.nodes(kNodesOnPage));
  if (call.request.endpoint == Endpoint::page_job) {
    const auto job = store_.job(call.request.job);
    if (!job) return page_not_found();
    const bool says_something = job->report == ReportState::failed || job->report_exit_code == kReportInPart;
    JobPage shown{{*job, verdict_of_report(store_, *job), verdict_of_hang(store_, *job)},
                  StragglerFigures::of_job(store_, *job),
                  says_something ? last_lines_of_log(store_, job->name) : "",
                  store_.report_files(job->name),
                  series_of(job->name),
                  readable_runs(store_, history_, call, series_of(job->name), kRunsOnPage),
                  captures_with_reports(store_, job->name),
                  words_on_aligned_trace(store_, job->name)};
    shown.runs_of_name = store_.runs_of(std::string(name_of_run(job->name)));
    return job_page(shown);
  }
  return jobs_page(list_of(call));
}

JobsPage Endpoints::list_of(const Call& call) const {
  JobsPage shown;
  shown.search.insert(call.request.query.begin(), call.request.query.end());
  const auto page = shown.search.extract("page");
  FoundJobs found = find_jobs(store_, history_, users_, call, shown.search, page ? std::stoul(page.mapped()) : 1);
  shown.found = found.found;
  shown.all = found.all;
  shown.page = found.page;
  shown.pages = found.pages;
  if (const auto user = user_of(call.caller)) {
    const std::string name = users_.of_uid(*user).user.name;
    shown.whose = name.empty() ? fmt::format("uid {}", *user) : name;
  }
  shown.signed_in = call.caller.cookie.has_value();
  if (sees_all_jobs(call.caller, Endpoint::page_jobs)) shown.nodes = history_.nodes(kNodesAheadOfJobs);
  for (JobState& job : found.jobs) {
    ListedJob listed;
    listed.owner = job.owner_uid == 0 ? "" : users_.of_uid(job.owner_uid).user.name;
    auto run = history_.newest_of(job.name);
    const bool remembered = run && run->created == job.created;
    std::string verdict = remembered ? std::move(run->verdict) : verdict_of_report(store_, job);
    std::string hang = verdict_of_hang(store_, job);
    if (remembered) listed.outcome = std::move(run->outcome);
    listed.job = {std::move(job), std::move(verdict), std::move(hang)};
    shown.jobs.push_back(std::move(listed));
  }
  return shown;
}

Response Endpoints::admin(const Call& call) const {
  if (call.request.endpoint == Endpoint::healthy) return document(200, kText, "healthy\n");
  if (call.request.endpoint == Endpoint::ready)
    return ready() ? document(200, kText, "ready\n") : document(503, kText, "not ready\n");
  return document(200, "text/plain; version=0.0.4; charset=utf-8",
                  metrics_.text(store_.figures(), lobby_.figures(), process_figures()) + stragglers_.text(store_) +
                      hangs_.text(store_) + node_metrics(history_) + webhook_metrics(history_));
}

ProcessFigures Endpoints::process_figures() const {
  const auto held = settings();
  ProcessFigures out;
  out.ready = ready();
  out.soft_disk = held->options.limits.soft_disk;
  out.hard_disk = held->options.limits.hard_disk;
  out.memory = memory_;
  out.memory_limit = held->options.limits.soft_memory;
  out.descriptors = open_descriptors();
  rlimit most{};
  out.descriptor_limit = getrlimit(RLIMIT_NOFILE, &most) == 0 ? static_cast<int64_t>(most.rlim_cur) : 0;
  if (!held->options.certificate.empty()) out.certificate_end = end_of_certificate(held->options.certificate);
  return out;
}

// A token is base64url and dots: in a form it is written as it is. The cookie is another token, which can only read.
Next Endpoints::login(const CallPointer& call) {
  if (call->request.method != Method::post) return to_browser(login_page(false));
  return TakeDocument{[this, call](const std::string& body, const Respond& respond) {
    constexpr std::string_view kField = "token=";
    std::string_view token = body;
    token.remove_prefix(token.starts_with(kField) ? kField.size() : token.size());
    const auto held = settings();
    const auto shown = held->keys ? held->keys->verify(token, wall_clock()) : std::nullopt;
    const bool revoked = shown && shown->epoch < store_.epoch_of(shown->job);
    const auto payload = shown && !revoked ? login_payload(*shown, wall_clock()) : std::nullopt;
    if (!payload) {
      metrics_.authentication_failed("login");
      return respond(login_page(true));
    }
    respond(to_browser(see_other("/").field("Set-Cookie", login_cookie(held->keys->mint(*payload)))));
  }};
}

Next Endpoints::token(const CallPointer& call) {
  const auto held = settings();
  if (!held->keys) return problem(404, "this daemon issues no tokens");
  TokenDesk::Means means{held->munge, *held->keys, name_of_this_server(held->options)};
  return TakeDocument{[this, call, means = std::move(means)](const std::string& body, const Respond& respond) {
    desk_.issue(call, means, body, [this, respond](Response response) {
      if (response.status == 401) metrics_.authentication_failed("munge");
      respond(std::move(response));
    });
  }};
}

void Endpoints::served(const Served& served) {
  const double seconds = std::chrono::duration<double>(served.duration).count();
  const int status = served.response->status;
  if (served.call != nullptr) {
    metrics_.request(served.endpoint, status, seconds);
  } else {
    metrics_.request_not_understood(status);
  }
  if (*served.refused != '\0') {
    metrics_.refused(served.refused);
  } else if (status >= 400) {
    metrics_.refused(reason_of(status));
  }
  if (served.call == nullptr) {
    return log_warning(
        "refused",
        {{"request", served.request_id}, {"peer", served.peer}, {"status", int64_t{status}}, {"err", served.refused}});
  }
  if (is_admin(served.endpoint)) return;  // a probe every few seconds is no event
  const Call& call = *served.call;
  const auto log = status < 500 ? log_info : log_error;
  const bool ranked = served.endpoint == Endpoint::rank_put || served.endpoint == Endpoint::rank_get;
  const auto upload = upload_of(call.request);
  const LogValue none = std::string_view();
  const std::string trace = call.request.bearer.empty() ? "" : token_trace(call.request.bearer);
  log("request", {{"request", served.request_id},
                  {"route", name_of(served.endpoint)},
                  {"status", int64_t{status}},
                  {"job", upload ? upload->job : call.request.job},
                  {"rank", upload   ? int64_t{upload->rank}
                           : ranked ? LogValue(int64_t{call.request.rank})
                                    : none},
                  {"upload", call.request.upload_id},
                  {"peer", served.peer},
                  {"client", call.request.forwarded_for},
                  {"node", call.certificate_name},
                  {"uid", int64_t{uid_of(call.caller)}},
                  {"token", trace},
                  {"bytes", static_cast<int64_t>(served.received_bytes)},
                  {"dur_ms", static_cast<int64_t>(seconds * 1000)},
                  {"err", served.refused}});
}

}  // namespace skewscope::gather
