// The clocks of a trace's packets: which one a stamp is of, and what it says in nanoseconds on the clock that all have
// in common, wall time where a snapshot knows it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace skewscope::ingest {

class PacketClocks {
 public:
  static constexpr uint32_t kRealtime = 1, kBoottime = 6;

  // Readings of several clocks at one instant, the message ClockSnapshot. Throws protozero::exception.
  void add_snapshot(std::string_view message, uint32_t sequence);
  // nullopt: no time that can be.
  std::optional<int64_t> at(uint32_t sequence, uint32_t clock, uint64_t stamp);
  bool is_wall_time() const { return reference_ == kRealtime; }

 private:
  // A clock that counts for one sequence of packets only; in units of its own, maybe from stamp to stamp.
  struct OfSequence {
    bool incremental = false;
    int64_t unit_ns = 1;
    int64_t snapshot = 0, last = 0;  // in units
    int64_t snapshot_ns = 0;         // on the common clock
  };
  struct Reading {
    uint32_t clock = 0;
    bool incremental = false;
    int64_t stamp = -1, unit_ns = 1;
  };
  static bool is_of_sequence(uint32_t clock);
  static Reading reading_of(std::string_view message);

  uint32_t reference_ = 0;                                     // 0: no snapshot yet
  std::map<uint32_t, int64_t> to_reference_ns_;                // what to add, by clock
  std::map<std::pair<uint32_t, uint32_t>, OfSequence> local_;  // by sequence and clock
};

}  // namespace skewscope::ingest
