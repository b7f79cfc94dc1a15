// The packets of a trace, one after the other: what sequences of packets keep in common (names by number, defaults,
// clocks) is resolved, and events are handed on with their time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "event_facts.h"
#include "packet_clocks.h"
#include "packet_parts.h"
#include "src/ingest/content/defects.h"
#include "src/ingest/xplane/protobuf.h"

namespace skewscope::ingest {

struct TrackDescription {
  uint64_t uuid = 0, parent = 0;
  bool is_process = false, is_thread = false;
  int64_t process = -1, thread = -1;
  std::string_view name;
};

class PacketVisitor {
 public:
  virtual ~PacketVisitor() = default;
  virtual void describe(const TrackDescription& track) = 0;
  virtual void begin(uint64_t track, int64_t ns, const EventFacts& facts) = 0;
  virtual void end(uint64_t track, int64_t ns) = 0;
  // A piece of work of a GPU that is no slice (GpuRenderStageEvent); `process`: of its context, -1: not told.
  virtual void stage(int64_t ns, int64_t duration_ns, int64_t process, const EventFacts& facts) = 0;
};

// Values by numbers that mostly count up from 1; those of a damaged file take no more room than the file.
template <class Value>
class ByNumber {
 public:
  void set(uint64_t number, Value value) {
    if (number > 2 * dense_.size() + kFirst) {
      sparse_[number] = value;
      return;
    }
    if (number >= dense_.size()) dense_.resize(number + 1);
    dense_[number] = value;
    if (!sparse_.empty()) sparse_.erase(number);
  }
  Value get(uint64_t number) const {
    if (!sparse_.empty()) {
      const auto known = sparse_.find(number);
      if (known != sparse_.end()) return known->second;
    }
    return number < dense_.size() ? dense_[number] : Value();
  }
  int64_t bytes() const { return static_cast<int64_t>(dense_.capacity() * sizeof(Value) + sparse_.size() * 64); }

 private:
  static constexpr uint64_t kFirst = 64;
  std::vector<Value> dense_;
  std::unordered_map<uint64_t, Value> sparse_;
};

class PacketWalk {
 public:
  PacketWalk(FactTables& tables, PacketVisitor& visitor, DefectCounts& defects)
      : tables_(tables), gatherer_(tables), visitor_(visitor), defects_(defects) {}

  // `offset`: of the packet in the file.
  void read(std::string_view packet, int64_t offset);
  bool is_wall_time() const { return clocks_.is_wall_time(); }
  int64_t packets() const { return packets_; }
  int64_t compressed() const { return compressed_; }  // packets of packets, which are not read
  int64_t bytes() const;

 private:
  // What packets of one writer have in common.
  struct Sequence {
    bool lost = false;  // packets are missing, and with them names
    uint32_t clock = PacketClocks::kBoottime;
    uint64_t track = 0;
    ByNumber<StringId> names, texts, specifications;
    ByNumber<SliceClass> categories;
    ByNumber<FactKey> keys;
    ByNumber<int64_t> processes;  // of contexts, + 1
  };

  void read_parts(std::string_view packet);
  Sequence& sequence_of(uint32_t number);
  void read_interned(std::string_view message, Sequence& sequence);
  void read_defaults(std::string_view message, Sequence& sequence);
  void read_track(std::string_view message);
  void read_event(std::string_view message, const Sequence& sequence, const PacketParts& parts);
  void read_annotation(std::string_view message, const Sequence& sequence);
  void read_stage(std::string_view message, const Sequence& sequence, const PacketParts& parts);
  void read_extra(std::string_view message);
  uint16_t read_grid(std::string_view launch);
  void append_list(std::string_view annotation, const Sequence& sequence, int depth);

  FactTables& tables_;
  FactGatherer gatherer_;
  PacketVisitor& visitor_;
  DefectCounts& defects_;
  PacketClocks clocks_;
  std::map<uint32_t, Sequence> sequences_;
  Sequence* last_ = nullptr;
  uint32_t last_number_ = 0;
  int64_t offset_ = 0, packets_ = 0, compressed_ = 0;
  std::vector<std::string_view> annotations_;  // of the event at hand
  std::string list_;
};

}  // namespace skewscope::ingest
