// Who is let in, who has to go, and whose turn it is.
#include "src/gather/http/lobby.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/gather/store/spool.h"

namespace skewscope::gather {
namespace {

struct Visitor : Guest {
  bool ended = false;
  void end() override { ended = true; }
  void end_idle() override {}
};

GatherLimits limits_of(int connections, int strangers) {
  GatherLimits limits;
  limits.connections = connections;
  limits.connections_per_address = connections;
  limits.unauthenticated_connections = strangers;
  return limits;
}

TEST_CASE("a seat that is left can be taken again") {
  Lobby lobby(limits_of(2, 2));
  auto first = lobby.seat("a");
  const auto second = lobby.seat("b");
  CHECK_FALSE(lobby.may_accept());
  CHECK(lobby.seat("c") == nullptr);
  first.reset();
  CHECK(lobby.may_accept());
  CHECK(lobby.seat("c") != nullptr);
}

TEST_CASE("a body that finds no slot waits for one, first come first served, and holds up no other job") {
  GatherLimits limits;
  limits.bodies_per_job = 1;
  Lobby lobby(limits);
  std::vector<std::string> order;
  std::vector<Lobby::Slot> held;
  const auto take = [&](const std::string& name) {
    return [&, name](Lobby::Slot slot) {
      order.push_back(name);
      held.push_back(std::move(slot));
    };
  };
  lobby.body("a", take("a1"));
  lobby.body("a", take("a2"));
  lobby.body("a", take("a3"));
  lobby.body("b", take("b1"));
  CHECK(order == std::vector<std::string>{"a1", "b1"});
  held[0].reset();
  CHECK(order == std::vector<std::string>{"a1", "b1", "a2"});
  held[2].reset();
  CHECK(order.back() == "a3");
}

TEST_CASE("who has waited ten seconds for a slot is told that there is none") {
  GatherLimits limits;
  limits.bodies_per_job = 1;
  Lobby lobby(limits);
  Lobby::Slot first;
  lobby.body("a", [&](Lobby::Slot slot) { first = std::move(slot); });
  int told = 0;
  lobby.body("a", [&](const Lobby::Slot& slot) { told += slot == nullptr; });
  const auto now = std::chrono::steady_clock::now();
  lobby.end_waits(now + std::chrono::seconds(9));
  CHECK(told == 0);
  lobby.end_waits(now + std::chrono::seconds(11));
  CHECK(told == 1);
  first.reset();
  CHECK(told == 1);
}

TEST_CASE("the stranger who came first goes when there are too many, and no guest who is known") {
  Lobby lobby(limits_of(10, 2));
  const auto known = std::make_shared<Visitor>(), first = std::make_shared<Visitor>(),
             second = std::make_shared<Visitor>(), third = std::make_shared<Visitor>();
  lobby.enter(known, "10.0.0.1");
  lobby.authenticated(known.get());
  lobby.enter(first, "10.0.0.1");
  lobby.enter(second, "10.0.0.1");
  CHECK_FALSE(first->ended);
  lobby.enter(third, "10.0.0.1");
  CHECK(first->ended);
  CHECK_FALSE(known->ended);
  CHECK_FALSE(second->ended);
  CHECK(lobby.figures().unauthenticated == 2);
}

TEST_CASE("a burst of strangers is given time to say who they are before the next one is let in") {
  Lobby lobby(limits_of(10, 2));
  const auto first = std::make_shared<Visitor>(), second = std::make_shared<Visitor>();
  lobby.enter(first, "10.0.0.1");
  lobby.enter(second, "10.0.0.1");
  CHECK_FALSE(lobby.may_accept());
  lobby.authenticated(first.get());
  CHECK(lobby.may_accept());
}

TEST_CASE("where strangers get no time to speak the next one comes in and the first one goes") {
  Lobby lobby(limits_of(10, 2), std::chrono::milliseconds(0));
  const auto first = std::make_shared<Visitor>(), second = std::make_shared<Visitor>(),
             third = std::make_shared<Visitor>();
  lobby.enter(first, "10.0.0.1");
  lobby.enter(second, "10.0.0.1");
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(lobby.may_accept());
  lobby.enter(third, "10.0.0.1");
  CHECK(first->ended);
  CHECK_FALSE(second->ended);
}

TEST_CASE("strangers of few addresses make room for one of another address at once, the silent ones first") {
  Lobby lobby(limits_of(100, 4));
  std::vector<std::shared_ptr<Visitor>> crowd;
  for (int i = 0; i < 4; ++i) {
    crowd.push_back(std::make_shared<Visitor>());
    lobby.enter(crowd.back(), i < 3 ? "10.0.0.1" : "10.0.0.2");
  }
  lobby.greeted(crowd[0].get());
  CHECK(lobby.may_accept());
  const auto other = std::make_shared<Visitor>();
  CHECK(lobby.enter(other, "10.0.0.3"));
  CHECK_FALSE(crowd[0]->ended);
  CHECK(crowd[1]->ended);
  CHECK_FALSE(crowd[3]->ended);
  CHECK_FALSE(other->ended);
}

TEST_CASE("one more stranger of the address that has most of them is refused until its oldest has had its time") {
  const auto ended = [](std::chrono::milliseconds to_speak) {
    Lobby lobby(limits_of(100, 3), to_speak);
    const auto first = std::make_shared<Visitor>(), second = std::make_shared<Visitor>(),
               other = std::make_shared<Visitor>(), more = std::make_shared<Visitor>();
    lobby.enter(first, "10.0.0.1");
    lobby.enter(second, "10.0.0.1");
    lobby.enter(other, "10.0.0.2");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const bool in = lobby.enter(more, "10.0.0.1");
    CHECK_FALSE(other->ended);
    CHECK_FALSE(second->ended);
    CHECK(in == first->ended);
    return first->ended;
  };
  CHECK_FALSE(ended(std::chrono::seconds(1)));
  CHECK(ended(std::chrono::milliseconds(1)));
}

TEST_CASE("who has been silent for long goes before one more stranger of the address that has most of them") {
  Lobby lobby(limits_of(100, 3), std::chrono::milliseconds(20));
  const auto silent = std::make_shared<Visitor>(), first = std::make_shared<Visitor>(),
             second = std::make_shared<Visitor>(), more = std::make_shared<Visitor>();
  lobby.enter(silent, "10.0.0.2");
  std::this_thread::sleep_for(std::chrono::milliseconds(25));
  lobby.enter(first, "10.0.0.1");
  lobby.enter(second, "10.0.0.1");
  CHECK(lobby.enter(more, "10.0.0.1"));
  CHECK(silent->ended);
  CHECK_FALSE(first->ended);
  CHECK_FALSE(second->ended);
}

TEST_CASE("a cluster behind one address waits its turn and is not refused") {
  Lobby lobby(limits_of(100, 2), std::chrono::milliseconds(50));
  const auto first = std::make_shared<Visitor>(), second = std::make_shared<Visitor>();
  lobby.enter(first, "10.0.0.1");
  lobby.enter(second, "10.0.0.1");
  CHECK_FALSE(lobby.may_accept());
  CHECK(test::eventually([&] { return lobby.may_accept(); }));
  CHECK(lobby.enter(std::make_shared<Visitor>(), "10.0.0.1"));
}

TEST_CASE("a job with one piece to write does not wait behind all pieces of a job with many") {
  Lobby lobby(limits_of(10, 2));
  std::vector<std::string> order;
  const uint64_t piece = 256 << 10;
  for (int i = 0; i < 40; ++i) lobby.take_turn("many", piece, [&order] { order.emplace_back("many"); });
  lobby.take_turn("few", piece, [&order] { order.emplace_back("few"); });
  const auto at_once = std::ssize(order);
  CHECK(at_once < 40);
  while (order.size() < 41) lobby.end_turn();
  CHECK(std::find(order.begin(), order.end(), "few") - order.begin() <= at_once + 1);
}

}  // namespace
}  // namespace skewscope::gather
