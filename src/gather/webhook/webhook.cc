#include "webhook.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "post.h"
#include "src/gather/history/take_report.h"
#include "src/gather/kept/verdict.h"
#include "src/gather/process/log.h"

namespace skewscope::gather {
namespace {

using std::chrono::seconds;

constexpr seconds kLookForDue{1};
constexpr seconds kPauseOfDisk{60};  // what cannot be noted would be sent again at once
constexpr int kGone = 410;
constexpr size_t kJobsOfPage = 1000;

double random_share() {
  static thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

}  // namespace

seconds pause_after(int tries, double random) {
  const int64_t most = std::min<int64_t>(kLongestPause.count(), int64_t{1} << std::clamp(tries - 1, 0, 20));
  return seconds(std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(most) * (1 + random) / 2)));
}

Webhook::Webhook(const Store& store, History& history, std::function<std::string(uint32_t)> name_of)
    : store_(store), history_(history), name_of_(std::move(name_of)) {}

Webhook::~Webhook() {
  end();
  if (thread_.joinable()) thread_.join();
}

void Webhook::end() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
}

void Webhook::start(const std::shared_ptr<const WebhookTarget>& target, const std::string& base) {
  use(target, base);
  const Time since = history_.deliveries().since(target != nullptr, wall_clock());
  thread_ = std::thread([this, since] { work(since); });
}

void Webhook::use(const std::shared_ptr<const WebhookTarget>& target, const std::string& base) {
  history_.deliveries().since(target != nullptr, wall_clock());
  const std::lock_guard lock(mutex_);
  settings_ = {target, base};
}

Webhook::Settings Webhook::settings() const {
  const std::lock_guard lock(mutex_);
  return settings_;
}

bool Webhook::ends() const {
  const std::lock_guard lock(mutex_);
  return ends_;
}

void Webhook::tell(const JobState& job) {
  const Settings held = settings();
  auto ended = report_that_ended(job);
  if (!held.target || !ended || history_.deliveries().has(job.name, job.created, ended->generation)) return;
  if (ended->kind != ReportEnded::Kind::failed) {
    ended->verdict = verdict_in(store_, job.name, "summary.txt");
    ended->hang = verdict_in(store_, job.name, "hang/summary.txt");
    if (auto run = run_of_report(store_, job)) ended->outcome = std::move(run->outcome);
  }
  if (job.owner_uid != 0) ended->owner = name_of_(job.owner_uid);
  const bool wanted = is_wanted(*ended, held.target->options);
  history_.deliveries().add({job.name, job.created, ended->generation, id_of(*ended, held.base),
                             wanted ? message_of(*ended, held.base) : "", wall_clock()});
}

void Webhook::tell_what_was_missed(Time since) {
  std::string after;
  for (std::vector<JobState> page = store_.jobs(after, kJobsOfPage); !page.empty() && !ends();
       page = store_.jobs(after, kJobsOfPage)) {
    after = page.back().name;
    for (const JobState& job : page) {
      if (job.reported_at >= since) tell(job);
    }
  }
}

void Webhook::work(Time since) {
  tell_what_was_missed(since);
  seconds pause{0};
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, pause, [this] { return ends_; })) return;
    }
    const auto target = settings().target;
    const Time now = wall_clock();
    const auto next = target ? history_.deliveries().next(now, now + kLongestPause) : std::nullopt;
    pause = !next ? kLookForDue : deliver(*next, *target) ? seconds(0) : kPauseOfDisk;
  }
}

// False: what became of it could not be noted.
bool Webhook::deliver(const Delivery& delivery, const WebhookTarget& target) {
  const int64_t timestamp = wall_clock().time_since_epoch().count();
  const Posted posted = post(target.options.url, target.options.ca_file,
                             {"Content-Type: application/json", "Expect:", "webhook-id: " + delivery.id,
                              fmt::format("webhook-timestamp: {}", timestamp),
                              "webhook-signature: " + signature_of(target.keys, delivery.id, timestamp, delivery.body)},
                             delivery.body, [this] { return !ends(); });
  if (posted.status == 0 && ends()) return true;
  const bool taken = posted.status / 100 == 2;
  const std::string why = posted.status == 0 ? posted.why : fmt::format("it answered {}", posted.status);
  note_receiver(taken, target, why);
  Deliveries& deliveries = history_.deliveries();
  if (taken) return deliveries.delivered(delivery);
  const Time now = wall_clock();
  if (posted.status != kGone && now - delivery.queued < target.options.give_up) {
    return deliveries.try_again(delivery, now + pause_after(delivery.tries + 1, random_share()));
  }
  log_warning("webhook_dropped", {{"job", delivery.job}, {"tries", int64_t{delivery.tries} + 1}, {"err", why}});
  return deliveries.drop(delivery);
}

void Webhook::note_receiver(bool answers, const WebhookTarget& target, const std::string& why) {
  if (std::exchange(answers_, answers) == answers) return;
  const std::string url = without_path(target.options.url);
  if (answers) return log_info("webhook_works", {{"url", url}});
  log_warning("webhook_fails", {{"url", url}, {"err", why}});
}

}  // namespace skewscope::gather
