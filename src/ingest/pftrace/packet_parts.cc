#include "packet_parts.h"

#include "packet_fields.h"
#include "src/ingest/xplane/protobuf.h"

namespace skewscope::ingest {

PacketParts::PacketParts(std::string_view packet) {
  protozero::pbf_reader reader = message_of(packet);
  while (reader.next()) {
    switch (reader.tag()) {
      case pftrace_field::kTimestamp:
        stamp = reader.get_uint64();
        break;
      case pftrace_field::kSequenceId:
        sequence = reader.get_uint32();
        break;
      case pftrace_field::kTrackEvent:
        event = view_of(reader.get_view());
        break;
      case pftrace_field::kInternedData:
        interned = view_of(reader.get_view());
        break;
      case pftrace_field::kSequenceFlags:
        flags |= reader.get_uint32();
        break;
      case pftrace_field::kStateClearedOld:
        flags |= reader.get_bool() ? pftrace_field::kStateCleared : 0;
        break;
      case pftrace_field::kPreviousDropped:
        dropped = reader.get_uint32() != 0;
        break;
      case pftrace_field::kClockSnapshot:
        snapshot = view_of(reader.get_view());
        break;
      case pftrace_field::kRenderStage:
        stage = view_of(reader.get_view());
        break;
      case pftrace_field::kTimestampClock:
        clock = reader.get_uint32();
        break;
      case pftrace_field::kDefaults:
        defaults = view_of(reader.get_view());
        break;
      case pftrace_field::kTrackDescriptor:
        track = view_of(reader.get_view());
        break;
      case pftrace_field::kCompressedPackets:
      case pftrace_field::kZstdCompressedPackets:
        compressed = true;
        reader.skip();
        break;
      default:
        reader.skip();
    }
  }
}

}  // namespace skewscope::ingest
