// Users as a directory of the test's own knows them, which may be slow or away; and as NSS knows root.
#include "src/gather/endpoints/user_names.h"

#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace skewscope::gather {
namespace {

using Known = UserNames::Known;
using std::chrono::milliseconds;

constexpr milliseconds kShort{20}, kLong{10'000};

UserNames::Answer answer_at_last(const std::function<UserNames::Answer()>& ask) {
  const auto end = std::chrono::steady_clock::now() + kLong;
  UserNames::Answer answer = ask();
  while (answer.known == Known::not_yet && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(1));
    answer = ask();
  }
  return answer;
}

// Answers once it is opened.
struct SlowDirectory {
  std::mutex mutex;
  std::condition_variable opened;
  bool open = false;
  int asked = 0;

  NssAnswer answer() {
    std::unique_lock lock(mutex);
    ++asked;
    opened.wait(lock, [this] { return open; });
    return {false, NssUser{1000, "alice"}};
  }
  void let_go() {
    const std::lock_guard lock(mutex);
    open = true;
    opened.notify_all();
  }
};

TEST_CASE("NSS knows root by name and by uid, and nobody of a name that no system has") {
  const UserNames users;
  const auto by_name = answer_at_last([&] { return users.of_name("root"); });
  CHECK(by_name.known == Known::user);
  CHECK(by_name.user.uid == 0);
  CHECK(answer_at_last([&] { return users.of_uid(0); }).user.name == "root");
  CHECK(answer_at_last([&] { return users.of_name("no-such-user-here"); }).known == Known::nobody);
  CHECK(answer_at_last([&] { return users.of_uid(4'294'967'290); }).known == Known::nobody);
}

TEST_CASE("a directory is asked for no uid, path or text of a search as if it were a name") {
  const UserNames users([](const std::string& key) { return NssAnswer{false, NssUser{1, key}}; });
  for (const char* text : {"", "1000", "4294967296", "-1", "a b", "a/b", "a:b", "rank 13 causes", "\n"}) {
    INFO(text);
    CHECK(users.of_name(text).known == Known::nobody);
  }
  CHECK(users.of_name(std::string(256, 'a')).known == Known::nobody);
  CHECK(answer_at_last([&] { return users.of_name(std::string(255, 'a')); }).known == Known::user);
}

TEST_CASE("who asks a slow directory is not held up, is told when it takes too long, and gets what it says at last") {
  const auto slow = std::make_shared<SlowDirectory>();
  const UserNames users([slow](const std::string&) { return slow->answer(); }, kShort);
  CHECK(users.of_name("alice").known == Known::not_yet);
  std::this_thread::sleep_for(2 * kShort);
  CHECK(users.of_name("alice").known == Known::away);
  slow->let_go();
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (users.of_name("alice").known != Known::user && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  CHECK(users.of_name("alice").user.uid == 1000);
  CHECK(slow->asked == 1);
}

TEST_CASE("a directory that cannot be asked makes nobody of no one") {
  const UserNames users([](const std::string&) { return NssAnswer{true, {}}; }, kLong);
  CHECK(answer_at_last([&] { return users.of_name("alice"); }).known == Known::away);
}

TEST_CASE("a directory that hangs does not keep its asker from ending") {
  const auto slow = std::make_shared<SlowDirectory>();
  {
    const UserNames users([slow](const std::string&) { return slow->answer(); }, kShort);
    CHECK(users.of_uid(1000).known == Known::not_yet);
  }
  slow->let_go();
}

}  // namespace
}  // namespace skewscope::gather
