// Perfetto's protobuf: a sequence of packets, each a track's description, the beginning or end of a slice, or a value.
// Field numbers are those of Perfetto's public schema (protos/perfetto/trace/**.proto); protozero writes the wire
// format.
//
// Time stamps are Unix nanoseconds on the common clock, given to Perfetto as its default clock and as wall time.
// Each process is a packet sequence of its own, whose names are written once, with the first packet that uses them
// (InternedData). Ends of slices follow in order: what is open on a track is a stack, and Perfetto ends the innermost.
#include <array>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <unordered_map>

#include "output_file.h"
#include "skewscope/base/printable.h"
#include "trace_writer.h"

namespace skewscope::merge {
namespace {

constexpr size_t kPacketPiece = 1 << 20;

namespace trace {
constexpr uint32_t kPacket = 1;
}
namespace packet {
constexpr uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11, kInternedData = 12,
                   kSequenceFlags = 13, kTrackDescriptor = 60;
constexpr uint32_t kStateCleared = 1, kNeedsState = 2;  // of kSequenceFlags
}  // namespace packet
namespace clock_snapshot {
constexpr uint32_t kClocks = 1, kPrimaryTraceClock = 2;
constexpr uint32_t kClockId = 1, kTimestamp = 2;  // of kClocks
constexpr uint32_t kRealtime = 1, kBoottime = 6;  // clock ids
}  // namespace clock_snapshot
namespace descriptor {
constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kParentUuid = 5, kCounter = 8, kChildOrdering = 11,
                   kSiblingOrderRank = 12, kProcessOrdering = 19;
constexpr uint32_t kExplicit = 3;                // of kChildOrdering
constexpr uint32_t kExplicitProcesses = 1;       // of kProcessOrdering
constexpr uint32_t kPid = 1, kProcessName = 6;   // of kProcess
constexpr uint32_t kUnit = 3, kNanoseconds = 1;  // of kCounter
}  // namespace descriptor
namespace event {
constexpr uint32_t kCategoryIds = 3, kAnnotations = 4, kType = 9, kNameId = 10, kTrackUuid = 11, kCounterValue = 30,
                   kFlowIds = 47, kTerminatingFlowIds = 48;
constexpr uint32_t kBegin = 1, kEnd = 2, kCounter = 4;             // of kType
constexpr uint32_t kAnnotationNameId = 1, kInt = 4, kTextId = 17;  // of kAnnotations
}  // namespace event
namespace interned {
constexpr uint32_t kId = 1, kText = 2;
constexpr std::array<uint32_t, 4> kTables = {1, 2, 3, 29};
enum Table : uint8_t { kCategories, kNames, kAnnotationNames, kAnnotationTexts };  // rows of kTables
}  // namespace interned

// Texts of one packet sequence that have a number.
class Interner {
 public:
  // The number of the text; `data` learns new ones.
  uint64_t id_of(interned::Table table, std::string_view text, std::string& data) {
    auto& ids = ids_[table];
    const auto [place, is_new] = ids.try_emplace(std::string(text), ids.size() + 1);
    if (is_new) {
      protozero::pbf_writer writer(data);
      protozero::pbf_writer entry(writer, interned::kTables[table]);
      entry.add_uint64(interned::kId, place->second);
      entry.add_string(interned::kText, valid_utf8(text));
    }
    return place->second;
  }

 private:
  std::array<std::unordered_map<std::string, uint64_t>, interned::kTables.size()> ids_;
};

class PftraceWriter : public TraceWriter {
 public:
  PftraceWriter(const std::string& path, JobNs zero) : file_(path, false) {
    tell_clocks(zero);
    keep_order_of_processes();
  }

  void begin_process(int64_t number, std::string_view name) override {
    ++sequence_;
    names_ = Interner();
    tracks_.clear();
    std::string text;
    protozero::pbf_writer packet = new_packet(text, {}, packet::kStateCleared);
    {
      protozero::pbf_writer track(packet, packet::kTrackDescriptor);
      track.add_uint64(descriptor::kUuid, uuid_of({-1}));
      track.add_enum(descriptor::kChildOrdering, descriptor::kExplicit);
      track.add_int32(descriptor::kSiblingOrderRank, static_cast<int32_t>(sequence_));
      protozero::pbf_writer process(track, descriptor::kProcess);
      process.add_int32(descriptor::kPid, static_cast<int32_t>(number));
      process.add_string(descriptor::kProcessName, valid_utf8(name));
    }
    store(text);
  }

  TrackId track(std::string_view name) override { return describe(name, false); }
  TrackId counter(std::string_view name) override { return describe(name, true); }

  void slice(TrackId track, const Slice& slice) override {
    std::vector<JobNs>& open = tracks_[static_cast<size_t>(track.value)];
    end_until(track, open, slice.start);
    open.push_back(slice.end());
    std::string names;
    const std::string event = begin_of(track, slice, names);
    std::string text;
    protozero::pbf_writer packet = new_packet(text, slice.start, packet::kNeedsState);
    if (!names.empty()) packet.add_message(packet::kInternedData, names);
    packet.add_message(packet::kTrackEvent, event);
    store(text);
  }

  void value(TrackId counter, JobNs at, int64_t value_ns) override {
    std::string text;
    protozero::pbf_writer packet = new_packet(text, at, packet::kNeedsState);
    {
      protozero::pbf_writer event(packet, packet::kTrackEvent);
      event.add_enum(event::kType, event::kCounter);
      event.add_uint64(event::kTrackUuid, uuid_of(counter));
      event.add_int64(event::kCounterValue, value_ns);
    }
    store(text);
  }

