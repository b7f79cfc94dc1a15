// What events say in their arguments, and stages of a GPU.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "packet_fields.h"
#include "packet_parts.h"
#include "packet_walk.h"
#include "skewscope/base/time.h"
#include "skewscope/model/rank_trace.h"

namespace skewscope::ingest {

namespace {

constexpr int kDeepestList = 8;

}  // namespace

void PacketWalk::read_annotation(std::string_view message, const Sequence& sequence) {
  FactKey key = FactKey::none;
  FactValue value;
  bool is_list = false;
  protozero::pbf_reader reader = message_of(message);
  while (reader.next()) {
    switch (reader.tag()) {
      case pftrace_field::kAnnotationNameId:
        key = sequence.keys.get(reader.get_uint64());
        break;
      case pftrace_field::kAnnotationName:
        key = fact_key(view_of(reader.get_view()));
        break;
      case pftrace_field::kBool:
      case pftrace_field::kUnsigned:
      case pftrace_field::kSigned:
      case pftrace_field::kPointer:
        value.is_number = true;
        value.number = reader.get_int64();
        break;
      case pftrace_field::kText:
        value.is_text = true;
        value.text = view_of(reader.get_view());
        break;
      case pftrace_field::kTextId:
        value.is_text = true;
        value.text = tables_.texts.view(sequence.texts.get(reader.get_uint64()));
        break;
      case pftrace_field::kArrayValues:
        is_list = true;
        reader.skip();
        break;
      default:
        reader.skip();
    }
  }
  if (FactGatherer::wants_list(key) && !value.is_text) {
    list_.clear();
    append_list(message, sequence, 0);
    value.is_text = true;
    value.text = is_list ? std::string_view(list_) : "[]";
  }
  gatherer_.add(key, value);
}

// As Kineto writes it: "[[8, 16], []]", "[\"float\", \"Scalar\"]". A value without content is an empty list.
void PacketWalk::append_list(std::string_view annotation, const Sequence& sequence, int depth) {
  if (depth > kDeepestList) return;
  bool value = false, list = false;
  protozero::pbf_reader reader = message_of(annotation);
  while (reader.next()) {
    switch (reader.tag()) {
      case pftrace_field::kBool:
      case pftrace_field::kUnsigned:
      case pftrace_field::kSigned:
        value = true;
        fmt::format_to(std::back_inserter(list_), "{}", reader.get_int64());
        break;
      case pftrace_field::kDouble:
        value = true;
        fmt::format_to(std::back_inserter(list_), "{}", reader.get_double());
        break;
      case pftrace_field::kText:
      case pftrace_field::kTextId: {
        value = true;
        const std::string_view text = reader.tag() == pftrace_field::kText
                                          ? view_of(reader.get_view())
                                          : tables_.texts.view(sequence.texts.get(reader.get_uint64()));
        list_ += '"';
        for (const char c : text) {
          if (c == '"' || c == '\\') list_ += '\\';
          list_ += c;
        }
        list_ += '"';
        break;
      }
      case pftrace_field::kArrayValues:
        list_ += list ? ", " : "[";
        list = true;
        append_list(view_of(reader.get_view()), sequence, depth + 1);
        break;
      default:
        reader.skip();
    }
  }
  list_ += list ? "]" : value ? "" : "[]";
}

void PacketWalk::read_stage(std::string_view message, const Sequence& sequence, const PacketParts& parts) {
  gatherer_.begin();
  EventFacts& facts = gatherer_.facts();
  uint64_t duration = 0, context = 0;
  int64_t gpu = -1;
  StringId kind, queue;
  protozero::pbf_reader reader = message_of(message);
  while (reader.next()) {
    switch (reader.tag()) {
      case pftrace_field::kDuration:
        duration = reader.get_uint64();
        break;
      case pftrace_field::kContext:
        context = reader.get_uint64();
        break;
      case pftrace_field::kExtraData:
        read_extra(view_of(reader.get_view()));
        break;
      case pftrace_field::kGpuId:
        gpu = reader.get_int32();
        break;
      case pftrace_field::kQueueId:
        queue = sequence.specifications.get(reader.get_uint64());
        break;
      case pftrace_field::kStageId:
        kind = sequence.specifications.get(reader.get_uint64());
        break;
      case pftrace_field::kStageName:
        facts.name = tables_.intern(view_of(reader.get_view()));
        break;
      case pftrace_field::kStageNameId:
        facts.name = sequence.names.get(reader.get_uint64());
        break;
      case pftrace_field::kLaunch:
        facts.grid = read_grid(view_of(reader.get_view()));
        break;
      default:
        reader.skip();
    }
  }
  const std::optional<int64_t> ns =
      clocks_.at(parts.sequence, parts.clock != 0 ? parts.clock : sequence.clock, parts.stamp);
  if (!ns || duration > static_cast<uint64_t>(kFurthestNs)) {
    defects_.add(Defect::dropped_event, offset_);
    return;
  }
  const std::string_view kind_name = tables_.texts.view(kind), queue_name = tables_.texts.view(queue);
  facts.slice_class = kind_name == "Memcpy"       ? SliceClass::copy
                      : kind_name == "Memset"     ? SliceClass::fill
                      : kind_name == "Annotation" ? SliceClass::gpu_annotation
                                                  : SliceClass::kernel;
  if (!facts.name.known()) facts.name = kind.known() ? kind : tables_.intern("unnamed kernel");
  if (facts.device < 0) facts.device = static_cast<int32_t>(std::max<int64_t>(gpu, -1));
  constexpr std::string_view kStream = "stream ";
  if (facts.stream < 0 && queue_name.starts_with(kStream)) {
    FactValue number;
    number.is_text = true;
    number.text = queue_name.substr(kStream.size());
    gatherer_.add(FactKey::stream, number);
  }
  visitor_.stage(*ns, static_cast<int64_t>(duration), sequence.processes.get(context) - 1, gatherer_.take());
}

void PacketWalk::read_extra(std::string_view message) {
  FactKey key = FactKey::none;
  FactValue value;
  protozero::pbf_reader reader = message_of(message);
  while (reader.next()) {
    if (reader.tag() == pftrace_field::kExtraName) {
      key = fact_key(view_of(reader.get_view()));
    } else if (reader.tag() == pftrace_field::kExtraValue) {
      value.is_text = true;
      value.text = view_of(reader.get_view());
    } else {
      reader.skip();
    }
  }
  gatherer_.add(key, value);
}

uint16_t PacketWalk::read_grid(std::string_view launch) {
  protozero::pbf_reader reader = message_of(launch);
  while (reader.next()) {
    if (reader.tag() != pftrace_field::kGridSize) {
      reader.skip();
      continue;
    }
    uint32_t size[] = {0, 0, 0};
    protozero::pbf_reader grid = message_of(view_of(reader.get_view()));
    while (grid.next()) {
      if (grid.tag() >= pftrace_field::kX && grid.tag() <= pftrace_field::kZ) {
        size[grid.tag() - pftrace_field::kX] = grid.get_uint32();
      } else {
        grid.skip();
      }
    }
    return grid_number(fmt::format("[{}, {}, {}]", size[0], size[1], size[2]));
  }
  return 0;
}

}  // namespace skewscope::ingest
