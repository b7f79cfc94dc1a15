#include "limits.h"

#include <algorithm>

namespace skewscope::gather {
namespace {

using std::chrono::duration;
using std::chrono::seconds;

constexpr size_t kMostAddresses = 65536;
constexpr seconds kMinute{60}, kRateWindow{30}, kRateGrace{10}, kRateStep{1};
constexpr double kDelayedFailures = 20, kRefusedFailures = 40;
constexpr uint64_t kQuantumBytes = 256 << 10;  // one buffer

bool acquire(std::unordered_map<std::string, int>& used, const std::string& who, int most) {
  const auto found = used.find(who);
  const int mine = found == used.end() ? 0 : found->second;
  if (mine >= most) return false;
  used[who] = mine + 1;
  return true;
}

void release(std::unordered_map<std::string, int>& used, const std::string& who) {
  const auto found = used.find(who);
  if (--found->second == 0) used.erase(found);
}

}  // namespace

void FailureThrottle::advance(Entry& entry, Moment now) {
  if (now - entry.begin < kMinute) return;
  const bool adjacent = now - entry.begin < 2 * kMinute;
  entry.before = adjacent ? entry.within : 0;
  entry.begin = adjacent ? entry.begin + kMinute : now;
  entry.within = 0;
}

FailureThrottle::Verdict FailureThrottle::verdict(const std::string& address, Moment now) {
  const auto found = entries_.find(address);
  if (found == entries_.end()) return Verdict::pass;
  Entry& entry = *found->second;
  advance(entry, now);
  const double still_counted = 1 - duration<double>(now - entry.begin) / duration<double>(kMinute);
  const double failures = entry.before * still_counted + entry.within;
  if (failures > kRefusedFailures) return Verdict::refuse;
  return failures > kDelayedFailures ? Verdict::delay : Verdict::pass;
}

void FailureThrottle::failed(const std::string& address, Moment now) {
  const auto found = entries_.find(address);
  if (found != entries_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
  } else {
    recent_.push_front(Entry{address, now});
    entries_[address] = recent_.begin();
  }
  advance(recent_.front(), now);
  ++recent_.front().within;
  if (entries_.size() > kMostAddresses) {
    entries_.erase(recent_.back().address);
    recent_.pop_back();
  }
}

std::optional<std::chrono::milliseconds> AnswerPace::wait(const std::string& asker, Moment now) {
  constexpr size_t kMostAskers = 10'000;
  constexpr Moment::duration kEach = std::chrono::duration_cast<Moment::duration>(seconds(1)) / kPerSecond;
  if (paid_until_.size() > kMostAskers)
    std::erase_if(paid_until_, [now](const auto& one) { return one.second <= now; });
  Moment& paid_until = paid_until_[asker];
  const Moment next = std::max(paid_until, now) + kEach;
  const auto wait = std::max(next - now - kAtOnce * kEach, Moment::duration(0));
  if (wait > kLongestWait) return std::nullopt;
  paid_until = next;
  return std::chrono::ceil<std::chrono::milliseconds>(wait);
}

void RateFloor::received(uint64_t bytes, Moment now) {
  while (!window_.empty() && window_.front().first + kRateStep <= now - kRateWindow) window_.pop_front();
  if (!window_.empty() && now - window_.back().first < kRateStep) {
    window_.back().second += bytes;
  } else {
    window_.emplace_back(now, bytes);
  }
}

void RateFloor::held_back(std::chrono::nanoseconds time) {
  start_ += time;
  for (auto& [at, bytes] : window_) at += time;
}

bool RateFloor::too_slow(Moment now) const {
  if (now - start_ < kRateGrace) return false;
  if (std::chrono::floor<std::chrono::seconds>(now - start_) > longest_) return true;
  const duration<double> span = std::min<Moment::duration>(now - start_, kRateWindow);
  double bytes = 0;
  for (const auto& [at, count] : window_) {
    if (at + kRateStep > now - kRateWindow) bytes += static_cast<double>(count);
  }
  return bytes < span.count() * static_cast<double>(least_);
}

bool JobShares::acquire(const std::string& job, int most, int most_per_job) {
  if (taken_ >= most) return false;
  if (taken_ >= most - most / 4) {
    const int jobs = static_cast<int>(by_job_.size() + (by_job_.count(job) == 0 ? 1 : 0));
    most_per_job = std::min(most_per_job, std::max(1, most / jobs));
  }
  if (!gather::acquire(by_job_, job, most_per_job)) return false;
  ++taken_;
  return true;
}

void JobShares::release(const std::string& job) {
  gather::release(by_job_, job);
  --taken_;
}

bool Slots::acquire_connection(const std::string& address) {
  if (connections_ >= limits_.connections) return false;
  if (!acquire(by_address_, address, limits_.connections_per_address)) return false;
  ++connections_;
  return true;
}

void Slots::release_connection(const std::string& address) {
  release(by_address_, address);
  --connections_;
}

bool Slots::acquire_body(const std::string& job) {
  return bodies_.acquire(job, limits_.bodies, limits_.bodies_per_job);
}

bool Slots::acquire_download(const std::string& job) {
  return downloads_.acquire(job, limits_.downloads, limits_.downloads_per_job);
}

void Turns::wait(const std::string& job, uint64_t bytes, std::function<void()> start) {
  Queue& queue = queues_[job];
  if (queue.pieces.empty()) round_.push_back(job);
  queue.pieces.push_back({bytes, std::move(start)});
  ++waiting_;
}

std::function<void()> Turns::next() {
  while (!round_.empty()) {
    Queue& queue = queues_[round_.front()];
    if (queue.pieces.front().bytes > queue.credit) {
      queue.credit += kQuantumBytes;
      round_.push_back(std::move(round_.front()));
      round_.pop_front();
      continue;
    }
    queue.credit -= queue.pieces.front().bytes;
    std::function<void()> start = std::move(queue.pieces.front().start);
    queue.pieces.pop_front();
    --waiting_;
    if (queue.pieces.empty()) {
      queues_.erase(round_.front());
      round_.pop_front();
    }
    return start;
  }
  return nullptr;
}

}  // namespace skewscope::gather
