// The agent's story. One thread looks: it scans, waits for files to be finished, queues them. `uploads` threads send.
// Files are distinguished by stamp (device, inode, size, time of change), so that a renamed file is the same, a changed
// one is another, and "does not change" means: no other stamp was seen under its name.
#include "skewscope/ship.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <ctime>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "growing_logs.h"
#include "left_out.h"
#include "plan.h"
#include "rank_claims.h"
#include "remove_source.h"
#include "scan.h"
#include "seen_file.h"
#include "skewscope/base/printable.h"
#include "start_rules.h"
#include "watcher.h"

namespace skewscope {
namespace {

namespace fs = std::filesystem;
using namespace ship;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kTick{50}, kTell{1000};
constexpr milliseconds kLook{500};          // between looks at files that were not finished
constexpr std::chrono::seconds kPause{10};  // before another try of what could not be read
constexpr std::chrono::hours kSweep{1};
constexpr int kScanShare = 20;  // scanning takes at most one part in 20 of the time

class Agent {
 public:
  Agent(const ShipOptions& options, std::string base, std::string state_directory, std::function<bool()> stop)
      : options_(options),
        base_(std::move(base)),
        state_directory_(std::move(state_directory)),
        target_(fmt::format("{} {} {} {}", base_, options.job, options.capture, options.digest)),
        ledger_(state_directory_, target_),
        logs_(options, state_directory_, target_),
        pace_(options.rate_bytes_per_s),
        cpu_(0.01 * options.cpu_percent),
        stop_(std::move(stop)) {}

  Shipped run() {
    become_gentle();
    std::vector<std::thread> workers;
    for (int i = 0; i < options_.uploads; ++i) workers.emplace_back([this] { work(); });
    workers.emplace_back([this] { send_logs(); });
    find_spooled();
    look_until_done();
    stopping_ = true;
    wake_.notify_all();
    for (std::thread& worker : workers) worker.join();
    next_progress_ = {};
    tell_progress(Clock::now());
    return result();
  }

 private:
  void say(Severity severity, const std::string& line) {
    if (!options_.say) return;
    const std::lock_guard lock(say_mutex_);
    options_.say(severity, printable(line));
  }

  // What an earlier run held and did not get through, whatever became of its name.
  void find_spooled() {
    ledger_.sweep(std::time(nullptr));
    for (const std::string& aside : ledger_.clear_asides()) say(Severity::error, aside + ": has lost its place");
    const std::lock_guard lock(mutex_);
    std::vector<Item> items = ledger_.unfinished();
    std::sort(items.begin(), items.end(),
              [](const Item& a, const Item& b) { return a.stamp.mtime_ns < b.stamp.mtime_ns; });
    for (const Item& item : items) {
      if (access(ledger_.held_path(item.stamp).c_str(), F_OK) != 0) continue;
      Seen& seen = seen_[item.stamp.key()];
      seen.file = {item.path, item.stamp};
      seen.since = Clock::now();
      seen.spooled = true;
      enqueue(item.stamp.key(), seen);
    }
  }

  void look_until_done() {
    Clock::time_point next_scan{}, next_look{}, next_sweep = Clock::now() + kSweep;
    bool happened = true, scanned = false;
    while (!stop_()) {
      const auto now = Clock::now();
      if ((happened && now >= next_scan_allowed_ && !(options_.once && scanned)) ||
          (!options_.once && now >= std::max(next_scan, next_scan_allowed_))) {
        look_around();
        happened = false;
        scanned = true;
        next_scan = now + options_.rescan;
        next_look = {};
      }
      if (now >= next_look) {
        look_at_watched();
        next_look = now + kLook;
      }
      tell_progress(now);
      if (options_.once && scanned && logs_.all_decided() && is_done()) return remove_renamed();
      if (now >= next_sweep) {
        ledger_.sweep(std::time(nullptr));
        next_sweep = now + kSweep;
      }
      happened = watcher_.wait(kTick) || happened;
    }
  }

  void tell_progress(Clock::time_point now) {
    if (!options_.progress || now < next_progress_) return;
    next_progress_ = now + kTell;
    const std::lock_guard lock(mutex_);
    options_.progress(progress_of(seen_));
  }

  void look_around() {
    const auto began = Clock::now();
    std::vector<std::string> folders = folders_of(options_.paths);
    if (!options_.dumps.empty()) folders.push_back(folder_of_dumps(options_.dumps));
    if (!options_.once) watcher_.watch(folders);
    const Scan found = scan(options_.paths, state_directory_, options_.dumps);
    const std::lock_guard lock(mutex_);
    ++scan_;
    for (const Candidate& file : found.files) {
      if (!logs_.takes(file)) meet(file);
    }
    for (const std::string& line : left_out_.take(found)) say(Severity::warning, line);
    for (auto entry = seen_.begin(); entry != seen_.end();) {
      const Seen& seen = entry->second;
      const bool gone =
          seen.scan != scan_ && !seen.spooled && seen.state != Seen::State::queued && !left_out_.may_hide(seen.file);
      if (gone) claims_.forget(seen.file);
      entry = gone ? seen_.erase(entry) : std::next(entry);
    }
    for (const int rank : waiting_ranks(seen_)) go_on_with(rank);
    next_scan_allowed_ = Clock::now() + kScanShare * (Clock::now() - began);
  }

