// The endpoints, one function each. A handler checks the scope, then the quota and slots, then says what comes next.
#pragma once

#include <functional>
#include <memory>

#include "service.h"
#include "tokens.h"

namespace skewscope::gather {

using CallPointer = std::shared_ptr<const Call>;
using Continue = std::function<void(Next)>;

struct Rooms {
  Store& store;
  Lobby& lobby;
};

// What `caller` may not do with `job`: 404 for a job that is not theirs, there or not; 403 for one that is.
// nullopt: they may.
std::optional<Response> refuse_scope(const Caller& caller, const std::string& job, Scope scope);
Response refused(Refusal refusal);

// upload_handlers.cc
Response upload_options(const GatherLimits& limits);
void create_upload(const Rooms& rooms, const CallPointer& call, const Continue& next);
void head_upload(const Rooms& rooms, const CallPointer& call, const Continue& next);
void patch_upload(const Rooms& rooms, const CallPointer& call, const Continue& next);
void delete_upload(const Rooms& rooms, const CallPointer& call, const Continue& next);
void put_rank(const Rooms& rooms, const CallPointer& call, const Continue& next);

// job_handlers.cc
void put_job(const Rooms& rooms, const CallPointer& call, const Continue& next);
Response list_jobs(const Store& store, const Call& call);
Response get_job(const Store& store, const Call& call);
void end_job(const Rooms& rooms, const CallPointer& call, const Continue& next);
void delete_job(const Rooms& rooms, const CallPointer& call, const Continue& next);
// The jobs that the caller may see, by name.
std::vector<JobState> visible_jobs(const Store& store, const Caller& caller, const std::string& after, size_t limit);

// file_handlers.cc
Response get_rank(const Store& store, const Call& call);
Response get_report(const Store& store, const Call& call);

}  // namespace skewscope::gather
