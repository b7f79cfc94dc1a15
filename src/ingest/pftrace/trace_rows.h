// What the slices of a trace are: rows of GPUs, calls of the host, collectives, steps; and the contents made of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "packet_walk.h"
#include "src/ingest/content/row_collector.h"
#include "track_slices.h"

namespace skewscope::ingest {

class TraceRows : public PacketVisitor {
 public:
  TraceRows(FactTables& tables, DefectCounts& defects) : tables_(tables), defects_(defects) {}

  void describe(const TrackDescription& track) override;
  void begin(uint64_t track, int64_t ns, const EventFacts& facts) override;
  void end(uint64_t track, int64_t ns) override;
  void stage(int64_t ns, int64_t duration_ns, int64_t process, const EventFacts& facts) override;

  // After the last packet.
  void finish();
  int64_t bytes() const;
  // One content for each GPU where rocprofv3 wrote it, one otherwise; at least one.
  Result<std::vector<FileContent>> contents(const std::string& file, const ReaderSettings& settings,
                                            MemoryBudget& budget, bool wall_time);

 private:
  struct Track {
    uint64_t parent = 0;
    bool is_process = false, known = false, resolved = false;
    int64_t process = -1, thread = -1;
    std::string name;
    int32_t device = -1, stream = -1;  // of a stream that PyTorch gave a track
    bool is_nothing = false;           // the profiler's own work
    TrackSlices<EventFacts> slices;
  };
  struct Slice {
    LocalNs start;
    int64_t duration_ns = 0;
    const Track* track = nullptr;  // null: a stage
    EventFacts facts;
  };
  // What a name means, looked up once.
  struct NameFacts {
    bool known = false, synchronizes = false, waits_for_device = false, launches = false, backward = false,
         optimizer = false, is_call_of_runtime = false, of_collective = false, is_operator = false;
    LaunchRole role = LaunchRole::other;
    int64_t step = -1;
    std::string_view module;
  };
  class Part;

  Track& track_of(uint64_t uuid);
  void resolve(Track& track) const;
  void keep(Track& track, int64_t start_ns, int64_t end_ns, const EventFacts& facts);
  SliceClass class_of(const Track& track, const EventFacts& facts);
  const NameFacts& name_facts(StringId name);
  void add_host_rows(Part& part);
  void add_call(const Slice& slice, Part& part);
  void add_threads(Part& part) const;

  FactTables& tables_;
  DefectCounts& defects_;
  std::unordered_map<uint64_t, std::unique_ptr<Track>> tracks_;
  Track* last_ = nullptr;
  uint64_t last_uuid_ = 0;
  std::vector<Slice> gpu_, host_;
  std::vector<NameFacts> names_;  // by id
  bool rocm_ = false;             // categories of rocprofv3
  int64_t process_ = -1;          // that launches
  int64_t open_ = 0;
};

}  // namespace skewscope::ingest
