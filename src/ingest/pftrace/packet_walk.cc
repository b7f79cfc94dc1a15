// Source: Perfetto's public schema; what it says of sequences, incremental state and clocks. A packet is read in two
// steps, as its fields come in any order: first which parts it has, then state ahead of what refers to it.
#include "packet_walk.h"

#include <algorithm>

#include "packet_fields.h"
#include "packet_parts.h"

namespace skewscope::ingest {

namespace {

constexpr size_t kMostSequences = 65'536;

struct InternedEntry {
  uint64_t number = 0;
  std::string_view text;
  int64_t integer = -1;
};

InternedEntry entry_of(std::string_view message) {
  InternedEntry entry;
  protozero::pbf_reader reader = message_of(message);
  while (reader.next()) {
    if (reader.tag() == pftrace_field::kId) {
      entry.number = reader.get_uint64();
    } else if (reader.tag() == pftrace_field::kIdText &&
               reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      entry.text = view_of(reader.get_view());
    } else if (reader.tag() == pftrace_field::kIdText) {
      entry.integer = reader.get_int64();
    } else {
      reader.skip();
    }
  }
  return entry;
}

}  // namespace

void PacketWalk::read(std::string_view packet, int64_t offset) {
  offset_ = offset;
  ++packets_;
  try {
    read_parts(packet);
  } catch (const protozero::exception&) {
    defects_.add(Defect::dropped_event, offset_);
  }
}

void PacketWalk::read_parts(std::string_view packet) {
  const PacketParts parts(packet);
  compressed_ += parts.compressed ? 1 : 0;
  Sequence& sequence = sequence_of(parts.sequence);
  // The first packet of a writer says so, too, and that state begins anew.
  if (parts.dropped) sequence.lost = true;
  if (parts.flags & pftrace_field::kStateCleared) sequence = {};
  if (!parts.snapshot.empty()) clocks_.add_snapshot(parts.snapshot, parts.sequence);
  if (!parts.interned.empty()) read_interned(parts.interned, sequence);
  if (!parts.defaults.empty()) read_defaults(parts.defaults, sequence);
  if (!parts.track.empty()) read_track(parts.track);
  if (parts.event.empty() && parts.stage.empty()) return;
  if (sequence.lost && (parts.flags & pftrace_field::kNeedsState)) {
    defects_.add(Defect::dropped_event, offset_);
    return;
  }
  if (!parts.event.empty()) read_event(parts.event, sequence, parts);
  if (!parts.stage.empty()) read_stage(parts.stage, sequence, parts);
}

PacketWalk::Sequence& PacketWalk::sequence_of(uint32_t number) {
  if (last_ != nullptr && last_number_ == number) return *last_;
  last_number_ = sequences_.size() < kMostSequences || sequences_.count(number) > 0 ? number : 0;
  last_ = &sequences_[last_number_];
  return *last_;
}

void PacketWalk::read_interned(std::string_view message, Sequence& sequence) {
  protozero::pbf_reader reader = message_of(message);
  while (reader.next()) {
    const uint32_t table = reader.tag();
    if (reader.wire_type() != protozero::pbf_wire_type::length_delimited) {
      reader.skip();
      continue;
    }
    const std::string_view bytes = view_of(reader.get_view());
    switch (table) {
      case pftrace_field::kInternedCategories: {
        const InternedEntry entry = entry_of(bytes);
        sequence.categories.set(entry.number, slice_class_of_category(entry.text));
        break;
      }
      case pftrace_field::kInternedNames: {
        const InternedEntry entry = entry_of(bytes);
        sequence.names.set(entry.number, tables_.intern(entry.text));
        break;
      }
      case pftrace_field::kInternedAnnotationNames: {
        const InternedEntry entry = entry_of(bytes);
        sequence.keys.set(entry.number, fact_key(entry.text));
        break;
      }
      case pftrace_field::kInternedTexts: {
        const InternedEntry entry = entry_of(bytes);
        sequence.texts.set(entry.number, tables_.intern(entry.text));
        break;
      }
      case pftrace_field::kInternedSpecifications: {
        const InternedEntry entry = entry_of(bytes);
        sequence.specifications.set(entry.number, tables_.intern(entry.text));
        break;
      }
      case pftrace_field::kInternedContexts: {
        const InternedEntry entry = entry_of(bytes);
        sequence.processes.set(entry.number, std::clamp<int64_t>(entry.integer, -1, INT32_MAX) + 1);
        break;
      }
      default:
        break;
    }
  }
}

void PacketWalk::read_defaults(std::string_view message, Sequence& sequence) {
  protozero::pbf_reader reader = message_of(message);
  while (reader.next()) {
    if (reader.tag() == pftrace_field::kDefaultClock) {
      sequence.clock = reader.get_uint32();
    } else if (reader.tag() == pftrace_field::kEventDefaults) {
      protozero::pbf_reader event = message_of(view_of(reader.get_view()));
      while (event.next()) {
        if (event.tag() == pftrace_field::kTrackUuid) {
          sequence.track = event.get_uint64();
        } else {
          event.skip();
        }
      }
    } else {
      reader.skip();
    }
  }
}

void PacketWalk::read_track(std::string_view message) {
  TrackDescription track;
  std::string_view own_name;
  protozero::pbf_reader reader = message_of(message);
  while (reader.next()) {
    const uint32_t tag = reader.tag();
    if (tag == pftrace_field::kUuid) {
      track.uuid = reader.get_uint64();
    } else if (tag == pftrace_field::kParentUuid) {
      track.parent = reader.get_uint64();
    } else if (tag == pftrace_field::kTrackName) {
      track.name = view_of(reader.get_view());
    } else if (tag == pftrace_field::kProcess || tag == pftrace_field::kThread) {
      (tag == pftrace_field::kProcess ? track.is_process : track.is_thread) = true;
      protozero::pbf_reader of = message_of(view_of(reader.get_view()));
      while (of.next()) {
        if (of.tag() == pftrace_field::kProcessPid) {
          track.process = of.get_int32();
        } else if (tag == pftrace_field::kThread && of.tag() == pftrace_field::kThreadTid) {
          track.thread = of.get_int64();
        } else if (of.tag() ==
                   (tag == pftrace_field::kThread ? pftrace_field::kThreadName : pftrace_field::kProcessName)) {
          own_name = view_of(of.get_view());
        } else {
          of.skip();
        }
      }
    } else {
      reader.skip();
    }
  }
  if (!own_name.empty()) track.name = own_name;
  visitor_.describe(track);
}

void PacketWalk::read_event(std::string_view message, const Sequence& sequence, const PacketParts& parts) {
  uint64_t track = sequence.track;
  uint32_t type = 0;
  StringId name;
  std::string_view name_text;
  SliceClass slice_class = SliceClass::open;
  const auto add_category = [&](SliceClass of) {
    if (slice_class == SliceClass::open || slice_class == SliceClass::nothing) slice_class = of;
  };
  annotations_.clear();
  protozero::pbf_reader reader = message_of(message);
  while (reader.next()) {
    switch (reader.tag()) {
      case pftrace_field::kType:
        type = reader.get_uint32();
        break;
      case pftrace_field::kTrackUuid:
        track = reader.get_uint64();
        break;
      case pftrace_field::kNameId:
        name = sequence.names.get(reader.get_uint64());
        break;
      case pftrace_field::kName:
        name_text = view_of(reader.get_view());
        break;
      case pftrace_field::kCategoryIds:
        each_number(reader, [&](int64_t id) { add_category(sequence.categories.get(static_cast<uint64_t>(id))); });
        break;
      case pftrace_field::kCategories:
        add_category(slice_class_of_category(view_of(reader.get_view())));
        break;
      case pftrace_field::kAnnotations:
        annotations_.push_back(view_of(reader.get_view()));
        break;
      default:
        reader.skip();
    }
  }
  const std::optional<int64_t> ns =
      clocks_.at(parts.sequence, parts.clock != 0 ? parts.clock : sequence.clock, parts.stamp);
  if (type != pftrace_field::kBegin && type != pftrace_field::kEnd) return;
  if (!ns) {
    defects_.add(Defect::dropped_event, offset_);
    return;
  }
  if (type == pftrace_field::kEnd) return visitor_.end(track, *ns);
  gatherer_.begin();
  gatherer_.facts().slice_class = slice_class;
  gatherer_.facts().name = name.known() ? name : tables_.intern(name_text);
  if (slice_class != SliceClass::nothing) {
    for (const std::string_view annotation : annotations_) read_annotation(annotation, sequence);
  }
  visitor_.begin(track, *ns, gatherer_.take());
}

int64_t PacketWalk::bytes() const {
  int64_t bytes = tables_.bytes;
  for (const auto& [number, sequence] : sequences_) {
    bytes += sequence.names.bytes() + sequence.texts.bytes() + sequence.specifications.bytes() +
             sequence.categories.bytes() + sequence.keys.bytes() + sequence.processes.bytes();
  }
  return bytes + static_cast<int64_t>(tables_.calls.capacity() * sizeof(CallFacts) +
                                      tables_.operands.capacity() * sizeof(OperatorFacts));
}

}  // namespace skewscope::ingest
