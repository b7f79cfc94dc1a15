#include "space.h"

#include <charconv>
#include <optional>
#include <utility>

#include "protobuf.h"
#include "wire_stream.h"

namespace skewscope::ingest {
namespace {

namespace stat_field {
constexpr uint32_t kId = 1, kDouble = 2, kUnsigned = 3, kSigned = 4, kText = 5, kBytes = 6, kReference = 7;
}
namespace metadata_field {
constexpr uint32_t kKey = 1, kValue = 2;  // of the map
constexpr uint32_t kName = 2, kEventDisplayName = 4, kEventStats = 5;
}  // namespace metadata_field

constexpr std::string_view kProgramPlane = "/host:metadata";

// Entry of a map from number to message; the message is left in `value`.
int64_t read_entry(std::string_view bytes, std::string_view& value) {
  int64_t key = 0;
  protozero::pbf_reader entry = message_of(bytes);
  while (entry.next()) {
    if (entry.tag() == metadata_field::kKey) {
      key = entry.get_int64();
    } else if (entry.tag() == metadata_field::kValue) {
      value = view_of(entry.get_view());
    } else {
      entry.skip();
    }
  }
  return key;
}

// "jit_step(3980)" -> 3980
int64_t program_id(std::string_view name, int64_t otherwise) {
  const size_t open = name.rfind('(');
  if (open == std::string_view::npos || !name.ends_with(')')) return otherwise;
  uint64_t id = 0;
  const auto [end, error] = std::from_chars(name.data() + open + 1, name.data() + name.size(), id);
  return error == std::errc() && *end == ')' ? static_cast<int64_t>(id) : otherwise;
}

class SpaceReader {
 public:
  SpaceReader(const std::string& file, ByteSource& source, MemoryBudget& budget)
      : file_(file), source_(source), stream_(source), budget_(budget) {}

  Result<Space> read() {
    while (!over_budget_ && !stream_.at_end()) {
      const std::optional<WireField> field = stream_.next();
      cut_ = !field;
      if (cut_) break;
      if (!field->has_length) continue;
      const bool whole = field->number == xplane_field::kPlanes      ? read_plane(field->value)
                         : field->number == xplane_field::kHostnames ? read_host(field->value)
                                                                     : stream_.skip(field->value);
      cut_ = !whole;
      if (cut_) break;
    }
    if (over_budget_) {
      budget_.give_back(space_.charged);
      return budget_.exceeded_by(file_);
    }
    space_.cut = cut_;
    space_.bytes = stream_.offset();
    space_.end = source_.end();
    return std::move(space_);
  }

 private:
  void charge(int64_t bytes) {
    space_.charged += bytes;
    if (!budget_.take(bytes)) over_budget_ = true;
  }
  void damaged() {
    if (space_.damaged++ == 0) space_.first_damaged = static_cast<int64_t>(stream_.offset());
  }

  bool read_host(uint64_t size) {
    const std::optional<std::string_view> name = stream_.bytes(size);
    if (name) space_.hosts.emplace_back(*name);
    return name.has_value();
  }

  // False: the file ends in it.
  bool read_plane(uint64_t size) {
    Plane plane;
    const uint64_t end = stream_.offset() + size;
    while (stream_.offset() < end && !over_budget_) {
      const std::optional<WireField> field = stream_.next();
      if (!field) {
        if (stream_.broken()) damaged();
        cut_ = true;
        return false;
      }
      if (!field->has_length) continue;
      if (field->value > end - stream_.offset()) {
        damaged();
        if (!stream_.skip(end - stream_.offset())) return false;
        break;
      }
      if (!read_field(*field, plane)) {
        cut_ = true;
        return false;
      }
    }
    space_.planes.push_back(std::move(plane));
    return true;
  }

  bool read_field(const WireField& field, Plane& plane) {
    namespace f = xplane_field;
    const bool wanted = field.number == f::kPlaneName || field.number == f::kEventMetadata ||
                        field.number == f::kStatMetadata || field.number == f::kPlaneStats;
    const bool too_large = field.value > WireStream::kLargestPiece;
    if (!wanted || too_large) {
      space_.large_programs += wanted && too_large && plane.name == kProgramPlane ? 1 : 0;
      return stream_.skip(field.value);
    }
    const std::optional<std::string_view> bytes = stream_.bytes(field.value);
    if (!bytes) return false;
    if (stream_.largest_piece() > static_cast<uint64_t>(buffer_charged_)) {
      charge(static_cast<int64_t>(stream_.largest_piece()) - buffer_charged_);
      buffer_charged_ = static_cast<int64_t>(stream_.largest_piece());
    }
    try {
      keep(field.number, *bytes, plane);
    } catch (const protozero::exception&) {
      damaged();
    }
    return true;
  }

