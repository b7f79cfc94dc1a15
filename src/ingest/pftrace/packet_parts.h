// The parts of a packet, as they lie in it.
#pragma once

#include <cstdint>
#include <string_view>

namespace skewscope::ingest {

struct PacketParts {
  uint64_t stamp = 0;
  uint32_t clock = 0, sequence = 0, flags = 0;
  bool dropped = false, compressed = false;
  std::string_view snapshot, interned, defaults, event, track, stage;

  // Throws protozero::exception.
  explicit PacketParts(std::string_view packet);
};

}  // namespace skewscope::ingest
