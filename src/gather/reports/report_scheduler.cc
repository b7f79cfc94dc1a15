// One thread holds, for every job whose state has changed, when its next report is due (report_due), and starts what is
// due while fewer than `report_processes` run: of the owner whose last one began longest ago, and of his the one that
// is due longest. One owner never has all processes, where there are several: others' reports do not wait for the end
// of his. A change of a job wakes it, so that a complete job's report starts at once. A report that crashed or
// wanted more memory is made once more with half the threads; after that it has failed until another rank arrives, or
// is due again after a pause (JobState::failed_at). Once a minute the same thread asks what retention lets go.
#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "reports.h"
#include "src/gather/history/take_report.h"
#include "src/gather/kept/verdict.h"
#include "src/gather/process/log.h"

namespace skewscope::gather {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

constexpr seconds kRetentionEvery{60}, kPutOff{5};
constexpr int kFirstSignalCode = 128, kReportTookTooLong = 124;

int threads_for_reports(int processes) {
  const int cores = static_cast<int>(std::max(2u, std::thread::hardware_concurrency()));
  return std::max(1, cores / 2 / std::max(1, processes));
}

class Scheduler : public ReportScheduler {
 public:
  Scheduler(Store& store, ReportForker& forker, History& history, const GatherOptions& options, ReportHasEnded ended)
      : store_(store), forker_(forker), history_(history), has_ended_(std::move(ended)), options_(options) {
    store_.on_job_change([this](const std::string& job) { look_at(job); });
    look_at_all();
    thread_ = std::thread([this] { work(); });
  }

