// Who is let in, who has to go, and whose turn it is.
#include "src/gather/lobby.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
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
