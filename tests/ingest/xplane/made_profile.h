// Profiles written field by field, as XLA's profiler lays them out: names behind the rows that use them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../reader_support.h"

namespace skewscope::test {

struct Ref {
  std::string text;  // kept as the name of a stat
};
struct Bytes {
  std::string bytes;
};
using StatValue = std::variant<int64_t, double, std::string, Ref, Bytes>;
using Stats = std::vector<std::pair<std::string, StatValue>>;

struct MadeEvent {
  std::string name;
  int64_t offset_ps = 0, duration_ps = 0;
  Stats stats;
  Stats of_kind;  // with the name, not with the event
};

class MadePlane {
 public:
  explicit MadePlane(std::string name) : name_(std::move(name)) {}

  MadePlane& stat(const std::string& name, const StatValue& value) {
    protozero::pbf_writer writer(stats_);
    writer.add_message(6, message_of(name, value));
    return *this;
  }
  MadePlane& line(int64_t id, const std::string& name, int64_t timestamp_ns, const std::vector<MadeEvent>& events) {
    std::string bytes;
    protozero::pbf_writer line(bytes);
    line.add_int64(1, id);
    line.add_string(2, name);
    line.add_int64(3, timestamp_ns);
    for (const MadeEvent& event : events) {
      protozero::pbf_writer writer(line, 4);
      writer.add_int64(1, kind(event.name, event.of_kind));
      writer.add_int64(2, event.offset_ps);
      writer.add_int64(3, event.duration_ps);
      for (const auto& [stat, value] : event.stats) writer.add_message(4, message_of(stat, value));
    }
    protozero::pbf_writer(lines_).add_message(3, bytes);
    return *this;
  }
  // A line of the same event many times.
  MadePlane& line_of_many(int64_t id, const std::string& name, const MadeEvent& event, int64_t count) {
    std::string bytes, one;
    protozero::pbf_writer line(bytes);
    line.add_int64(1, id);
    line.add_string(2, name);
    {
      protozero::pbf_writer row(one);
      protozero::pbf_writer writer(row, 4);
      writer.add_int64(1, kind(event.name, event.of_kind));
      writer.add_int64(2, event.offset_ps);
      writer.add_int64(3, event.duration_ps);
      for (const auto& [stat, value] : event.stats) writer.add_message(4, message_of(stat, value));
    }
    bytes.reserve(bytes.size() + static_cast<size_t>(count) * one.size());
    for (int64_t i = 0; i < count; ++i) bytes += one;
    protozero::pbf_writer(lines_).add_message(3, bytes);
    return *this;
  }
  // A program in the plane "/host:metadata".
  MadePlane& program(int64_t id, const std::string& name, const std::string& hlo_proto) {
    kind(name + "(" + std::to_string(id) + ")", {{"Hlo Proto", Bytes{hlo_proto}}});
    return *this;
  }
  std::string bytes() const {
    std::string plane;
    protozero::pbf_writer(plane).add_string(2, name_);
    plane += lines_;
    for (const auto& [name, own] : kinds_) {
      protozero::pbf_writer entry(plane);
      protozero::pbf_writer of(entry, 4);
      of.add_int64(1, own.first);
      of.add_message(2, own.second);
    }
    for (const auto& [name, id] : stat_ids_) {
      protozero::pbf_writer entry(plane);
      protozero::pbf_writer of(entry, 5);
      of.add_int64(1, id);
      protozero::pbf_writer value(of, 2);
      value.add_int64(1, id);
      value.add_string(2, name);
    }
    return plane + stats_;
  }

 private:
  int64_t stat_id(const std::string& name) {
    return stat_ids_.try_emplace(name, std::ssize(stat_ids_) + 1).first->second;
  }
  std::string message_of(const std::string& name, const StatValue& value) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    writer.add_int64(1, stat_id(name));
    if (const auto* number = std::get_if<int64_t>(&value)) writer.add_int64(4, *number);
    if (const auto* real = std::get_if<double>(&value)) writer.add_double(2, *real);
    if (const auto* text = std::get_if<std::string>(&value)) writer.add_string(5, *text);
    if (const auto* ref = std::get_if<Ref>(&value)) writer.add_uint64(7, static_cast<uint64_t>(stat_id(ref->text)));
    if (const auto* raw = std::get_if<Bytes>(&value)) writer.add_bytes(6, raw->bytes);
    return bytes;
  }
  int64_t kind(const std::string& name, const Stats& stats) {
    const auto [known, added] = kinds_.try_emplace(name, std::ssize(kinds_) + 1, "");
    if (!added) return known->second.first;
    protozero::pbf_writer metadata(known->second.second);
    metadata.add_int64(1, known->second.first);
    metadata.add_string(2, name);
    for (const auto& [stat, value] : stats) metadata.add_message(5, message_of(stat, value));
    return known->second.first;
  }