  void keep(uint32_t number, std::string_view bytes, Plane& plane) {
    constexpr int64_t kEntry = 128;
    std::string_view value;
    switch (number) {
      case xplane_field::kPlaneName:
        plane.name = bytes;
        return;
      case xplane_field::kPlaneStats:
        charge(kEntry + std::ssize(bytes));
        plane.stats.emplace_back(bytes);
        return;
      case xplane_field::kStatMetadata: {
        const int64_t id = read_entry(bytes, value);
        protozero::pbf_reader metadata = message_of(value);
        charge(kEntry + std::ssize(bytes));
        if (metadata.next(metadata_field::kName)) plane.stat_names[id] = metadata.get_string();
        return;
      }
      default: {
        const int64_t id = read_entry(bytes, value);
        if (plane.name == kProgramPlane) return keep_program(id, value);
        charge(kEntry + std::ssize(bytes));
        plane.events[id] = event_kind(value);
      }
    }
  }

  static Plane::EventKind event_kind(std::string_view bytes) {
    Plane::EventKind kind;
    protozero::pbf_reader metadata = message_of(bytes);
    while (metadata.next()) {
      if (metadata.tag() == metadata_field::kName) {
        kind.name = metadata.get_string();
      } else if (metadata.tag() == metadata_field::kEventDisplayName) {
        kind.display_name = metadata.get_string();
      } else if (metadata.tag() == metadata_field::kEventStats) {
        const std::string_view stat = view_of(metadata.get_view());
        const auto size = static_cast<uint32_t>(stat.size());
        kind.stats.append(reinterpret_cast<const char*>(&size), 4).append(stat);
      } else {
        metadata.skip();
      }
    }
    return kind;
  }

  // The only bytes that are kept with a program are its HloProto.
  void keep_program(int64_t id, std::string_view bytes) {
    protozero::pbf_reader metadata = message_of(bytes);
    while (metadata.next()) {
      if (metadata.tag() == metadata_field::kName) {
        id = program_id(view_of(metadata.get_view()), id);
      } else if (metadata.tag() == metadata_field::kEventStats) {
        read_program(id, metadata.get_message());
      } else {
        metadata.skip();
      }
    }
  }

  void read_program(int64_t id, protozero::pbf_reader stat) {
    while (stat.next()) {
      if (stat.tag() != stat_field::kBytes) {
        stat.skip();
        continue;
      }
      HloModule module;
      if (!read_hlo_module(view_of(stat.get_view()), module)) damaged();
      if (module.name.empty()) continue;
      charge(module.bytes());
      space_.programs[id] = std::move(module);
    }
  }

  const std::string& file_;
  ByteSource& source_;
  WireStream stream_;
  MemoryBudget& budget_;
  Space space_;
  bool cut_ = false, over_budget_ = false;
  int64_t buffer_charged_ = 1 << 20;
};

}  // namespace

XStat Plane::stat(std::string_view message) const {
  XStat value;
  protozero::pbf_reader stat = message_of(message);
  while (stat.next()) {
    switch (stat.tag()) {
      case stat_field::kId:
        value.id = stat.get_int64();
        break;
      case stat_field::kDouble:
        value.kind = XStat::Kind::real;
        value.real = stat.get_double();
        break;
      case stat_field::kUnsigned:
        value.kind = XStat::Kind::integer;
        value.integer = static_cast<int64_t>(stat.get_uint64());
        break;
      case stat_field::kSigned:
        value.kind = XStat::Kind::integer;
        value.integer = stat.get_int64();
        break;
      case stat_field::kText:
        value.kind = XStat::Kind::text;
        value.text = view_of(stat.get_view());
        break;
      case stat_field::kBytes:
        value.kind = XStat::Kind::bytes;
        value.text = view_of(stat.get_view());
        break;
      case stat_field::kReference:
        value.kind = XStat::Kind::text;
        value.integer = static_cast<int64_t>(stat.get_uint64());
        value.text = stat_name(value.integer);
        break;
      default:
        stat.skip();
    }
  }
  return value;
}

std::string_view Plane::stat_name(int64_t id) const {
  const auto found = stat_names.find(id);
  return found == stat_names.end() ? std::string_view() : std::string_view(found->second);
}

Result<Space> read_space(const std::string& file, ByteSource& source, MemoryBudget& budget) {
  return SpaceReader(file, source, budget).read();
}

}  // namespace skewscope::ingest
