// Data: what the flight recorder of one rank left: its process groups, and its last calls in the order of its host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skewscope {

enum class CallState : uint8_t { scheduled, started, completed };
enum class DumpedOp : uint8_t {
  other,
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  barrier,
  broadcast,
  send,
  recv
};

// One call. Texts are numbers into FlightDump::texts.
struct DumpedCall {
  int32_t group = -1;                       // into FlightDump::groups
  int64_t record = -1;                      // position in the order of this rank's host
  int64_t collective_seq = 0, p2p_seq = 0;  // counted by group; a send counts in p2p_seq alone
  int32_t name = -1;                        // "all_reduce", "send 0->1"
  DumpedOp op = DumpedOp::other;
  bool p2p = false;
  int32_t peer = -1;  // of send and recv: the other's place in the group
  CallState state = CallState::scheduled;
  int64_t input_elements = -1, output_elements = -1;            // -1: not recorded
  int32_t shape = -1, dtype = -1;                               // "[4096, 5120]", "BFloat16"
  int64_t created_ns = -1, started_ns = -1, completed_ns = -1;  // epoch, of this host's clock; -1: not recorded
  int64_t batch = -1;           // calls that were launched together share it, within a rank
  std::vector<int32_t> frames;  // innermost first, at most kMostFrames: "name of the file:line in function"
};
constexpr size_t kMostFrames = 12;

struct DumpedGroup {
  std::string name, description;
  std::vector<int32_t> ranks;                       // global, by place; empty: not recorded
  int64_t last_enqueued = -1, last_completed = -1;  // -1: not recorded
};

struct FlightDump {
  int32_t rank = -1;
  std::string file, version;
  std::vector<DumpedGroup> groups;
  std::vector<DumpedCall> calls;  // by record
  std::vector<std::string> texts;

  const std::string& text(int32_t number) const {
    static const std::string none;
    return number < 0 ? none : texts[static_cast<size_t>(number)];
  }
};

}  // namespace skewscope
