#include <algorithm>
#include <set>

#include "handlers.h"
#include "job_search.h"
#include "job_text.h"
#include "skewscope/protocol/names.h"
#include "src/gather/process/log.h"

namespace skewscope::gather {
namespace {

constexpr size_t kUsualList = 100, kAtATime = 256;
const std::set<std::string_view> kListedByName = {"state", "after", "limit"};

// Than the daemon would, or than the job has been promised.
bool deletes_sooner(const JobSettings& asked, const std::optional<JobState>& known, std::chrono::seconds usual) {
  if (!asked.retention) return false;
  return *asked.retention < (known && known->settings.retention ? *known->settings.retention : usual);
}

// The job's new state, or why there is none.
Reply<JobState> state_as(int status, const Continue& next) {
  return [status, next](const Outcome<JobState>& outcome) {
    next(outcome.refusal == Refusal::none ? document(status, "application/json", job_json(outcome.value))
                                          : refused(outcome.refusal));
  };
}

// Whose token or cookie is of one job sees no other: the rest is not looked at. "": all of them.
std::string only_job_of(const Call& call) {
  const Caller& caller = call.caller;
  if (caller.insecure_local) return "";
  const auto& shown = caller.token ? caller.token : caller.cookie;
  return shown && shown->job != "*" && !user_of(*shown) ? shown->job : "";
}

// What is said of NAME while it runs, such as its settings and its end, is said of the newest run of that name.
std::string newest_run(const Store& store, const std::string& job) {
  const std::vector<std::string> runs = is_name(job) ? store.runs_of(job) : std::vector<std::string>();
  return runs.empty() ? job : runs.back();
}

// That of the dumps comes first: the job hangs.
std::string verdict_of(const Store& store, const JobState& job) {
  const std::string hang = verdict_of_hang(store, job);
  return hang.empty() ? verdict_of_report(store, job) : hang;
}

}  // namespace

JobFacts facts_of(const JobState& job) { return {job.epoch, true, job.owner_uid, job.settings.nodes, job.ended}; }

std::optional<JobFacts> facts_of(const Store& store, const std::string& job) {
  if (const auto known = store.job_in_brief(newest_run(store, job))) return facts_of(*known);
  const uint32_t epoch = store.epoch_of(job);
  return epoch == 0 ? std::nullopt : std::optional(JobFacts{epoch, false, 0, {}, false});
}

std::optional<uint32_t> user_of(const Caller& caller) {
  const auto& shown = caller.token ? caller.token : caller.cookie;
  return shown ? user_of(*shown) : std::nullopt;
}

std::vector<Run> readable_runs(const Store& store, const History& history, const Call& call, const std::string& series,
                               size_t most) {
  if (sees_all_jobs(call.caller, call.request.endpoint)) return history.runs_of(series, most);
  const auto user = user_of(call.caller);
  if (!user) return {};
  std::vector<Run> runs = history.runs_of(series, most, user);
  std::erase_if(runs, [&](const Run& run) {
    const auto job = store.job_in_brief(run.job);
    return job && job->created == run.created && job->owner_uid != *user;
  });
  return runs;
}

uint32_t uid_of(const Caller& caller) { return caller.token ? caller.token->uid : 0; }

std::string sharer_of(const Call& call, const std::string& job) { return owner_of(job, uid_of(call.caller)); }

Response refused(Refusal refusal) {
  switch (refusal) {
    case Refusal::unknown:
      return problem(404, "no such job, upload or file");
    case Refusal::expired:
      return problem(410, "the upload has expired");
    case Refusal::wrong_offset:
      return problem(409, "the upload continues at another offset");
    case Refusal::wrong_digest:
      return problem(460, "the bytes do not match the announced SHA-256");
    case Refusal::other_content:
      return problem(409, "the rank already has a different file");
    case Refusal::too_large:
      return problem(413, "the file is larger than allowed");
    case Refusal::no_space:
      return problem(507, "no space left on the disk");
    case Refusal::quota:
      return problem(507, "the quota of the job or its owner is used up");
    case Refusal::too_many:
      return problem(429, "too many open uploads");
    case Refusal::unavailable:
      return problem(503, "the store accepts nothing at present");
    case Refusal::none:
      break;
  }
  return problem(500, "no reason");
}

void put_job(const Context& context, const CallPointer& call, const Continue& next) {
  next(TakeDocument{[&store = context.store, usual = context.retention, call](const std::string& body,
                                                                              const Respond& respond) {
    ParsedSettings parsed = parse_job_settings(body, call->registry);
    parsed.settings.sender_uid = uid_of(call->caller);
    if (parsed.problem != nullptr) return respond(problem(400, parsed.problem));
    const std::string job = newest_run(store, call->request.job);
    const auto known = store.job_in_brief(job);
    if (!known && !is_name(job)) return respond(problem(404, "no such job, upload or file"));
    if (deletes_sooner(parsed.settings, known, usual)) {
      const auto facts = facts_of(store, job);
      if (!may_delete(job, facts ? &*facts : nullptr, call->caller)) {
        return respond(problem(403, "a shorter retention deletes files: it needs the scope admin"));
      }
      log_info("retention_shortened", {{"job", job},
                                       {"retention_s", parsed.settings.retention->count()},
                                       {"token", token_trace(call->request.bearer)},
                                       {"peer", call->peer}});
    }
    const auto owner = parsed.settings.owner_uid;
    if (known && known->owner_uid != 0 && owner && *owner != known->owner_uid) {
      log_warning("job_changes_owner", {{"job", job}, {"from", int64_t{known->owner_uid}}, {"to", int64_t{*owner}}});
    }
    store.put_job(job, parsed.settings, state_as(known ? 200 : 201, [respond](Next state) {
                    respond(std::get<Response>(std::move(state)));
                  }));
  }});
}

void report_again(const Context& context, const CallPointer& call, const Continue& next) {
  context.store.report_again(call->request.job, state_as(202, next));
}

void each_readable_job(const Store& store, const Call& call, const std::string& after,
                       const std::function<bool(const JobState&)>& take) {
  const auto readable = [&](const JobState& job) {
    return may_read(job.name, facts_of(job), call.caller, call.request.endpoint);
  };
  const std::string only = only_job_of(call);
  if (!only.empty()) {
    std::vector<std::string> runs = store.runs_of(only);
    std::sort(runs.begin(), runs.end());
    for (const std::string& run : runs) {
      const auto job = run > after ? store.job_in_brief(run) : std::nullopt;
      if (job && readable(*job) && !take(*job)) return;
    }
    return;
  }
  std::string last = after;
  for (size_t looked_at = kAtATime; looked_at == kAtATime;) {
    const std::vector<JobState> jobs = store.jobs(last, kAtATime);
    looked_at = jobs.size();
    if (!jobs.empty()) last = jobs.back().name;
    for (const JobState& job : jobs) {
      if (readable(job) && !take(job)) return;
    }
  }
}

Response list_jobs(const Store& store, const History& history, const UserNames& users, const Call& call) {
  JobSearch search(call.request.query.begin(), call.request.query.end());
  const auto by_name = [](const auto& pair) { return kListedByName.contains(pair.first); };
  if (!std::all_of(search.begin(), search.end(), by_name)) {
    const auto page = search.extract("page");
    const FoundJobs found = find_jobs(store, history, users, call, search, page ? std::stoul(page.mapped()) : 1);
    std::vector<std::string> verdicts;
    for (const JobState& job : found.jobs) verdicts.push_back(verdict_of(store, job));
    return document(200, "application/json", found_jobs_json(found.jobs, verdicts, found.found, found.pages));
  }
  std::string after, state;
  size_t limit = kUsualList;
  for (const auto& [key, value] : call.request.query) {
    if (key == "after") after = value;
    if (key == "state") state = value;
    if (key == "limit") limit = std::stoul(value);
  }
  std::vector<JobState> page;
  each_readable_job(store, call, after, [&](const JobState& job) {
    const bool wanted = state.empty() || state == state_of(job);
    auto whole = wanted ? store.job(job.name) : std::nullopt;
    if (whole) page.push_back(std::move(*whole));
    return page.size() < limit;
  });
  const std::string next = page.size() == limit ? page.back().name : "";
  return document(200, "application/json", job_list_json(page, next));
}

Response get_job(const Store& store, const Call& call) {
  const auto job = store.job(call.request.job);
  if (!job) return problem(404, "no such job");
  const std::vector<std::string> runs = store.runs_of(std::string(name_of_run(job->name)));
  return document(200, "application/json",
                  job_json(*job, verdict_of(store, *job), captures_with_reports(store, job->name), runs));
}

void end_job(const Context& context, const CallPointer& call, const Continue& next) {
  context.store.end_job(newest_run(context.store, call->request.job), state_as(200, next));
}

// Who asks learns the epoch that tokens must have from now on.
void revoke_tokens(const Context& context, const CallPointer& call, const Continue& next) {
  context.store.raise_epoch(newest_run(context.store, call->request.job), state_as(200, next));
}

void delete_job(const Context& context, const CallPointer& call, const Continue& next) {
  context.store.delete_job(call->request.job, call->peer, [next](const Outcome<Done>& outcome) {
    if (outcome.refusal != Refusal::none) return next(refused(outcome.refusal));
    Response response;
    response.status = 204;
    next(std::move(response));
  });
}

}  // namespace skewscope::gather
