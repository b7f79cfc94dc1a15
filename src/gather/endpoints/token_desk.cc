#include "token_desk.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "handlers.h"
#include "skewscope/protocol/names.h"

namespace skewscope::gather {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr ptrdiff_t kMostWaiting = 64, kMostOfOneAddress = 8;
constexpr int64_t kUsualLife = 24 * 3600, kLongestLife = 8 * 24 * 3600;  // s

struct Wish {
  std::string job;  // or kOwnJobs; "": as the credential says
  int64_t life = kUsualLife;
};

std::optional<Wish> parse_wish(const std::string& body) {
  const json document = body.empty() ? json::object() : json::parse(body, nullptr, false);
  if (!document.is_object()) return std::nullopt;
  Wish wish;
  for (const auto& [key, value] : document.items()) {
    if (key == "job" && value.is_string() && is_name(value.get<std::string>())) {
      wish.job = value.get<std::string>();
    } else if (key == "user" && value == true && !document.contains("job")) {
      wish.job = kOwnJobs;
    } else if (key == "life_s" && value.is_number_unsigned() && value > 0U) {
      wish.life = value > static_cast<uint64_t>(kLongestLife) ? kLongestLife : value.get<int64_t>();
    } else {
      return std::nullopt;
    }
  }
  return wish;
}

Response grant(const Store& store, const Call& call, const Caller& caller, const TokenDesk::Means& means,
               const Wish& wish) {
  const auto known = facts_of(store, wish.job);
  const JobFacts facts = known.value_or(JobFacts{});
  const Decision decision = authorize(call.request, wish.job, known ? &facts : nullptr, caller);
  if (decision == Decision::unknown) return problem(404, "no such job");
  if (decision != Decision::allow) return problem(status_of(decision), "this does not give a token");
  TokenPayload payload;
  payload.scopes = kUpload | kRead;
  payload.uid = caller.munge ? caller.munge->uid : facts.owner_uid != 0 ? facts.owner_uid : uid_of(caller);
  payload.job = wish.job == kOwnJobs ? jobs_of_user(payload.uid) : wish.job;
  payload.epoch = facts.epoch;
  payload.expires = wall_clock() + seconds(wish.life);
  json granted{{"token", means.keys.mint(payload)},
               {"scopes", {"upload", "read"}},
               {"expires", payload.expires.time_since_epoch().count()}};
  if (user_of(payload)) {
    granted["uid"] = payload.uid;
  } else {
    granted["job"] = payload.job;
  }
  return document(201, "application/json", granted.dump() + "\n");
}

// A credential that does not count is answered like any other; one that nobody could look at is not its sender's fault.
Response grant_for_munge(const Store& store, const Call& call, const TokenDesk::Means& means, Wish wish) {
  Caller caller = call.caller;
  const MungeAnswer answer = means.munge->decode(call.request.bearer, means.server);
  if (answer.unavailable) return problem(503, "MUNGE does not answer");
  if (!answer.identity) return unauthorized();
  if (!wish.job.empty() && wish.job != answer.identity->job)
    return problem(400, "the credential asks for another token");
  wish.job = answer.identity->job;
  caller.munge = answer.identity;
  return grant(store, call, caller, means, wish);
}

}  // namespace

void TokenDesk::stop() {
  std::deque<Waiting> dropped;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    dropped.swap(waiting_);
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void TokenDesk::issue(const std::shared_ptr<const Call>& call, Means means, const std::string& body, Respond respond) {
  const auto wish = parse_wish(body);
  if (!wish) return respond(problem(400, "the body is no JSON object of job, or user, and life_s"));
  if (call->request.authorization_scheme != "munge") return respond(grant(store_, *call, call->caller, means, *wish));
  const std::lock_guard lock(mutex_);
  if (over_) return respond(problem(503, "the daemon is stopping"));
  const auto of_address = std::count_if(waiting_.begin(), waiting_.end(),
                                        [&](const Waiting& other) { return other.address == call->peer; });
  if (of_address >= kMostOfOneAddress) return respond(problem(429, "too many ask for tokens from this address"));
  if (std::ssize(waiting_) >= kMostWaiting) return respond(problem(503, "too many ask for tokens"));
  waiting_.push_back({call->peer, [this, call, means = std::move(means), wish = *wish, respond = std::move(respond)] {
                        respond(grant_for_munge(store_, *call, means, wish));
                      }});
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_one();
}

void TokenDesk::work() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto next = std::move(waiting_.front().decode);
    waiting_.pop_front();
    lock.unlock();
    next();
    lock.lock();
  }
}

}  // namespace skewscope::gather
