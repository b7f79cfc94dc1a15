// Where snapshots follow one another, the first one counts: a clock that is moved by steps would tear the trace apart.
#include "packet_clocks.h"

#include <algorithm>
#include <vector>

#include "packet_fields.h"
#include "skewscope/base/time.h"
#include "src/ingest/xplane/protobuf.h"

namespace skewscope::ingest {

bool PacketClocks::is_of_sequence(uint32_t clock) { return clock >= 64 && clock < 128; }

PacketClocks::Reading PacketClocks::reading_of(std::string_view message) {
  Reading reading;
  uint64_t stamp = 0, unit = 1;
  protozero::pbf_reader clock = message_of(message);
  while (clock.next()) {
    switch (clock.tag()) {
      case pftrace_field::kClockId:
        reading.clock = clock.get_uint32();
        break;
      case pftrace_field::kClockTimestamp:
        stamp = clock.get_uint64();
        break;
      case pftrace_field::kClockIncremental:
        reading.incremental = clock.get_bool();
        break;
      case pftrace_field::kClockUnit:
        unit = clock.get_uint64();
        break;
      default:
        clock.skip();
    }
  }
  if (unit == 0) unit = 1;
  if (unit > 1'000'000'000 || stamp > static_cast<uint64_t>(kFurthestNs) / unit) return reading;
  reading.stamp = static_cast<int64_t>(stamp);
  reading.unit_ns = static_cast<int64_t>(unit);
  return reading;
}

void PacketClocks::add_snapshot(std::string_view message, uint32_t sequence) {
  std::vector<Reading> readings;
  protozero::pbf_reader snapshot = message_of(message);
  while (snapshot.next(pftrace_field::kClocks)) {
    readings.push_back(reading_of(view_of(snapshot.get_view())));
    if (readings.back().stamp < 0) readings.pop_back();
  }
  const auto find = [&](const auto& wanted) { return std::find_if(readings.begin(), readings.end(), wanted); };
  if (reference_ == 0) {
    auto reference = find([](const Reading& r) { return r.clock == kRealtime; });
    if (reference == readings.end()) reference = find([](const Reading& r) { return r.clock == kBoottime; });
    if (reference == readings.end()) reference = find([](const Reading& r) { return !is_of_sequence(r.clock); });
    if (reference != readings.end()) {
      reference_ = reference->clock;
      to_reference_ns_[reference_] = 0;
    }
  }
  // Now, on the common clock.
  std::optional<int64_t> now_ns;
  for (const Reading& reading : readings) {
    const auto known = to_reference_ns_.find(reading.clock);
    if (!is_of_sequence(reading.clock) && known != to_reference_ns_.end() && (!now_ns || reading.clock == reference_))
      now_ns = reading.stamp * reading.unit_ns + known->second;
  }
  for (const Reading& reading : readings) {
    const int64_t ns = reading.stamp * reading.unit_ns;
    if (is_of_sequence(reading.clock)) {
      local_[{sequence, reading.clock}] = {reading.incremental, reading.unit_ns, reading.stamp, reading.stamp,
                                           now_ns.value_or(ns)};
    } else if (now_ns) {
      to_reference_ns_.try_emplace(reading.clock, *now_ns - ns);
    }
  }
}

std::optional<int64_t> PacketClocks::at(uint32_t sequence, uint32_t clock, uint64_t stamp) {
  if (stamp > static_cast<uint64_t>(kFurthestNs)) return std::nullopt;
  auto value = static_cast<int64_t>(stamp);
  int64_t add_ns = 0;
  if (is_of_sequence(clock)) {
    const auto known = local_.find({sequence, clock});
    if (known == local_.end()) return std::nullopt;
    OfSequence& own = known->second;
    if (own.incremental) {
      if (value > kFurthestNs - own.last) return std::nullopt;
      value = own.last += value;
    }
    value -= own.snapshot;
    if (value > kFurthestNs / own.unit_ns || value < -kFurthestNs / own.unit_ns) return std::nullopt;
    value *= own.unit_ns;
    add_ns = own.snapshot_ns;
  } else if (const auto known = to_reference_ns_.find(clock); known != to_reference_ns_.end()) {
    add_ns = known->second;
  }
  value += add_ns;  // both are at most twice the furthest
  return value < 0 || value > kFurthestNs ? std::nullopt : std::optional(value);
}

}  // namespace skewscope::ingest
