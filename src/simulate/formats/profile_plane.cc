#include "profile_plane.h"

#include <protozero/pbf_writer.hpp>

namespace skewscope::simulate {
namespace {

using protozero::pbf_writer;

constexpr uint32_t kPlaneName = 2, kLines = 3, kEventKinds = 4, kStatNames = 5, kPlaneStats = 6;
constexpr uint32_t kLineId = 1, kLineName = 2, kEvents = 4;
constexpr uint32_t kKind = 1, kOffsetPs = 2, kDurationPs = 3, kEventStats = 4;
constexpr uint32_t kStatId = 1, kSigned = 4, kBytes = 6, kReference = 7;
constexpr uint32_t kMapKey = 1, kMapValue = 2, kId = 1, kName = 2, kKindStats = 5;
constexpr int64_t kPsPerNs = 1000;

}  // namespace

int64_t ProfilePlane::stat_id(std::string_view name) {
  const auto known = stats_.find(name);
  if (known != stats_.end()) return known->second;
  return stats_.emplace(std::string(name), static_cast<int64_t>(stats_.size()) + 1).first->second;
}

int64_t ProfilePlane::kind_id(const std::string& name) {
  return kinds_.try_emplace(name, static_cast<int64_t>(kinds_.size()) + 1).first->second;
}

std::string ProfilePlane::number_stat(std::string_view stat, int64_t value) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_int64(kStatId, stat_id(stat));
  writer.add_int64(kSigned, value);
  return bytes;
}

std::string ProfilePlane::text_stat(std::string_view stat, std::string_view value) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_int64(kStatId, stat_id(stat));
  writer.add_uint64(kReference, static_cast<uint64_t>(stat_id(value)));
  return bytes;
}

void ProfilePlane::number(std::string_view stat, int64_t value) { pending_.push_back(number_stat(stat, value)); }

void ProfilePlane::text(std::string_view stat, std::string_view value) { pending_.push_back(text_stat(stat, value)); }

void ProfilePlane::plane_number(std::string_view stat, int64_t value) {
  pbf_writer(plane_stats_).add_message(kPlaneStats, number_stat(stat, value));
}

void ProfilePlane::plane_text(std::string_view stat, std::string_view value) {
  pbf_writer(plane_stats_).add_message(kPlaneStats, text_stat(stat, value));
}

void ProfilePlane::event(int64_t line, const std::string& name, int64_t start_ns, int64_t duration_ns) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_int64(kKind, kind_id(name));
  writer.add_int64(kOffsetPs, start_ns * kPsPerNs);
  writer.add_int64(kDurationPs, duration_ns * kPsPerNs);
  for (const std::string& stat : pending_) writer.add_message(kEventStats, stat);
  pending_.clear();
  pbf_writer(lines_[line].events).add_message(kEvents, bytes);
}

void ProfilePlane::program(int64_t id, const std::string& name, const std::string& hlo_proto) {
  const int64_t kind = kind_id(name + "(" + std::to_string(id) + ")");
  std::string stat;
  pbf_writer writer(stat);
  writer.add_int64(kStatId, stat_id("Hlo Proto"));
  writer.add_bytes(kBytes, hlo_proto);
  programs_[kind] = stat;
}

std::string ProfilePlane::bytes() const {
  std::string plane;
  pbf_writer writer(plane);
  writer.add_string(kPlaneName, name_);
  for (const auto& [id, line] : lines_) {
    std::string head;
    pbf_writer of(head);
    of.add_int64(kLineId, id);
    of.add_string(kLineName, line.name);
    writer.add_message(kLines, head + line.events);
  }
  for (const auto& [name, id] : kinds_) {
    pbf_writer entry(writer, kEventKinds);
    entry.add_int64(kMapKey, id);
    pbf_writer kind(entry, kMapValue);
    kind.add_int64(kId, id);
    kind.add_string(kName, name);
    if (const auto program = programs_.find(id); program != programs_.end()) {
      kind.add_message(kKindStats, program->second);
    }
  }
  for (const auto& [name, id] : stats_) {
    pbf_writer entry(writer, kStatNames);
    entry.add_int64(kMapKey, id);
    pbf_writer stat(entry, kMapValue);
    stat.add_int64(kId, id);
    stat.add_string(kName, name);
  }
  return plane + plane_stats_;
}

}  // namespace skewscope::simulate
