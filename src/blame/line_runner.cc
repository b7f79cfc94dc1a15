#include "line_runner.h"

#include <algorithm>
#include <cmath>

namespace skewscope::blame {
namespace {

constexpr int64_t kNotYet = INT64_MIN;

int64_t scaled(int64_t span, double factor) {
  return factor == 1 ? span : std::llround(static_cast<double>(span) * factor);
}

}  // namespace

LineRunner::LineRunner(const RankLine& line, const std::vector<Pace>* paces, double factor, int64_t earlier_ns)
    : line_(line),
      paces_(paces),
      factor_(factor),
      recorded_(line.first_ns),
      now_(line.first_ns - earlier_ns),
      host_recorded_(line.host.first_ns),
      host_now_(line.host.first_ns - earlier_ns) {
  start_.assign(line.forks.size(), kNotYet);
  end_.assign(line.forks.size(), kNotYet);
  marks_.assign(line.host.waits.size(), kNotYet);
  set_factors();
  if (line.first.known()) now_ = arrival_of(line.first);
  first_ns_ = now_;
}

int64_t LineRunner::start_of(size_t fork) {
  while (next_fork_ <= fork) pass_fork();
  return start_[fork];
}

void LineRunner::set_end(size_t fork, int64_t ns) { end_[fork] = ns; }

int64_t LineRunner::finish() {
  while (next_fork_ < line_.forks.size()) pass_fork();
  advance(line_.last_ns);
  int64_t last = now_;
  for (const int64_t end : end_) last = std::max(last, end);
  return last;
}

void LineRunner::pass_fork() {
  const Fork& fork = line_.forks[next_fork_];
  advance(fork.at_ns);
  int64_t ready = now_;
  if (fork.before >= 0) ready = std::max(ready, end_[static_cast<size_t>(fork.before)]);
  int64_t start = ready + (paces_ != nullptr ? (*paces_)[next_fork_].delay_ns : fork.delay_ns);
  if (fork.launch.known()) start = std::max(start, arrival_of(fork.launch));
  start_[next_fork_] = start;
  if (fork.row < 0) set_end(next_fork_, start + fork.duration_ns);  // nobody is known to wait for it
  ++next_fork_;
  if (paces_ != nullptr) set_factors();
}

void LineRunner::advance(int64_t to) {
  while (next_stop_ < line_.stops.size() && line_.stops[next_stop_].from_ns < to) pass(line_.stops[next_stop_++]);
  work(to);
}

void LineRunner::pass(const Stop& stop) {
  work(stop.from_ns);
  now_ -= scaled(stop.idle_ns, work_factor_);
  const int64_t end = stop.fork < 0 ? kNotYet : end_[static_cast<size_t>(stop.fork)];
  if (end == kNotYet && !stop.launch.known()) return;  // stamps contradict: as if it had not been joined
  now_ = std::max(now_, end);
  recorded_ = std::max(recorded_, stop.until_ns);
  work(stop.to_ns);
  if (stop.launch.known()) now_ = std::max(now_, arrival_of(stop.launch));
}

void LineRunner::work(int64_t to) {
  if (next_mark_ns_ <= to) pass_marks(to);
  work_on(to);
}

void LineRunner::work_on(int64_t to) {
  if (to <= recorded_) return;
  now_ += scaled(to - recorded_, work_factor_);
  recorded_ = to;
}

void LineRunner::pass_marks(int64_t to) {
  const std::vector<HostWait>& waits = line_.host.waits;
  for (; next_mark_ < waits.size() && waits[next_mark_].line_ns <= to; ++next_mark_) {
    work_on(waits[next_mark_].line_ns);
    marks_[next_mark_] = now_;
  }
  set_factors();
}

int64_t LineRunner::arrival_of(const Launch& launch) {
  while (next_launch_ns_ <= launch.ns) {
    host_advance(next_launch_ns_);
    ++next_launch_;
    set_factors();
  }
  host_advance(launch.ns);
  return host_now_ + (launch.ns - host_recorded_) +
         launch.delay_ns;  // of a launch in front of one asked for before: < 0
}

void LineRunner::host_advance(int64_t to) {
  const std::vector<HostWait>& waits = line_.host.waits;
  while (next_wait_ns_ <= to) {
    const HostWait& wait = waits[next_wait_];
    host_work(wait.from_ns);
    int64_t until = marks_[next_wait_] == kNotYet ? now_ : marks_[next_wait_];
    if (wait.fork >= 0) until = std::max(until, end_[static_cast<size_t>(wait.fork)]);
    host_now_ = std::max(host_now_, until);
    host_recorded_ = std::max(host_recorded_, wait.until_ns);
    ++next_wait_;
    set_factors();
  }
  host_work(to);
}

void LineRunner::host_work(int64_t to) {
  if (to <= host_recorded_) return;
  host_now_ += scaled(to - host_recorded_, host_factor_);
  host_recorded_ = to;
}

// And where they end: without paces, never.
void LineRunner::set_factors() {
  const std::vector<HostWait>& waits = line_.host.waits;
  next_mark_ns_ = next_mark_ < waits.size() ? waits[next_mark_].line_ns : INT64_MAX;
  next_wait_ns_ = next_wait_ < waits.size() ? waits[next_wait_].until_ns : INT64_MAX;
  next_launch_ns_ = INT64_MAX;
  work_factor_ = host_factor_ = factor_;
  if (paces_ == nullptr) return;
  if (next_fork_ < line_.forks.size()) work_factor_ *= (*paces_)[next_fork_].work;
  if (next_launch_ == line_.host.forks.size()) return;
  const auto fork = static_cast<size_t>(line_.host.forks[next_launch_]);
  next_launch_ns_ = line_.forks[fork].launch.ns;
  host_factor_ *= (*paces_)[fork].host;
}

}  // namespace skewscope::blame
