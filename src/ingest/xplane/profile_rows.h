// Rows of all planes of a profile, each by its collector; then a trace for each device.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device_collector.h"
#include "device_content.h"
#include "host_collector.h"
#include "row_walk.h"
#include "space.h"

namespace skewscope::ingest {

// Whether rows are kept, or only what tells which devices the profile is of.
enum class Kept : uint8_t { rows, heads };

// Of what may be read of a file that an agent passes on: half of what it may take.
constexpr int64_t kMostBytesOfHeads = 32 << 20;

class ProfileRows : public RowVisitor {
 public:
  // `read_on`: called now and then while rows come.
  ProfileRows(const Space& space, ProfileFacts facts, const ReaderSettings& settings, MemoryBudget& budget,
              std::function<void()> read_on, Kept kept = Kept::rows);
  ~ProfileRows() override { budget_.give_back(charged_); }
  ProfileRows(const ProfileRows&) = delete;
  ProfileRows& operator=(const ProfileRows&) = delete;

  bool begin_plane(size_t plane) override;
  bool begin_line(const XLine& line) override;
  bool add(const XEvent& event) override;
  void end_plane() override;

  // After the last row: one content for each device that has rows, at least one. Errors: resource_limit.
  Result<std::vector<FileContent>> take();

 private:
  int64_t bytes_held() const;
  void forget_rows();

  const Space& space_;
  ProfileFacts facts_;
  const XTime time_;
  const ReaderSettings& settings_;
  MemoryBudget& budget_;
  const std::function<void()> read_on_;
  const Kept kept_;
  std::optional<DeviceCollector> device_;
  std::optional<HostCollector> host_plane_;
  std::vector<DevicePlane> devices_;
  HostPlane host_;
  int64_t events_ = 0, charged_ = 0;
  bool over_budget_ = false;
};

}  // namespace skewscope::ingest