  std::string name_, lines_, stats_;
  std::map<std::string, std::pair<int64_t, std::string>> kinds_;
  std::map<std::string, int64_t> stat_ids_;
};

inline std::string profile_of(const std::vector<MadePlane>& planes, const std::string& host = "") {
  std::string space;
  protozero::pbf_writer writer(space);
  for (const MadePlane& plane : planes) writer.add_message(1, plane.bytes());
  if (!host.empty()) writer.add_string(4, host);
  return space;
}

// An instruction with what the caller adds.
struct MadeInstruction {
  std::string name, opcode;
  std::vector<int64_t> dimensions;  // of f32
  int64_t channel = 0;
  bool global_ids = false;
  std::vector<std::vector<int64_t>> groups;
  std::vector<std::pair<int64_t, int64_t>> pairs;
  int64_t calls = 0;  // computation
  int64_t id = 0;
  std::vector<int64_t> operands = {};  // their ids
  std::string fusion_kind = {};        // "kLoop"
};

inline std::string instruction_message(const MadeInstruction& made) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_string(1, made.name);
  writer.add_string(2, made.opcode);
  {
    protozero::pbf_writer shape(writer, 3);
    shape.add_int64(2, 11);
    shape.add_packed_int64(3, made.dimensions.begin(), made.dimensions.end());
  }
  if (made.channel > 0) writer.add_int64(26, made.channel);
  if (made.global_ids) writer.add_bool(71, true);
  for (const auto& group : made.groups) {
    protozero::pbf_writer of(writer, 49);
    of.add_packed_int64(1, group.begin(), group.end());
  }
  for (const auto& [source, target] : made.pairs) {
    protozero::pbf_writer pair(writer, 52);
    pair.add_int64(1, source);
    pair.add_int64(2, target);
  }
  if (!made.fusion_kind.empty()) writer.add_string(11, made.fusion_kind);
  if (made.id > 0) writer.add_int64(35, made.id);
  if (!made.operands.empty()) writer.add_packed_int64(36, made.operands.begin(), made.operands.end());
  if (made.calls > 0) writer.add_packed_int64(38, &made.calls, &made.calls + 1);
  return bytes;
}

// A HloProto; computations are numbered from 1. `devices`: of its partitions.
inline std::string hlo_of(const std::string& name, const std::vector<std::vector<MadeInstruction>>& computations,
                          const std::vector<int64_t>& devices) {
  std::string proto;
  protozero::pbf_writer writer(proto);
  protozero::pbf_writer module(writer, 1);
  module.add_string(1, name);
  for (size_t i = 0; i < computations.size(); ++i) {
    protozero::pbf_writer computation(module, 3);
    for (const MadeInstruction& made : computations[i]) computation.add_message(2, instruction_message(made));
    computation.add_int64(5, static_cast<int64_t>(i) + 1);
  }
  protozero::pbf_writer assignment(module, 15);
  assignment.add_int64(1, 1);
  assignment.add_int64(2, std::ssize(devices));
  for (const int64_t device : devices) {
    protozero::pbf_writer of_partition(assignment, 3);
    of_partition.add_packed_int64(1, &device, &device + 1);
  }
  assignment.commit();
  module.commit();
  return proto;
}

inline std::vector<ingest::FileContent> read_profile(const std::string& bytes, bool details = false) {
  const ingest::TempFile file(bytes);
  ingest::MemoryBudget budget(0);
  ingest::ReaderSettings settings;
  settings.details = details;
  return ingest::TraceReaders(settings).read(file.path(), budget).value();
}

}  // namespace skewscope::test
