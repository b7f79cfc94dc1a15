#include "row_walk.h"

#include <algorithm>
#include <optional>

#include "protobuf.h"
#include "wire_stream.h"

namespace skewscope::ingest {
namespace {

// 46 days: more is damage, and the sum of two such times does not overflow.
constexpr int64_t kFurthestPs = 4'000'000'000'000'000'000;

int64_t within_months(int64_t time_ps) { return std::clamp(time_ps, -kFurthestPs, kFurthestPs); }

struct NamedRole {
  std::string_view name;
  StatRole role;
};

constexpr std::array kRoles = {
    NamedRole{"correlation_id", StatRole::correlation_id},
    NamedRole{"hlo_op", StatRole::hlo_op},
    NamedRole{"hlo_module", StatRole::hlo_module},
    NamedRole{"program_id", StatRole::program_id},
    NamedRole{"run_id", StatRole::run_id},
    NamedRole{"kernel_details", StatRole::kernel_details},
    NamedRole{"memcpy_details", StatRole::memcpy_details},
    NamedRole{"memset_details", StatRole::memset_details},
    NamedRole{"_p", StatRole::producer},
    NamedRole{"_pt", StatRole::producer_type},
    NamedRole{"_c", StatRole::consumer},
    NamedRole{"_ct", StatRole::consumer_type},
    NamedRole{"device_id", StatRole::device_id},
    NamedRole{"device", StatRole::device},
    NamedRole{"rank", StatRole::rank},
    NamedRole{"clique_key", StatRole::clique_key},
    NamedRole{"step_num", StatRole::step_num},
    NamedRole{"flops", StatRole::flops},
    NamedRole{"bytes_accessed", StatRole::bytes_accessed},
    NamedRole{"hlo_category", StatRole::hlo_category},
};

class RowWalk {
 public:
  RowWalk(ByteSource& source, RowVisitor& visitor, Space& space) : stream_(source), visitor_(visitor), space_(space) {}

  void walk() {
    for (size_t plane = 0; plane < space_.planes.size() && !stopped_;) {
      const std::optional<WireField> field = stream_.next();
      if (!field) return;
      if (!field->has_length) continue;
      if (field->number != xplane_field::kPlanes) {
        if (!stream_.skip(field->value)) return;
        continue;
      }
      if (!walk_plane(plane++, field->value)) return;
    }
  }

 private:
  // False: the file ends in it, which the first walk has seen.
  bool walk_plane(size_t plane, uint64_t size) {
    if (!visitor_.begin_plane(plane)) return stream_.skip(size);
    const uint64_t end = stream_.offset() + size;
    while (stream_.offset() < end && !stopped_) {
      const std::optional<WireField> field = stream_.next();
      if (!field) return false;
      if (!field->has_length) continue;
      if (field->value > end - stream_.offset()) {
        if (!stream_.skip(end - stream_.offset())) return false;
        break;
      }
      const bool whole = field->number == xplane_field::kLines ? walk_line(field->value) : stream_.skip(field->value);
      if (!whole) return false;
    }
    visitor_.end_plane();
    return true;
  }

  bool walk_line(uint64_t size) {
    const uint64_t end = stream_.offset() + size;
    XLine line;
    bool begun = false, wanted = true;
    while (stream_.offset() < end && wanted && !stopped_) {
      const std::optional<WireField> field = stream_.next();
      if (!field) return false;
      if (!field->has_length) {
        if (field->number == xplane_field::kLineId) line.id = static_cast<int64_t>(field->value);
        if (field->number == xplane_field::kTimestampNs) line.timestamp_ns = static_cast<int64_t>(field->value);
        continue;
      }
      if (field->value > end - stream_.offset()) {
        damaged();
        break;
      }
      if (field->number != xplane_field::kLineName && field->number != xplane_field::kEvents) {
        if (!stream_.skip(field->value)) return false;
        continue;
      }
      const std::optional<std::string_view> bytes = stream_.bytes(field->value);
      if (!bytes) return false;
      if (field->number == xplane_field::kLineName) {
        line.name = *bytes;
        continue;
      }
      if (!begun) wanted = visitor_.begin_line(line);
      begun = true;
      if (wanted) read_event(*bytes);
    }
    return stopped_ || stream_.skip(end - stream_.offset());
  }

  void read_event(std::string_view bytes) try {
    event_.kind = event_.offset_ps = event_.duration_ps = 0;
    event_.stats.clear();
    protozero::pbf_reader message(protozero::data_view(bytes.data(), bytes.size()));
    while (message.next()) {
      switch (message.tag()) {
        case xplane_field::kMetadataId:
          event_.kind = message.get_int64();
          break;
        case xplane_field::kOffsetPs:
          event_.offset_ps = within_months(message.get_int64());
          break;
        case xplane_field::kDurationPs:
          event_.duration_ps = within_months(message.get_int64());
          break;
        case xplane_field::kEventStats: {
          const protozero::data_view stat = message.get_view();
          event_.stats.emplace_back(stat.data(), stat.size());
          break;
        }
        default:
          message.skip();
      }
    }
    stopped_ = !visitor_.add(event_);
  } catch (const protozero::exception&) {
    damaged();
  }

  void damaged() {
    if (space_.damaged++ == 0) space_.first_damaged = static_cast<int64_t>(stream_.offset());
  }

  WireStream stream_;
  RowVisitor& visitor_;
  Space& space_;
  XEvent event_;
  bool stopped_ = false;
};

}  // namespace

StatRole StatRoles::of_name(std::string_view name) {
  const auto* const found =
      std::find_if(kRoles.begin(), kRoles.end(), [&](const NamedRole& role) { return role.name == name; });
  return found == kRoles.end() ? StatRole::none : found->role;
}

StatRoles::StatRoles(const Plane& plane) {
  constexpr int64_t kMostNames = 1 << 16;  // numbers count up
  for (const auto& [id, name] : plane.stat_names) {
    const StatRole role = of_name(name);
    if (role == StatRole::none || id < 0 || id >= kMostNames) continue;
    if (static_cast<size_t>(id) >= roles_.size()) roles_.resize(static_cast<size_t>(id) + 1, StatRole::none);
    roles_[static_cast<size_t>(id)] = role;
  }
}

void walk_rows(ByteSource& source, RowVisitor& visitor, Space& space) { RowWalk(source, visitor, space).walk(); }

}  // namespace skewscope::ingest