  void end_process() override {
    for (size_t i = 0; i < tracks_.size(); ++i) {
      end_until({static_cast<int32_t>(i)}, tracks_[i], JobNs{INT64_MAX});
    }
  }

  Result<Done> close() override {
    file_.write(text_);
    return file_.close();
  }

 private:
  // Unique in the file; of track -1 the process's.
  uint64_t uuid_of(TrackId track) const {
    return (static_cast<uint64_t>(sequence_) << 32) + static_cast<uint64_t>(track.value + 1);
  }

  void tell_clocks(JobNs zero) {
    std::string text;
    protozero::pbf_writer packet = new_packet(text, zero, packet::kStateCleared);
    {
      protozero::pbf_writer snapshot(packet, packet::kClockSnapshot);
      for (const uint32_t clock : {clock_snapshot::kBoottime, clock_snapshot::kRealtime}) {
        protozero::pbf_writer reading(snapshot, clock_snapshot::kClocks);
        reading.add_uint32(clock_snapshot::kClockId, clock);
        reading.add_uint64(clock_snapshot::kTimestamp, static_cast<uint64_t>(zero.ns));
      }
      snapshot.add_enum(clock_snapshot::kPrimaryTraceClock, clock_snapshot::kBoottime);
    }
    store(text);
  }

  // On the track above all others, on which nothing lies.
  void keep_order_of_processes() {
    std::string text;
    protozero::pbf_writer packet = new_packet(text, {}, packet::kNeedsState);
    {
      protozero::pbf_writer root(packet, packet::kTrackDescriptor);
      root.add_uint64(descriptor::kUuid, 0);
      root.add_enum(descriptor::kProcessOrdering, descriptor::kExplicitProcesses);
    }
    store(text);
  }

  // A packet without a time is a description.
  protozero::pbf_writer new_packet(std::string& text, std::optional<JobNs> at, uint32_t flags) const {
    protozero::pbf_writer packet(text);
    if (at) packet.add_uint64(packet::kTimestamp, static_cast<uint64_t>(at->ns));
    packet.add_uint32(packet::kSequenceId, sequence_);
    packet.add_uint32(packet::kSequenceFlags, flags);
    return packet;
  }

  void store(const std::string& packet) {
    protozero::pbf_writer(text_).add_message(trace::kPacket, packet);
    if (text_.size() < kPacketPiece) return;
    file_.write(text_);
    text_.clear();
  }

  TrackId describe(std::string_view name, bool counter) {
    const TrackId id{static_cast<int32_t>(tracks_.size())};
    tracks_.emplace_back();
    std::string text;
    protozero::pbf_writer packet = new_packet(text, {}, packet::kNeedsState);
    {
      protozero::pbf_writer track(packet, packet::kTrackDescriptor);
      track.add_uint64(descriptor::kUuid, uuid_of(id));
      track.add_string(descriptor::kName, valid_utf8(name));
      track.add_uint64(descriptor::kParentUuid, uuid_of({-1}));
      track.add_int32(descriptor::kSiblingOrderRank, id.value);
      if (counter) {
        protozero::pbf_writer values(track, descriptor::kCounter);
        values.add_enum(descriptor::kUnit, descriptor::kNanoseconds);
      }
    }
    store(text);
    return id;
  }

  std::string begin_of(TrackId track, const Slice& slice, std::string& names) {
    std::string text;
    protozero::pbf_writer event(text);
    event.add_enum(event::kType, event::kBegin);
    event.add_uint64(event::kTrackUuid, uuid_of(track));
    event.add_uint64(event::kCategoryIds, names_.id_of(interned::kCategories, slice.category, names));
    event.add_uint64(event::kNameId, names_.id_of(interned::kNames, slice.name, names));
    for (const uint64_t id : slice.arrows_out) event.add_fixed64(event::kFlowIds, id);
    for (const uint64_t id : slice.arrows_in) event.add_fixed64(event::kTerminatingFlowIds, id);
    for (const Argument& argument : slice.arguments) {
      protozero::pbf_writer annotation(event, event::kAnnotations);
      annotation.add_uint64(event::kAnnotationNameId, names_.id_of(interned::kAnnotationNames, argument.name, names));
      if (const auto* number = std::get_if<int64_t>(&argument.value)) {
        annotation.add_int64(event::kInt, *number);
      } else {
        const auto value = std::get<std::string_view>(argument.value);
        annotation.add_uint64(event::kTextId, names_.id_of(interned::kAnnotationTexts, value, names));
      }
    }
    return text;
  }

  // Ends what is open and over.
  void end_until(TrackId track, std::vector<JobNs>& open, JobNs now) {
    while (!open.empty() && open.back() <= now) {
      std::string text;
      protozero::pbf_writer packet = new_packet(text, open.back(), packet::kNeedsState);
      {
        protozero::pbf_writer event(packet, packet::kTrackEvent);
        event.add_enum(event::kType, event::kEnd);
        event.add_uint64(event::kTrackUuid, uuid_of(track));
      }
      store(text);
      open.pop_back();
    }
  }

  OutputFile file_;
  std::string text_;
  uint32_t sequence_ = 1;  // of the process; 1: of what is about the whole file
  Interner names_;
  std::vector<std::vector<JobNs>> tracks_;  // ends of what is open, innermost last
};

}  // namespace

std::unique_ptr<TraceWriter> make_pftrace_writer(const std::string& path, JobNs zero) {
  return std::make_unique<PftraceWriter>(path, zero);
}

}  // namespace skewscope::merge