  ~Scheduler() override {
    store_.on_job_change({});
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    wake_.notify_all();
    thread_.join();
    forker_.stop();
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return running_ == 0; });
  }

  void use(const GatherOptions& options) override {
    {
      const std::lock_guard lock(mutex_);
      options_ = options;
      sweep_ = wall_clock();
    }
    look_at_all();
  }

 private:
  static constexpr size_t kPage = 1000;

  GatherOptions options() {
    const std::lock_guard lock(mutex_);
    return options_;
  }

  void look_at_all() {
    std::set<std::string> all;
    std::string after;
    for (std::vector<JobState> page = store_.jobs(after, kPage); !page.empty(); page = store_.jobs(after, kPage)) {
      for (const JobState& job : page) all.insert(job.name);
      after = page.back().name;
    }
    {
      const std::lock_guard lock(mutex_);
      changed_.merge(all);
    }
    wake_.notify_all();
  }

  void look_at(const std::string& job) {
    {
      const std::lock_guard lock(mutex_);
      changed_.insert(job);
    }
    wake_.notify_all();
  }

  void work() {
    take_reports(store_, history_);
    std::unique_lock lock(mutex_);
    while (!ends_) {
      const std::set<std::string> changed = std::exchange(changed_, {}), reported = std::exchange(reported_, {});
      const GatherOptions options = options_;
      const bool sweeps = wall_clock() >= sweep_;
      if (sweeps) sweep_ = wall_clock() + kRetentionEvery;
      lock.unlock();
      if (clock_was_set_back()) look_at_all();
      for (const std::string& job : changed) plan(job, options.deadlines);
      for (const std::string& job : reported) remember(job);
      if (sweeps) delete_what_is_old(options.retention);
      start_what_is_due(options.deadlines);
      lock.lock();
      if (changed_.empty() && !ends_) wake_.wait_for(lock, until_next());
    }
  }

  // What was planned by it is then planned again.
  bool clock_was_set_back() {
    const Time before = std::exchange(clock_, wall_clock());
    if (clock_ >= before) return false;
    const std::lock_guard lock(mutex_);
    put_off_.clear();
    sweep_ = clock_;
    return true;
  }

  void remember(const std::string& job) {
    const std::optional<JobState> state = store_.job_in_brief(job);
    if (!state) return;
    const bool made = state->report != ReportState::failed;
    if (const auto run = made ? run_of_report(store_, *state) : std::nullopt) history_.add(*run);
    if (has_ended_) has_ended_(*state);
  }

  // Reached by this thread alone.
  void plan(const std::string& job, const GatherDeadlines& deadlines) {
    due_.erase(job);
    Time earliest;
    {
      const std::lock_guard lock(mutex_);
      if (starting_.count(job)) return;
      if (const auto found = put_off_.find(job); found != put_off_.end()) {
        earliest = found->second;
        put_off_.erase(found);
      }
    }
    const std::optional<JobState> state = store_.job_in_brief(job);
    if (!state) return;
    if (const std::optional<Time> due = report_due(*state, deadlines)) due_[job] = std::max(*due, earliest);
  }

  // With `mutex_` held.
  std::chrono::milliseconds until_next() const {
    const auto at = system_clock::now();
    Time next = sweep_;
    for (const auto& [job, due] : due_) {
      // What is due and has not begun waits for the end of a report, which wakes.
      if (running_ == 0 || due > at) next = std::min(next, due);
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - at);
    const std::chrono::milliseconds most = std::chrono::seconds(5);
    return running_ >= options_.report_processes ? most : std::clamp(wait, std::chrono::milliseconds(10), most);
  }

  struct Ready {
    uint64_t turn = 0;  // when the owner's last report began; 0: none has
    Time due{};
    std::string job, owner;
    bool operator<(const Ready& other) const {
      return std::tie(turn, due, job) < std::tie(other.turn, other.due, other.job);
    }
  };

  // Bodies that are under way have moved the time: they do not wake this thread.
  std::set<Ready> ready(const GatherDeadlines& deadlines) {
    std::set<Ready> out;
    const Time at = wall_clock();
    for (auto entry = due_.begin(); entry != due_.end();) {
      const bool passed = entry->second <= at;
      const std::optional<JobState> state = passed ? store_.job_in_brief(entry->first) : std::nullopt;
      const std::optional<Time> due = state ? report_due(*state, deadlines) : std::nullopt;
      if (passed && !due) {
        entry = due_.erase(entry);
        continue;
      }
      if (due) entry->second = *due;
      if (due && *due <= at) {
        const std::string owner = owner_of(state->name, state->owner_uid);
        const auto turn = turns_.find(owner);
        out.insert({turn == turns_.end() ? 0 : turn->second, *due, entry->first, owner});
      }
      ++entry;
    }
    return out;
  }

  bool take_a_process(const Ready& one) {
    const std::lock_guard lock(mutex_);
    const bool free = running_ < options_.report_processes;
    running_ += free ? 1 : 0;
    if (free) owners_[one.job] = one.owner;
    return free;
  }

  bool may_have_another(const std::string& owner) {
    const std::lock_guard lock(mutex_);
    const auto his =
        std::count_if(owners_.begin(), owners_.end(), [&](const auto& run) { return run.second == owner; });
    return his < std::max(1, options_.report_processes - 1);
  }

  bool has_a_process() {
    const std::lock_guard lock(mutex_);
    return running_ < options_.report_processes;
  }

  void start_what_is_due(const GatherDeadlines& deadlines) {
    while (has_a_process()) {
      const std::set<Ready> waiting = ready(deadlines);
      const auto first = std::find_if(waiting.begin(), waiting.end(),
                                      [this](const Ready& one) { return may_have_another(one.owner); });
      if (first == waiting.end() || !take_a_process(*first)) return;
      turns_[first->owner] = ++last_turn_;
      due_.erase(first->job);
      start(first->job);
    }
    forget_old_turns();
  }

  void forget_old_turns() {
    constexpr uint64_t kMostTurns = 10'000;
    std::erase_if(turns_, [&](const auto& turn) { return turn.second + kMostTurns < last_turn_; });
  }

  void start(const std::string& job) {
    {
      const std::lock_guard lock(mutex_);
      starting_.insert(job);
    }
    store_.begin_report(job, [this, job](const Outcome<Store::ReportFolders>& begun) {
      if (begun.refusal != Refusal::none || stopping()) return put_off(job);
      const GatherOptions at_present = options();
      const ReportTask task{begun.value.traces,
                            begun.value.output,
                            job,
                            threads_for_reports(at_present.report_processes),
                            at_present.report_memory,
                            begun.value.world_size,
                            begun.value.room,
                            begun.value.hosts,
                            at_present.aligned_trace};
      make(job, begun.value.generation, task, true);
    });
  }

  void make(const std::string& job, int generation, ReportTask task, bool again) {
    forker_.run(task, [this, job, generation, task, again](int code) mutable {
      if (stopping()) return ended(job);  // its end was ours, not its own
      if (again && (code >= kFirstSignalCode || code == kReportTookTooLong || code == kReportOutOfMemory)) {
        task.threads = std::max(1, task.threads / 2);
        task.with_more = false;
        return make(job, generation, task, false);
      }
      store_.end_report(job, generation, code, [this, job, generation, code](const Outcome<JobState>& outcome) {
        const bool made = outcome.refusal == Refusal::none && outcome.value.report_generation == generation;
        if (made && outcome.value.dumps > 0) {
          log_warning("job_hangs", {{"job", job},
                                    {"dumps", outcome.value.dumps},
                                    {"generation", int64_t{generation}},
                                    {"verdict", verdict_in(store_, job, "hang/summary.txt")}});
        }
        if (!made) {
          log_warning("report_failed",
                      {{"job", job}, {"generation", int64_t{generation}}, {"exit_code", int64_t{code}}});
        }
        {
          const std::lock_guard lock(mutex_);
          reported_.insert(job);
        }
        ended(job);
      });
    });
  }

  // There is no room for it now: not tried again at once.
  void put_off(const std::string& job) {
    {
      const std::lock_guard lock(mutex_);
      put_off_[job] = wall_clock() + kPutOff;
    }
    ended(job);
  }

  bool stopping() {
    const std::lock_guard lock(mutex_);
    return ends_;
  }

  void ended(const std::string& job) {
    {
      const std::lock_guard lock(mutex_);
      --running_;
      owners_.erase(job);
      starting_.erase(job);
      changed_.insert(job);
      wake_.notify_all();  // inside the lock: the destructor may be what waits for it
    }
  }

  void delete_what_is_old(const GatherRetention& retention) {
    std::vector<JobState> jobs;
    std::string after;
    for (std::vector<JobState> page = store_.jobs(after, kPage); !page.empty(); page = store_.jobs(after, kPage)) {
      after = page.back().name;
      jobs.insert(jobs.end(), page.begin(), page.end());
    }
    std::map<std::string, const JobState*> by_name;
    for (const JobState& job : jobs) by_name[job.name] = &job;
    for (const std::string& name : jobs_to_delete(jobs, retention, store_.aging())) {
      const JobState& job = *by_name[name];
      // Somebody may have begun to send since it was looked at.
      const auto still = [seen = job.arrivals](const JobState& now) { return is_over(now) && now.arrivals == seen; };
      const auto files = job.arrived, bytes = static_cast<int64_t>(job.bytes);
      store_.delete_job_if(name, still, [name, files, bytes](const Outcome<Done>& outcome) {
        if (outcome.refusal != Refusal::none) return;
        log_info("job_deleted", {{"job", name}, {"by", "retention"}, {"files", files}, {"bytes", bytes}});
      });
    }
    history_.forget(wall_clock() - retention.history);
  }

  Store& store_;
  ReportForker& forker_;
  History& history_;
  ReportHasEnded has_ended_;
  std::map<std::string, Time> due_;
  std::map<std::string, uint64_t> turns_;  // by owner: the number of his last report
  uint64_t last_turn_ = 0;
  Time clock_ = wall_clock();  // when it was last looked at

  std::mutex mutex_;  // all below
  GatherOptions options_;
  Time sweep_ = wall_clock();  // next look at what retention lets go
  std::condition_variable wake_;
  bool ends_ = false;
  int running_ = 0;
  std::set<std::string> changed_, starting_;
  std::set<std::string> reported_;             // whose report has ended, and nobody has heard of it yet
  std::map<std::string, std::string> owners_;  // by job, of the reports that run
  std::map<std::string, Time> put_off_;        // until when, of jobs whose report could not begin
  std::thread thread_;
};

}  // namespace

std::unique_ptr<ReportScheduler> ReportScheduler::start(Store& store, ReportForker& forker, History& history,
                                                        const GatherOptions& options, ReportHasEnded ended) {
  return std::make_unique<Scheduler>(store, forker, history, options, std::move(ended));
}

}  // namespace skewscope::gather
