#include "user_names.h"

#include <pwd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "src/gather/http/gate.h"
#include "src/gather/http/route.h"

namespace skewscope::gather {
namespace {

using UserClock = std::chrono::steady_clock;

constexpr size_t kMostOfUser = 64 << 10;  // bytes of an entry
constexpr size_t kMostUsers = 10'000;     // that are remembered; names come from outside
constexpr std::chrono::seconds kFresh{60}, kAgain{1};

}  // namespace

NssAnswer ask_nss(const std::string& key) {
  std::vector<char> text(kMostOfUser);
  passwd entry{};
  passwd* found = nullptr;
  const auto uid = whole_number(key, UINT32_MAX);
  const int error = uid ? getpwuid_r(static_cast<uid_t>(*uid), &entry, text.data(), text.size(), &found)
                        : getpwnam_r(key.c_str(), &entry, text.data(), text.size(), &found);
  if (found != nullptr) return {false, NssUser{entry.pw_uid, entry.pw_name}};
  const bool is_nobody = error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
  return {!is_nobody, {}};  // getpwnam(3)
}

struct UserNames::State {
  struct Remembered {
    std::optional<NssUser> user;
    bool answered = false, failed = false, asking = false;
    UserClock::time_point asked{};  // or answered
  };

  Directory directory;
  std::chrono::milliseconds patience;
  std::mutex mutex;  // of all below
  std::map<std::string, Remembered> users;
  std::vector<std::string> to_ask;
  bool asks = false;

  Remembered look_up(const std::string& key, const std::shared_ptr<State>& self);
  void ask() {
    std::unique_lock lock(mutex);
    while (!to_ask.empty()) {
      const std::string key = to_ask.back();
      to_ask.pop_back();
      lock.unlock();
      NssAnswer answer = directory(key);
      lock.lock();
      Remembered& known = users[key];
      if (!answer.failed) known.user = std::move(answer.user);
      known.answered = known.answered || !answer.failed;
      known.failed = answer.failed;
      known.asking = false;
      known.asked = UserClock::now();
    }
    asks = false;
  }
};

// As it is remembered; NSS is asked where it is not, or not lately.
UserNames::State::Remembered UserNames::State::look_up(const std::string& key, const std::shared_ptr<State>& self) {
  const std::lock_guard lock(mutex);
  if (users.size() >= kMostUsers && !users.contains(key)) users.clear();
  Remembered& found = users[key];
  const auto now = UserClock::now();
  if (!found.asking &&
      (found.asked == UserClock::time_point() || now - found.asked >= (found.failed ? kAgain : kFresh))) {
    found.asking = true;
    found.asked = now;
    to_ask.push_back(key);
    if (!asks) std::thread([self] { self->ask(); }).detach();
    asks = true;
  }
  return found;
}

UserNames::UserNames(Directory directory, std::chrono::milliseconds patience) : state_(std::make_shared<State>()) {
  state_->directory = std::move(directory);
  state_->patience = patience;
}

UserNames::Answer UserNames::find(const std::string& key) const {
  const State::Remembered found = state_->look_up(key, state_);
  if (found.answered) return {found.user ? Known::user : Known::nobody, found.user.value_or(NssUser{})};
  return {!found.failed && UserClock::now() - found.asked < state_->patience ? Known::not_yet : Known::away, {}};
}

UserNames::Answer UserNames::of_uid(uint32_t uid) const { return find(std::to_string(uid)); }

std::string UserNames::name_when_known(uint32_t uid) const {
  constexpr std::chrono::milliseconds kLookAgain{5};
  Answer answer = of_uid(uid);
  for (; answer.known == Known::not_yet; answer = of_uid(uid)) std::this_thread::sleep_for(kLookAgain);
  return answer.user.name;
}

UserNames::Answer UserNames::of_name(const std::string& name) const {
  return may_be_user(name) ? find(name) : Answer{};
}

}  // namespace skewscope::gather
