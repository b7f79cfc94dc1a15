// The endpoints, one function each, for callers that were let in: quota and slots, then what comes next.
#pragma once

#include <functional>
#include <memory>

#include "src/gather/history/history.h"
#include "src/gather/http/service.h"

namespace skewscope::gather {

class UserNames;

using CallPointer = std::shared_ptr<const Call>;
using Continue = std::function<void(Next)>;

struct Context {
  Store& store;
  Lobby& lobby;
  std::chrono::seconds retention;  // of jobs that say nothing else
  GatherDeadlines deadlines;
};

Response refused(Refusal refusal);

// upload_handlers.cc
Response upload_options(const GatherLimits& limits);
void create_upload(const Context& context, const CallPointer& call, const Continue& next);
void head_upload(const Context& context, const CallPointer& call, const Continue& next);
void patch_upload(const Context& context, const CallPointer& call, const Continue& next);
void delete_upload(const Context& context, const CallPointer& call, const Continue& next);
void put_rank(const Context& context, const CallPointer& call, const Continue& next);

// job_handlers.cc
void put_job(const Context& context, const CallPointer& call, const Continue& next);
// Those that the caller may read, by name; with a key of a search, or `page`, as find_jobs() finds them.
Response list_jobs(const Store& store, const History& history, const UserNames& users, const Call& call);
Response get_job(const Store& store, const Call& call);
void end_job(const Context& context, const CallPointer& call, const Continue& next);
void report_again(const Context& context, const CallPointer& call, const Continue& next);
void revoke_tokens(const Context& context, const CallPointer& call, const Continue& next);
void delete_job(const Context& context, const CallPointer& call, const Continue& next);
// Those of the jobs after this name that the caller may read, by name and in brief, until `take` wants no more.
void each_readable_job(const Store& store, const Call& call, const std::string& after,
                       const std::function<bool(const JobState&)>& take);
// Whose jobs alone the caller sees, by token or cookie; nullopt: those that it names.
std::optional<uint32_t> user_of(const Caller& caller);
// The runs of a series that the caller may be told of, the newest first: all, or a user's own. A job that is gone was
// his who owned it when its report was made.
std::vector<Run> readable_runs(const Store& store, const History& history, const Call& call, const std::string& series,
                               size_t most);
// What decides who may do what with a job; nullopt: there never was one of this name.
std::optional<JobFacts> facts_of(const Store& store, const std::string& job);
JobFacts facts_of(const JobState& job);
uint32_t uid_of(const Caller& caller);
// Whose share of the places for bodies and downloads it takes: the owner's, whose jobs may be many; where the token
// names none, the job's.
std::string sharer_of(const Call& call, const std::string& job);

// file_handlers.cc
Response get_rank(const Store& store, const Call& call);
Response get_report(const Store& store, const Call& call);
Response get_report_file(const Store& store, const Call& call);
std::string words_on_aligned_trace(const Store& store, const std::string& job);  // "": there is none
std::string last_lines_of_log(const Store& store, const std::string& job);       // of the newest report's; "": none
std::string verdict_of_report(const Store& store, const JobState& job);          // the same
std::string verdict_of_hang(const Store& store, const JobState& job);            // of the newest dumps; the same

}  // namespace skewscope::gather
