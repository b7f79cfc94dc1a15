#include "line_runner.h"

#include <algorithm>

namespace skewscope::blame {
namespace {

constexpr int64_t kNotYet = INT64_MIN;

Abreast all_at(int64_t ns) {
  Abreast times;
  times.fill(ns);
  return times;
}

// All jobs at once are looked at: what has a new time in one has it in all.
bool not_yet(const Abreast& times) { return times[0] == kNotYet; }

void no_earlier_than(Abreast& times, const Abreast& least) {
  for (size_t k = 0; k < kAbreast; ++k) times[k] = std::max(times[k], least[k]);
}

void add(Abreast& times, int64_t ns) {
  for (int64_t& time : times) time += ns;
}

// To the nearest; no stamp is so large that halves are lost. std::llround() would be called.
int64_t scaled(int64_t span, double factor) {
  if (factor == 1) return span;
  const double exact = static_cast<double>(span) * factor;
  return static_cast<int64_t>(exact < 0 ? exact - 0.5 : exact + 0.5);
}

// The factor that makes `own` no more than what is usual.
double at_most(int64_t own, int64_t usual) {
  return own > usual ? static_cast<double>(usual) / static_cast<double>(own) : 1;
}

void add_scaled(Abreast& times, int64_t span, const std::array<double, kAbreast>& factors) {
  for (size_t k = 0; k < kAbreast; ++k) times[k] += scaled(span, factors[k]);
}

}  // namespace

LineRunner::LineRunner(const RankLine& line, const Paces& paces, const std::array<Change, kAbreast>& changes)
    : line_(line),
      paces_(paces),
      changes_(changes),
      paced_(std::any_of(changes.begin(), changes.end(),
                         [](const Change& change) { return change.at_peers_pace || change.work_by_fork != nullptr; })),
      steady_(!paced_ &&
              std::all_of(changes.begin(), changes.end(), [](const Change& change) { return change.factor == 1; })),
      recorded_(line.first_ns),
      host_recorded_(line.host.first_ns) {
  for (size_t k = 0; k < kAbreast; ++k) {
    now_[k] = line.first_ns - changes[k].earlier_ns;
    host_now_[k] = line.host.first_ns - changes[k].earlier_ns;
  }
  call_.resize(line.forks.size());
  ended_.assign(line.forks.size(), false);
  behind_running_.assign(line.forks.size(), false);
  marks_.assign(line.host.waits.size(), all_at(kNotYet));
  while (next_stop_ < line.stops.size() && line.stops[next_stop_].to_ns <= line.first_ns) ++next_stop_;
  take_work_pace();
  take_host_pace();
  set_factors();
  if (line.first.known()) now_ = arrival_of(line.first);
  first_ = now_;
}

const Abreast& LineRunner::start_of(size_t fork) {
  while (next_fork_ <= fork) pass_fork();
  if (behind_running_[fork]) start_behind(line_.forks[fork], call_[fork]);
  return call_[fork];
}

// The line came to the fork while the call it waits for was still running, which has ended since.
void LineRunner::start_behind(const Fork& fork, Abreast& start) const {
  const auto before = static_cast<size_t>(fork.before);
  if (!ended_[before]) return;
  Abreast ready = call_[before];
  add_delay(fork, ready);
  no_earlier_than(start, ready);
}

void LineRunner::add_delay(const Fork& fork, Abreast& ready) const {
  const Pace* const usual = paced_ ? paces_.of(fork) : nullptr;
  const int64_t paced_delay_ns = usual ? std::min(fork.delay_ns, usual->delay_ns) : fork.delay_ns;
  for (size_t k = 0; k < kAbreast; ++k) ready[k] += changes_[k].at_peers_pace ? paced_delay_ns : fork.delay_ns;
}

void LineRunner::set_end(size_t fork, const Abreast& ns) {
  call_[fork] = ns;
  ended_[fork] = true;
}

// Where stamps contradict, it has not ended yet: as if nobody waited for it.
void LineRunner::wait_for_end(size_t fork, Abreast& times) const {
  if (ended_[fork]) no_earlier_than(times, call_[fork]);
}

Abreast LineRunner::finish() {
  while (next_fork_ < line_.forks.size()) pass_fork();
  advance(line_.last_ns);
  Abreast last = now_;
  for (size_t fork = 0; fork < call_.size(); ++fork) wait_for_end(fork, last);
  return last;
}

void LineRunner::pass_fork() {
  const Fork& fork = line_.forks[next_fork_];
  advance(fork.at_ns);
  if (fork.before_recording) return pass_as_recorded(fork);
  Abreast& start = call_[next_fork_];
  start = now_;
  if (fork.before >= 0) {
    wait_for_end(static_cast<size_t>(fork.before), start);
    behind_running_[next_fork_] = !ended_[static_cast<size_t>(fork.before)];
  }
  add_delay(fork, start);
  if (fork.launch.known()) no_earlier_than(start, arrival_of(fork.launch));
  leave_fork(fork);
}

void LineRunner::pass_as_recorded(const Fork& fork) {
  for (size_t k = 0; k < kAbreast; ++k) call_[next_fork_][k] = fork.at_ns + fork.delay_ns - changes_[k].earlier_ns;
  leave_fork(fork);
}

void LineRunner::leave_fork(const Fork& fork) {
  if (fork.row < 0) {  // nobody is known to wait for it
    Abreast end = call_[next_fork_];
    add(end, fork.duration_ns);
    set_end(next_fork_, end);
  }
  ++next_fork_;
  if (!paced_) return;
  take_work_pace();
  set_factors();
}

void LineRunner::advance(int64_t to) {
  while (next_stop_ < line_.stops.size() && line_.stops[next_stop_].from_ns < to) pass(line_.stops[next_stop_++]);
  work(to);
}

void LineRunner::pass(const Stop& stop) {
  work(stop.from_ns);
  for (size_t k = 0; k < kAbreast; ++k) now_[k] -= scaled(stop.idle_ns, work_factor_[k]);
  const bool joins = stop.fork >= 0 && ended_[static_cast<size_t>(stop.fork)];
  if (!joins && !stop.launch.known()) return;  // stamps contradict: as if it had not been joined
  if (joins) wait_for_end(static_cast<size_t>(stop.fork), now_);
  recorded_ = std::max(recorded_, stop.until_ns);
  work(stop.to_ns);
  if (stop.launch.known()) no_earlier_than(now_, arrival_of(stop.launch));
}

void LineRunner::work(int64_t to) {
  if (next_mark_ns_ <= to) pass_marks(to);
  work_on(to);
}

void LineRunner::work_on(int64_t to) {
  if (to <= recorded_) return;
  if (steady_) {
    add(now_, to - recorded_);
  } else {
    add_scaled(now_, to - recorded_, work_factor_);
  }
  recorded_ = to;
}

void LineRunner::pass_marks(int64_t to) {
  const Column<HostWait>& waits = line_.host.waits;
  for (; next_mark_ < waits.size() && waits[next_mark_].line_ns <= to; ++next_mark_) {
    work_on(waits[next_mark_].line_ns);
    marks_[next_mark_] = now_;
  }
  set_factors();
}

Abreast LineRunner::arrival_of(const Launch& launch) {
  while (next_launch_ns_ <= launch.ns) {
    host_advance(next_launch_ns_);
    ++next_launch_;
    take_host_pace();
    set_factors();
  }
  host_advance(launch.ns);
  Abreast arrival = host_now_;
  add(arrival, launch.ns - host_recorded_ + launch.delay_ns);  // of a launch in front of one asked for before: < 0
  return arrival;
}

void LineRunner::host_advance(int64_t to) {
  const Column<HostWait>& waits = line_.host.waits;
  while (next_wait_ns_ <= to) {
    const HostWait& wait = waits[next_wait_];
    host_work(wait.from_ns);
    no_earlier_than(host_now_, not_yet(marks_[next_wait_]) ? now_ : marks_[next_wait_]);
    if (wait.fork >= 0) wait_for_end(static_cast<size_t>(wait.fork), host_now_);
    host_recorded_ = std::max(host_recorded_, wait.until_ns);
    ++next_wait_;
    set_factors();
  }
  host_work(to);
}

void LineRunner::host_work(int64_t to) {
  if (to <= host_recorded_) return;
  if (steady_) {
    add(host_now_, to - host_recorded_);
  } else {
    for (const int64_t edge : {pause_begin_ns_, pause_end_ns_}) {
      if (host_recorded_ < edge && edge < to) host_work_on(edge);
    }
    host_work_on(to);
  }
  host_recorded_ = to;
}

void LineRunner::host_work_on(int64_t to) {
  const bool pauses = pause_begin_ns_ <= host_recorded_ && host_recorded_ < pause_end_ns_;
  add_scaled(host_now_, to - host_recorded_, pauses ? pause_factor_ : host_factor_);
  host_recorded_ = to;
}

void LineRunner::take_work_pace() {
  const bool more = paced_ && next_fork_ < line_.forks.size();
  const Pace* const usual = more ? paces_.of(line_.forks[next_fork_]) : nullptr;
  work_pace_ = usual ? at_most(line_.forks[next_fork_].work_ns, usual->work_ns) : 1;
}

void LineRunner::take_host_pace() {
  const bool more = paced_ && next_launch_ < line_.host.forks.size();
  const Fork* const fork = more ? &line_.forks[static_cast<size_t>(line_.host.forks[next_launch_])] : nullptr;
  const Pace* const usual = fork ? paces_.of(*fork) : nullptr;
  host_pace_ = pause_pace_ = 1;
  pause_begin_ns_ = pause_end_ns_ = INT64_MIN;
  if (usual && fork->host_ns > usual->host_ns) {
    const HostPause& pause = line_.host.pauses[next_launch_];
    const int64_t of_pause_ns = std::min(fork->host_ns - usual->host_ns, pause.length_ns);
    pause_begin_ns_ = pause.begin_ns;
    pause_end_ns_ = pause.begin_ns + pause.length_ns;
    pause_pace_ = at_most(pause.length_ns, pause.length_ns - of_pause_ns);
    host_pace_ = at_most(fork->host_ns - pause.length_ns, usual->host_ns - pause.length_ns + of_pause_ns);
  }
  next_launch_ns_ = fork ? fork->launch.ns : INT64_MAX;  // where its speed ends: without speeds, never
}

void LineRunner::set_factors() {
  const Column<HostWait>& waits = line_.host.waits;
  next_mark_ns_ = next_mark_ < waits.size() ? waits[next_mark_].line_ns : INT64_MAX;
  next_wait_ns_ = next_wait_ < waits.size() ? waits[next_wait_].until_ns : INT64_MAX;
  for (size_t k = 0; k < kAbreast; ++k) {
    const bool paced = changes_[k].at_peers_pace;
    work_factor_[k] = changes_[k].factor * (paced ? work_pace_ : 1);
    if (changes_[k].work_by_fork != nullptr && next_fork_ < line_.forks.size()) {
      work_factor_[k] *= (*changes_[k].work_by_fork)[next_fork_];
    }
    const double factor = std::min(1.0, changes_[k].factor);
    host_factor_[k] = factor * (paced ? host_pace_ : 1);
    pause_factor_[k] = factor * (paced ? pause_pace_ : 1);
  }
}

}  // namespace skewscope::blame