  void meet(const Candidate& file) {
    const auto [entry, is_new] = seen_.try_emplace(file.stamp.key());
    Seen& seen = entry->second;
    seen.file.path = seen.at_work ? seen.file.path : file.path;
    seen.scan = scan_;
    if (is_new) {
      seen.file.stamp = file.stamp;
      seen.since = Clock::now();
      const auto item = ledger_.load(file.stamp);
      if (item && item->accepted && !options_.verify && !options_.delete_source) {
        settle_down(seen, {Delivery::End::accepted, "", 0, -1, item->job});
      }
    }
    if (seen.state == Seen::State::accepted) remove_accepted(file);
  }

  // Its agent ended before it could, it was renamed meanwhile, or somebody had it open.
  void remove_accepted(const Candidate& file) const {
    if (options_.delete_source && !rank_of_dump(file.path, options_.dumps))
      remove_source(file.path, file.stamp, ledger_.aside_path(file.stamp));
  }

  // With --once: what has another name now than when it was found.
  void remove_renamed() {
    if (!options_.delete_source) return;
    const Scan found = scan(options_.paths, state_directory_);
    const std::lock_guard lock(mutex_);
    for (const Candidate& file : found.files) {
      const auto seen = seen_.find(file.stamp.key());
      if (seen != seen_.end() && seen->second.state == Seen::State::accepted) remove_accepted(file);
    }
  }

  void look_at_watched() {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<const std::string, Seen>*> watched;
    for (auto& entry : seen_) {
      Seen& seen = entry.second;
      const bool unreadable = seen.state == Seen::State::watched && seen.unreadable;
      if (seen.state == Seen::State::unfinished || unreadable) lose_patience(seen);
      if (seen.state == Seen::State::watched) watched.push_back(&entry);
    }
    // By age, as claims_ wants it.
    std::sort(watched.begin(), watched.end(),
              [](const auto* a, const auto* b) { return is_older(a->second.file, b->second.file); });
    for (auto* entry : watched) look_at(entry->first, entry->second);
  }

  void look_at(const std::string& key, Seen& seen) {
    if (seen.unreadable && Clock::now() - *seen.unreadable < kPause) return;
    if (seen.spooled) return enqueue(key, seen);  // its own name may be gone
    const int descriptor = open(seen.file.path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) {
      if (ledger_.load(seen.file.stamp)) return enqueue(key, seen);  // its own name may be gone
      if (options_.once) seen.leave("cannot be opened");
      return;
    }
    const Writing writing = is_written(descriptor);
    close(descriptor);
    if (writing == Writing::yes) {
      if (options_.once) seen.leave("is being written");
      return;
    }
    if (writing == Writing::no || Clock::now() - seen.since >= options_.settle) enqueue(key, seen);
  }

  void lose_patience(Seen& seen) {
    if (Clock::now() - seen.since < options_.patience) return;
    seen.state = Seen::State::bad;
    say(Severity::error, seen.file.path + ": bad: " + seen.reason);
  }

  void enqueue(const std::string& key, Seen& seen) {
    seen.state = Seen::State::queued;
    spread_out();
    queue_.push_back(key);
    wake_.notify_one();
  }

  // The ranks of a job finish at one moment: their nodes' agents need not come at one.
  void spread_out() {
    const auto now = Clock::now();
    if (options_.once || options_.spread.count() == 0 || !queue_.empty() || now < next_contact_) return;
    if (quiet_since_ && now - *quiet_since_ < 2 * options_.spread) return;
    std::mt19937_64 engine{std::random_device{}()};
    const auto spread = std::chrono::duration_cast<milliseconds>(options_.spread).count();
    next_contact_ = now + milliseconds(std::uniform_int_distribution<int64_t>(0, spread)(engine));
    quiet_since_ = next_contact_;
  }

  // With --once. What the gatherer may take once all else is there is tried again before.
  bool is_done() {
    const std::lock_guard lock(mutex_);
    if (!all_decided(seen_)) return false;
    const std::optional<std::string> last = begin_last_try(seen_);
    if (last) enqueue(*last, seen_.at(*last));
    return !last;
  }

  bool may_go_on() {
    return cpu_.rest([this] { return !stopping_; });
  }

  void send_logs() {
    Client client(client_options(options_, base_, options_.rate_bytes_per_s), pace_, [this] { return may_go_on(); });
    logs_.run(
        client, [this] { return may_go_on(); },
        [this](Severity severity, const std::string& line) { say(severity, line); });
  }

