#include "lobby.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace skewscope::gather {
namespace {

constexpr int kMostWriting = 16;  // twice the store's threads

}  // namespace

// Slots refer to the lobby, which outlives all connections: the server ends them before it goes.
Lobby::Slot Lobby::seat(const std::string& address) {
  const std::lock_guard lock(mutex_);
  if (!slots_.acquire_connection(address)) return nullptr;
  return {this, [address](Lobby* lobby) {
            const std::lock_guard back(lobby->mutex_);
            lobby->slots_.release_connection(address);
          }};
}

void Lobby::use(const GatherLimits& limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
  slots_.use(limits);
}

void Lobby::body(const std::string& job, std::function<void(Slot)> then) {
  {
    const std::lock_guard lock(mutex_);
    if (!slots_.acquire_body(job)) {
      waits_.push_back({job, std::chrono::steady_clock::now() + kLongestWait, std::move(then)});
      return;
    }
  }
  then(slot_of(job));
}

Lobby::Slot Lobby::download(const std::string& job) {
  const std::lock_guard lock(mutex_);
  if (!slots_.acquire_download(job)) return nullptr;
  return {this, [job](Lobby* lobby) {
            const std::lock_guard back(lobby->mutex_);
            lobby->slots_.release_download(job);
          }};
}

Lobby::Slot Lobby::slot_of(const std::string& job) {
  return {this, [job](Lobby* lobby) { lobby->give_back(job); }};
}

// To the first who may have it: of its own job, or of another that waited for any.
void Lobby::give_back(const std::string& job) {
  std::list<Wait> next;
  {
    const std::lock_guard lock(mutex_);
    slots_.release_body(job);
    std::set<std::string_view> full;  // asked before in vain
    for (auto wait = waits_.begin(); wait != waits_.end(); ++wait) {
      if (full.count(wait->job) > 0) continue;
      if (slots_.acquire_body(wait->job)) {
        next.splice(next.end(), waits_, wait);
        break;
      }
      full.insert(wait->job);
    }
  }
  for (const Wait& wait : next) wait.then(slot_of(wait.job));
}

void Lobby::end_waits(Moment now) {
  std::list<Wait> ended;
  {
    const std::lock_guard lock(mutex_);
    while (!waits_.empty() && waits_.front().until <= now) ended.splice(ended.end(), waits_, waits_.begin());
  }
  for (const Wait& wait : ended) wait.then(nullptr);
}

void Lobby::take_turn(const std::string& job, uint64_t bytes, std::function<void()> start) {
  {
    const std::lock_guard lock(mutex_);
    if (writing_ == kMostWriting) return turns_.wait(job, bytes, std::move(start));
    ++writing_;
  }
  start();
}

void Lobby::end_turn() {
  std::function<void()> start;
  {
    const std::lock_guard lock(mutex_);
    start = turns_.next();
    if (!start) --writing_;
  }
  if (start) start();
}

bool Lobby::may_accept() const {
  const std::lock_guard lock(mutex_);
  if (slots_.connections() >= limits_.connections) return false;
  if (std::ssize(unknown_) < limits_.unauthenticated_connections) return true;
  const Crowd all = crowd();
  return (all.addresses > 1 && all.most > 1) || has_had_time(unknown_.front());
}

bool Lobby::has_had_time(const Entry& entry) const {
  return std::chrono::steady_clock::now() - entry.since > to_speak_;
}

Lobby::Crowd Lobby::crowd() const {
  Crowd out;
  for (const Entry& entry : unknown_) {
    const int count = ++out.by_address[entry.address];
    if (count <= out.most) continue;
    out.most = count;
    out.address_of_most = entry.address;
  }
  out.addresses = out.by_address.size();
  return out;
}

// The newcomer is the last of unknown_. Who has not even begun to speak goes first.
std::list<Lobby::Entry>::iterator Lobby::who_goes(const std::string& newcomer) {
  const Crowd all = crowd();
  const bool has_most = all.by_address.at(newcomer) == all.most;
  const std::string_view address = has_most ? newcomer : all.address_of_most;
  const auto last = std::prev(unknown_.end());
  const auto first = std::find_if(unknown_.begin(), last, [&](const Entry& e) { return e.address == address; });
  if (first == last || all.addresses == 1) return unknown_.begin();
  const auto silent = std::find_if(first, last, [&](const Entry& e) { return e.address == address && !e.greeted; });
  const auto goes = silent == last ? first : silent;
  if (!has_most || has_had_time(*goes)) return goes;
  const auto silent_for_long =
      std::find_if(unknown_.begin(), last, [&](const Entry& e) { return !e.greeted && has_had_time(e); });
  return silent_for_long;  // the last: there is none
}

bool Lobby::crowded() const {
  const std::lock_guard lock(mutex_);
  return slots_.connections() * 5 > limits_.connections * 4;
}

bool Lobby::enter(const std::shared_ptr<Guest>& guest, const std::string& address) {
  std::shared_ptr<Guest> gone;
  {
    const std::lock_guard lock(mutex_);
    unknown_.push_back({guest.get(), guest, std::chrono::steady_clock::now(), address});
    if (std::ssize(unknown_) <= limits_.unauthenticated_connections) return true;
    const auto goes = who_goes(address);
    gone = goes->guest.lock();
    unknown_.erase(goes);
  }
  if (gone == guest) return false;
  if (gone) gone->end();
  return true;
}

void Lobby::greeted(const Guest* guest) {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : unknown_) entry.greeted = entry.greeted || entry.key == guest;
}

void Lobby::authenticated(const Guest* guest) {
  const std::lock_guard lock(mutex_);
  const auto entry = std::find_if(unknown_.begin(), unknown_.end(), [&](const Entry& e) { return e.key == guest; });
  if (entry != unknown_.end()) known_.splice(known_.end(), unknown_, entry);
}

void Lobby::leave(const Guest* guest) {
  const std::lock_guard lock(mutex_);
  const auto is_guest = [&](const Entry& entry) { return entry.key == guest; };
  unknown_.remove_if(is_guest);
  known_.remove_if(is_guest);
}

std::list<Lobby::Entry> Lobby::copy_of_guests() const {
  const std::lock_guard lock(mutex_);
  std::list<Entry> all = unknown_;
  all.insert(all.end(), known_.begin(), known_.end());
  return all;
}

void Lobby::end_idle() {
  for (const Entry& entry : copy_of_guests()) {
    if (const auto guest = entry.guest.lock()) guest->end_idle();
  }
}

void Lobby::end_all() {
  end_waits(Moment::max());
  for (const Entry& entry : copy_of_guests()) {
    if (const auto guest = entry.guest.lock()) guest->end();
  }
}

FailureThrottle::Verdict Lobby::verdict(const std::string& address) {
  const std::lock_guard lock(mutex_);
  return throttle_.verdict(address, std::chrono::steady_clock::now());
}

void Lobby::failed(const std::string& address) {
  const std::lock_guard lock(mutex_);
  throttle_.failed(address, std::chrono::steady_clock::now());
}

Lobby::Figures Lobby::figures() const {
  const std::lock_guard lock(mutex_);
  return {slots_.connections(), static_cast<int>(unknown_.size()), slots_.bodies()};
}

}  // namespace skewscope::gather
