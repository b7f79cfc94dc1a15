#include "user_names.h"

#include <pwd.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace skewscope::gather {
namespace {

constexpr size_t kMostOfUser = 64 << 10;  // bytes of an entry

std::string name_in_nss(uint32_t uid) {
  std::vector<char> text(kMostOfUser);
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(uid, &entry, text.data(), text.size(), &found);
  return found == nullptr ? "" : found->pw_name;
}

}  // namespace

struct UserNames::State {
  std::mutex mutex;
  std::map<uint32_t, std::string> names;
  std::vector<uint32_t> to_ask;
  std::set<uint32_t> unanswered;
  std::condition_variable answered;
  bool asking = false;

  void ask() {
    std::unique_lock lock(mutex);
    while (!to_ask.empty()) {
      const uint32_t uid = to_ask.back();
      to_ask.pop_back();
      lock.unlock();
      std::string name = name_in_nss(uid);
      lock.lock();
      names[uid] = std::move(name);
      unanswered.erase(uid);
      answered.notify_all();
    }
    asking = false;
  }
};

UserNames::UserNames() : state_(std::make_shared<State>()) {}

std::string UserNames::name_of(uint32_t uid, std::chrono::milliseconds patience) {
  std::unique_lock lock(state_->mutex);
  const auto [name, is_new] = state_->names.try_emplace(uid);
  if (is_new) {
    state_->to_ask.push_back(uid);
    state_->unanswered.insert(uid);
  }
  if (is_new && !state_->asking) {
    state_->asking = true;
    std::thread([state = state_] { state->ask(); }).detach();
  }
  state_->answered.wait_for(lock, patience, [&] { return state_->unanswered.count(uid) == 0; });
  return name->second;
}

}  // namespace skewscope::gather