  void work() {
    const auto not_stopped = [this] { return !stopping_; };
    const auto go_on = [this] { return may_go_on(); };
    Client client(client_options(options_, base_, options_.rate_bytes_per_s), pace_, go_on);
    std::mt19937_64 engine{std::random_device{}()};
    Worker worker{options_,
                  ledger_,
                  client,
                  cpu_,
                  outage_,
                  go_on,
                  [this](Severity severity, const std::string& line) { say(severity, line); },
                  [&] { return std::uniform_real_distribution<double>()(engine); },
                  {},
                  {}};
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (queue_.empty() || Clock::now() < next_contact_) {
        wake_.wait_for(lock, kTick);
        continue;
      }
      const std::string key = queue_.front();
      queue_.pop_front();
      Seen& seen = seen_.at(key);
      seen.at_work = true;
      const Candidate file = seen.file;
      const uint64_t turn = claims_.take_turn();
      lock.unlock();
      worker.claim = [&](int rank) { return claims_.claim(turn, rank, file, not_stopped); };
      worker.arrived = [&](double share) {
        const std::lock_guard of_files(mutex_);
        seen_.at(key).arrived = share;
      };
      const Delivery delivery = deliver(file, worker);
      claims_.end_turn(turn, delivery.rank, file, verdict_of(delivery.end, options_.once));
      lock.lock();
      quiet_since_ = Clock::now();
      Seen& settled = seen_.at(key);
      settle_down(settled, delivery);
      // What it waited for may have been decided before it was said to wait.
      const bool waits = delivery.end == Delivery::End::waits && claims_.must_wait(settled.rank, settled.file);
      if (settled.rank >= 0 && !waits) go_on_with(settled.rank);
    }
  }

  // The oldest file that waits for its rank's older ones: if there is one left, it will say so.
  void go_on_with(int rank) {
    std::pair<const std::string, Seen>* oldest = nullptr;
    for (auto& entry : seen_) {
      if (entry.second.state != Seen::State::waiting || entry.second.rank != rank) continue;
      if (oldest == nullptr || is_older(entry.second.file, oldest->second.file)) oldest = &entry;
    }
    if (oldest != nullptr && Clock::now() >= oldest->second.not_before) enqueue(oldest->first, oldest->second);
  }

  void settle_down(Seen& seen, const Delivery& delivery) {
    using End = Delivery::End;
    seen.settle(delivery, options_, access(ledger_.held_path(seen.file.stamp).c_str(), F_OK) == 0);
    if (delivery.end == End::accepted) {
      seen.before = delivery.bytes == 0;
      ++(delivery.bytes > 0 ? shipped_.files : shipped_.before);
      shipped_.bytes += delivery.bytes;
      shipped_.jobs.insert(delivery.job);
    } else if (delivery.end == End::bad || delivery.end == End::left) {
      say(Severity::error, seen.file.path + ": " + delivery.reason);
    } else if (seen.state == Seen::State::watched && options_.once) {
      once_more(seen);
    }
  }

  // With --once a file that another agent has is waited for; one that changes is not finished.
  void once_more(Seen& seen) const {
    const bool busy = seen.reason == "another agent has it" && Clock::now() - seen.since < options_.give_up;
    if (!busy) seen.state = Seen::State::left;
  }

  Shipped result() {
    const std::lock_guard lock(mutex_);
    for (const std::string& reason : left_out_.last().empty) say(Severity::warning, reason);
    logs_.add_to(shipped_);
    shipped_.jobs.erase("");  // of gatherers that do not say it
    left_out_.add_to(shipped_, seen_.empty() && shipped_.files + shipped_.before == 0);
    for (const auto& [key, seen] : seen_) {
      const std::string line = seen.file.path + ": " + (seen.reason.empty() ? "not finished" : seen.reason);
      if (seen.state == Seen::State::bad) shipped_.bad.push_back(line);
      if (seen.state != Seen::State::bad && seen.state != Seen::State::accepted) shipped_.left.push_back(line);
    }
    std::sort(shipped_.bad.begin(), shipped_.bad.end());
    std::sort(shipped_.left.begin(), shipped_.left.end());
    return shipped_;
  }

  const ShipOptions& options_;
  const std::string base_, state_directory_, target_;
  Ledger ledger_;
  GrowingLogs logs_;
  Pace pace_;
  CpuShare cpu_;
  RankClaims claims_;
  Outage outage_;
  std::function<bool()> stop_;
  Watcher watcher_;
  std::atomic<bool> stopping_{false};
  Clock::time_point next_scan_allowed_{}, next_progress_{};
  uint64_t scan_ = 0;
  std::mutex say_mutex_, mutex_;  // mutex_: all below
  std::condition_variable wake_;
  SeenFiles seen_;
  std::deque<std::string> queue_;
  Clock::time_point next_contact_{};
  std::optional<Clock::time_point> quiet_since_;  // the last delivery's end
  LeftOut left_out_;
  Shipped shipped_;
};

}  // namespace

Result<Shipped> ship_traces(const ShipOptions& options, const std::function<bool()>& stop) {
  if (auto fine = check_options(options); !fine.ok()) return fine.error();
  const Result<std::string> base = base_url(options.url, !options.token_file.empty());
  if (!base.ok()) return base.error();
  if (options.dry_run) return plan_of(options);
  if (!options.token_file.empty()) {
    if (auto token = read_token(options.token_file); !token.ok()) return token.error();
  }
  Result<std::string> state = make_state_directory(options);
  if (!state.ok()) return state.error();
  return Agent(options, base.value(), state.value(), stop).run();
}

}  // namespace skewscope
