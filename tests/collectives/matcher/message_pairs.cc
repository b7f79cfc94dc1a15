// Messages by hand: a transfer takes 50 us, a step is a millisecond per message, clocks are right to 5 us.
#include "collectives/matcher/message_pairs.h"

#include <catch2/catch.hpp>
#include <map>

using namespace skewscope;

namespace {

constexpr int64_t kUs = 1'000, kTransfer = 50 * kUs, kError = 5 * kUs;

struct Messages {
  std::vector<MemberCalls> members = std::vector<MemberCalls>(2);  // who sends, who receives
  std::map<std::pair<int, int>, int> truth;                        // of its calls: the message

  // Message `number` of a step, from when its sender comes to when its receiver does; -1: that call was lost.
  void add(int64_t step, int number, int64_t sent_us, int64_t awaited_us) {
    const int64_t met = std::max(sent_us, awaited_us) * kUs;
    if (sent_us >= 0) put(0, step, number, sent_us * kUs, sent_us * kUs + kTransfer);
    if (awaited_us >= 0) put(1, step, number, awaited_us * kUs, met + kTransfer);
  }
  void lose(int member, int number) {
    for (auto at = truth.begin(); at != truth.end(); ++at) {
      if (at->first.first != member || at->second != number) continue;
      MemberCalls& calls = members[static_cast<size_t>(member)];
      calls.erase(calls.begin() + at->first.second);
      std::map<std::pair<int, int>, int> left;
      for (const auto& [call, message] : truth) {
        if (call == at->first) continue;
        const bool behind = call.first == member && call.second > at->first.second;
        left[{call.first, call.second - (behind ? 1 : 0)}] = message;
      }
      truth = left;
      return;
    }
  }
  // Messages whose two calls were paired; a wrong pair fails.
  std::vector<int> paired(const MatchOutcome& outcome) const {
    std::vector<int> found;
    for (size_t k = 0; k < outcome.parts.size(); k += 2) {
      const int sent = truth.at({0, outcome.parts[k].call}), received = truth.at({1, outcome.parts[k + 1].call});
      CHECK(sent == received);
      found.push_back(sent);
    }
    return found;
  }

 private:
  void put(int member, int64_t step, int number, int64_t start_ns, int64_t end_ns) {
    MatchCall call;
    call.start_ns = start_ns;
    call.end_ns = end_ns;
    call.signature = 1;
    call.step = step;
    call.kind = member == 0 ? CollectiveKind::send : CollectiveKind::recv;
    call.ends_together = false;
    MemberCalls& calls = members[static_cast<size_t>(member)];
    truth[{member, static_cast<int>(calls.size())}] = number;
    calls.push_back(call);
  }
};

// Five steps of six messages, a millisecond apart; each receiver comes `ahead_us` before its sender.
Messages five_steps(int64_t ahead_us) {
  Messages messages;
  for (int number = 0; number < 30; ++number) {
    const int64_t sent_us = 10'000 + 1'000 * number;
    messages.add(number / 6, number, sent_us, sent_us - ahead_us);
  }
  return messages;
}

MatchOutcome by_time(const Messages& messages, double lost) {
  return pair_messages(messages.members, kError, lost, {}, OrderTells::long_steps);
}

std::vector<int> all_but(const std::vector<int>& lost) {
  std::vector<int> rest;
  for (int number = 0; number < 30; ++number) {
    if (std::find(lost.begin(), lost.end(), number) == lost.end()) rest.push_back(number);
  }
  return rest;
}

}  // namespace

TEST_CASE("message pairs: nothing lost, all are paired, whoever waits") {
  for (const int64_t ahead_us : {600, -600}) {
    const Messages messages = five_steps(ahead_us);
    CHECK(messages.paired(by_time(messages, 0.001)) == all_but({}));
  }
}

TEST_CASE("message pairs: a lost send or receive costs its own message alone where receivers wait") {
  for (const int member : {0, 1}) {
    for (const int number : {1, 14, 15, 28}) {  // in the first step, in the middle, in the last
      Messages messages = five_steps(600);
      messages.lose(member, number);
      INFO("member " << member << ", message " << number);
      CHECK(messages.paired(by_time(messages, 0.03)) == all_but({number}));
    }
  }
}

TEST_CASE("message pairs: equal numbers of calls in a step prove no order where both lost one") {
  Messages messages = five_steps(600);
  messages.lose(0, 13);
  messages.lose(1, 16);
  CHECK(messages.paired(by_time(messages, 0.03)) == all_but({13, 16}));
}

TEST_CASE("message pairs: where receivers come late nothing tells which message was lost, and the step is refused") {
  Messages messages = five_steps(-2'600);
  messages.lose(0, 14);
  const MatchOutcome outcome = by_time(messages, 0.003);
  for (const int number : messages.paired(outcome)) CHECK(number / 6 != 2);
  CHECK(messages.paired(outcome).size() == 24);
  const auto ambiguous = [](const MatchOutcome::Left& left) { return left.reason == UnmatchedReason::ambiguous; };
  CHECK(std::count_if(outcome.left.begin(), outcome.left.end(), ambiguous) == 11);
}

TEST_CASE("message pairs: what order told stays where time neither tells nor refutes it") {
  Messages messages = five_steps(-2'600);
  messages.lose(0, 14);
  MatchOutcome in_order;
  in_order.parts = {{0, 0, 12}, {0, 1, 12}, {1, 0, 13}, {1, 1, 13}};
  in_order.method = {MatchMethod::step, MatchMethod::step};
  CHECK(messages.paired(pair_messages(messages.members, kError, 0.003, in_order, OrderTells::what_time_does_not))
            .size() == 26);
}

TEST_CASE(
    "message pairs: a step too long to align keeps what order told, but for what was received before it was sent") {
  Messages messages;
  for (int number = 0; number < 600; ++number) messages.add(0, number, 10'000 + 1'000 * number, 9'400 + 1'000 * number);
  MatchOutcome in_order;
  for (int k = 0; k < 500; ++k) in_order.parts.insert(in_order.parts.end(), {{k, 0, k}, {k, 1, k}});
  in_order.parts.insert(in_order.parts.end(), {{500, 0, 599}, {500, 1, 598}});
  in_order.method.assign(501, MatchMethod::step);
  CHECK(messages.paired(pair_messages(messages.members, kError, 0.01, in_order, OrderTells::long_steps)).size() == 500);
}

TEST_CASE("message pairs: a message that is received before it was sent contradicts what order told") {
  const Messages messages = five_steps(600);
  MatchOutcome shifted;
  for (int k = 0; k < 29; ++k) shifted.parts.insert(shifted.parts.end(), {{k, 0, k + 1}, {k, 1, k}});
  CHECK(receives_unsent(messages.members, shifted, kError));
  CHECK_FALSE(receives_unsent(messages.members, by_time(messages, 0.001), kError));
}
