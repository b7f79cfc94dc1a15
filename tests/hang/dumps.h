// Dumps for tests: those of a folder, and such that a test writes call by call.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "skewscope/hang.h"

namespace skewscope::test {

inline std::vector<FlightDump> dumps_in(const std::string& folder) {
  auto read = read_flight_dumps({folder}, {});
  return read.ok() ? std::move(read.value().dumps) : std::vector<FlightDump>();
}

inline std::vector<FlightDump> without(const std::vector<FlightDump>& dumps, const std::set<int32_t>& ranks) {
  std::vector<FlightDump> left;
  for (const FlightDump& dump : dumps) {
    if (ranks.count(dump.rank) == 0) left.push_back(dump);
  }
  return left;
}

inline const Culprit* named(const HangReport& report, int32_t rank) {
  for (const Culprit& culprit : report.culprits) {
    if (culprit.rank == rank) return &culprit;
  }
  return nullptr;
}

// Certain or likely.
inline std::vector<int32_t> sure_ranks(const HangReport& report) {
  std::set<int32_t> ranks;
  for (const Culprit& culprit : report.culprits) {
    if (culprit.certainty != Certainty::possible) ranks.insert(culprit.rank);
  }
  return {ranks.begin(), ranks.end()};
}

inline bool says_missing(const HangReport& report, int32_t rank) {
  for (const int32_t one : report.ranks_without_dump) {
    if (one == rank) return true;
  }
  return false;
}

// A dump, call by call.
class DumpBuilder {
 public:
  explicit DumpBuilder(int32_t rank) { dump_.rank = rank; }

  // Its number.
  int32_t group(const std::string& name, const std::vector<int32_t>& ranks) {
    dump_.groups.push_back({name, "", ranks});
    return static_cast<int32_t>(dump_.groups.size()) - 1;
  }
  DumpBuilder& collective(int32_t group, int64_t seq, const std::string& name, CallState state,
                          int64_t elements = 100) {
    DumpedCall call;
    call.group = group;
    call.collective_seq = seq;
    call.name = text(name);
    call.op = name == "all_reduce" ? DumpedOp::all_reduce : name == "broadcast" ? DumpedOp::broadcast : DumpedOp::other;
    call.input_elements = elements;
    return add(call, state);
  }
  DumpBuilder& message(int32_t group, DumpedOp op, int32_t peer, CallState state) {
    DumpedCall call;
    call.group = group;
    call.name = text(op == DumpedOp::send ? "send" : "recv");
    call.op = op;
    call.p2p = true;
    call.peer = peer;
    return add(call, state);
  }
  // The last call's host time.
  DumpBuilder& at(int64_t created_ns) {
    dump_.calls.back().created_ns = created_ns;
    return *this;
  }
  FlightDump done() const { return dump_; }

 private:
  int32_t text(const std::string& name) {
    dump_.texts.push_back(name);
    return static_cast<int32_t>(dump_.texts.size()) - 1;
  }
  DumpBuilder& add(DumpedCall call, CallState state) {
    call.record = static_cast<int64_t>(dump_.calls.size());
    call.state = state;
    dump_.calls.push_back(std::move(call));
    return *this;
  }

  FlightDump dump_;
};

}  // namespace skewscope::test
