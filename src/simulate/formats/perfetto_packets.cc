#include "perfetto_packets.h"

#include <protozero/pbf_writer.hpp>

namespace skewscope::simulate {
namespace {

using protozero::pbf_writer;

// Numbers of fields.
namespace perfetto_field {
constexpr uint32_t kPacket = 1;
constexpr uint32_t kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11, kInternedData = 12, kSequenceFlags = 13,
                   kRenderStage = 53, kTrackDescriptor = 60;  // of a packet
constexpr uint32_t kStateCleared = 1, kNeedsState = 2;
constexpr uint32_t kUuid = 1, kProcess = 3, kThread = 4, kParentUuid = 5;    // of a track
constexpr uint32_t kPid = 1, kProcessName = 6, kTid = 2, kThreadName = 5;    // of a process, of a thread
constexpr uint32_t kArgument = 4, kType = 9, kNameId = 10, kTrackUuid = 11;  // of a slice
constexpr uint32_t kBegin = 1, kEnd = 2;                                     // of kType
constexpr uint32_t kArgumentName = 10, kNumber = 4, kText = 6, kList = 12;   // of an argument
constexpr uint32_t kId = 1, kIdText = 2;                                     // of an interned text
constexpr uint32_t kDuration = 2, kExtra = 6, kGpu = 11, kQueue = 13, kStageKind = 14, kStageName = 20,
                   kLaunch = 21;  // of a stage
constexpr uint32_t kExtraName = 1, kExtraText = 2, kGrid = 1;
}  // namespace perfetto_field

void add_argument(const char* name, const PerfettoPackets::Value& value, pbf_writer& event) {
  pbf_writer argument(event, perfetto_field::kArgument);
  argument.add_string(perfetto_field::kArgumentName, name);
  if (const auto* number = std::get_if<int64_t>(&value)) {
    argument.add_int64(perfetto_field::kNumber, *number);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    argument.add_string(perfetto_field::kText, *text);
  } else {
    for (const int64_t item : std::get<std::vector<int64_t>>(value)) {
      pbf_writer entry(argument, perfetto_field::kList);
      entry.add_int64(perfetto_field::kNumber, item);
    }
  }
}

}  // namespace

template <class Write>
void PerfettoPackets::packet(const Write& write) {
  std::string bytes;
  {
    pbf_writer writer(bytes);
    writer.add_uint32(perfetto_field::kSequenceId, 1);
    writer.add_uint32(perfetto_field::kSequenceFlags,
                      began_ ? perfetto_field::kNeedsState : perfetto_field::kStateCleared);
    began_ = true;
    write(writer);
  }
  pbf_writer(bytes_).add_message(perfetto_field::kPacket, bytes);
}

uint64_t PerfettoPackets::number(Table table, std::string_view text) {
  std::map<std::string, uint64_t, std::less<>>& texts = table == kNames ? names_ : specifications_;
  const auto known = texts.find(text);
  if (known != texts.end()) return known->second;
  const uint64_t id = texts.size() + 1;
  texts.emplace(text, id);
  packet([&](pbf_writer& writer) {
    pbf_writer data(writer, perfetto_field::kInternedData);
    pbf_writer entry(data, table);
    entry.add_uint64(perfetto_field::kId, id);
    entry.add_string(perfetto_field::kIdText, text.data(), text.size());
  });
  return id;
}

void PerfettoPackets::process(uint64_t track, int64_t pid, std::string_view name) {
  packet([&](pbf_writer& writer) {
    pbf_writer descriptor(writer, perfetto_field::kTrackDescriptor);
    descriptor.add_uint64(perfetto_field::kUuid, track);
    pbf_writer of(descriptor, perfetto_field::kProcess);
    of.add_int32(perfetto_field::kPid, static_cast<int32_t>(pid));
    of.add_string(perfetto_field::kProcessName, name.data(), name.size());
  });
}

void PerfettoPackets::thread(uint64_t track, uint64_t parent, int64_t pid, int64_t tid, std::string_view name) {
  packet([&](pbf_writer& writer) {
    pbf_writer descriptor(writer, perfetto_field::kTrackDescriptor);
    descriptor.add_uint64(perfetto_field::kUuid, track);
    descriptor.add_uint64(perfetto_field::kParentUuid, parent);
    pbf_writer of(descriptor, perfetto_field::kThread);
    of.add_int32(perfetto_field::kPid, static_cast<int32_t>(pid));
    of.add_int64(perfetto_field::kTid, tid);
    of.add_string(perfetto_field::kThreadName, name.data(), name.size());
  });
}

void PerfettoPackets::stage(const Stage& stage) {
  const uint64_t queue = number(kSpecifications, stage.queue), kind = number(kSpecifications, stage.kind),
                 name = number(kNames, stage.name);
  packet([&](pbf_writer& writer) {
    writer.add_uint64(perfetto_field::kTimestamp, static_cast<uint64_t>(stage.start_ns));
    pbf_writer event(writer, perfetto_field::kRenderStage);
    event.add_uint64(perfetto_field::kDuration, static_cast<uint64_t>(stage.duration_ns));
    event.add_int32(perfetto_field::kGpu, stage.gpu);
    event.add_uint64(perfetto_field::kQueue, queue);
    event.add_uint64(perfetto_field::kStageKind, kind);
    event.add_uint64(perfetto_field::kStageName, name);
    for (const auto& [key, value] : stage.extra) {
      pbf_writer extra(event, perfetto_field::kExtra);
      extra.add_string(perfetto_field::kExtraName, key);
      extra.add_string(perfetto_field::kExtraText, std::to_string(value));
    }
    if (stage.blocks <= 0) return;
    pbf_writer launch(event, perfetto_field::kLaunch);
    pbf_writer grid(launch, perfetto_field::kGrid);
    const uint32_t sides[] = {static_cast<uint32_t>(stage.blocks), 1, 1};
    for (uint32_t side = 0; side < std::size(sides); ++side) grid.add_uint32(side + 1, sides[side]);
  });
}

void PerfettoPackets::begin(uint64_t track, int64_t at_ns, std::string_view name, const Arguments& arguments) {
  const uint64_t name_number = number(kNames, name);
  packet([&](pbf_writer& writer) {
    writer.add_uint64(perfetto_field::kTimestamp, static_cast<uint64_t>(at_ns));
    pbf_writer event(writer, perfetto_field::kTrackEvent);
    event.add_enum(perfetto_field::kType, perfetto_field::kBegin);
    event.add_uint64(perfetto_field::kTrackUuid, track);
    event.add_uint64(perfetto_field::kNameId, name_number);
    for (const auto& [key, value] : arguments) add_argument(key, value, event);
  });
}

void PerfettoPackets::end(uint64_t track, int64_t at_ns) {
  packet([&](pbf_writer& writer) {
    writer.add_uint64(perfetto_field::kTimestamp, static_cast<uint64_t>(at_ns));
    pbf_writer event(writer, perfetto_field::kTrackEvent);
    event.add_enum(perfetto_field::kType, perfetto_field::kEnd);
    event.add_uint64(perfetto_field::kTrackUuid, track);
  });
}

}  // namespace skewscope::simulate
