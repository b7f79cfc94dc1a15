// Who is let in, who has to go, and whose turn it is.
#include "src/gather/lobby.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

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
  lobby.enter(known);
  lobby.authenticated(known.get());
  lobby.enter(first);
  lobby.enter(second);
  CHECK_FALSE(first->ended);
  lobby.enter(third);
  CHECK(first->ended);
  CHECK_FALSE(known->ended);
  CHECK_FALSE(second->ended);
  CHECK(lobby.figures().unauthenticated == 2);
}

TEST_CASE("a burst of strangers is given time to say who they are before the next one is let in") {
  Lobby lobby(limits_of(10, 2));
  const auto first = std::make_shared<Visitor>(), second = std::make_shared<Visitor>();
  lobby.enter(first);
  lobby.enter(second);
  CHECK_FALSE(lobby.may_accept());
  lobby.authenticated(first.get());
  CHECK(lobby.may_accept());
}

TEST_CASE("where strangers get no time to speak the next one comes in and the first one goes") {
  Lobby lobby(limits_of(10, 2), std::chrono::milliseconds(0));
  const auto first = std::make_shared<Visitor>(), second = std::make_shared<Visitor>(),
             third = std::make_shared<Visitor>();
  lobby.enter(first);
  lobby.enter(second);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(lobby.may_accept());
  lobby.enter(third);
  CHECK(first->ended);
  CHECK_FALSE(second->ended);
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
