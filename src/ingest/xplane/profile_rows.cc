#include "profile_rows.h"

#include <algorithm>
#include <utility>

#include "device_ids.h"

namespace skewscope::ingest {

ProfileRows::ProfileRows(const Space& space, ProfileFacts facts, const ReaderSettings& settings, MemoryBudget& budget,
                         std::function<void()> read_on, Kept kept)
    : space_(space),
      facts_(std::move(facts)),
      time_{facts_.base_time_ns},
      settings_(settings),
      budget_(budget),
      read_on_(std::move(read_on)),
      kept_(kept) {}

bool ProfileRows::begin_plane(size_t plane) {
  device_.reset();
  host_plane_.reset();
  const Plane& of = space_.planes[plane];
  if (device_of_plane(of.name)) {
    device_.emplace(of, space_, time_);
  } else if (of.name == "/host:CPU") {
    host_plane_.emplace(of, time_, settings_.details, host_);
  }
  return device_ || host_plane_;
}

bool ProfileRows::begin_line(const XLine& line) {
  return device_ ? device_->begin_line(line) : host_plane_->begin_line(line);
}

bool ProfileRows::add(const XEvent& event) {
  constexpr int64_t kBatch = 1 << 14;
  if (++events_ % kBatch == 0) {
    read_on_();
    if (kept_ == Kept::heads) forget_rows();
    const int64_t now = bytes_held();
    over_budget_ = !budget_.take(now - charged_) || over_budget_;
    charged_ = now;
  }
  if (device_) {
    device_->add(event);
  } else {
    host_plane_->add(event);
  }
  return !over_budget_;
}

void ProfileRows::forget_rows() {
  if (device_) device_->keep_one_row();
  host_.forget_rows();
}

void ProfileRows::end_plane() {
  if (kept_ == Kept::heads) forget_rows();
  if (device_) devices_.push_back(device_->take());
}

int64_t ProfileRows::bytes_held() const {
  size_t bytes = host_.launches.size() * sizeof(HostLaunch) + host_.enqueued.size() * 2 * sizeof(HostLaunch);
  bytes += (host_.rows.size() + host_.executions.size() + host_.syncs.size() + host_.steps.size()) * sizeof(HostRange);
  size_t rows = device_ ? device_->rows() : 0;
  for (const DevicePlane& device : devices_) rows += device.rows.size();
  return static_cast<int64_t>(bytes + rows * sizeof(DeviceRow));
}

Result<std::vector<FileContent>> ProfileRows::take() {
  if (over_budget_) return budget_.exceeded_by(facts_.file);
  std::stable_sort(devices_.begin(), devices_.end(),
                   [](const DevicePlane& a, const DevicePlane& b) { return a.ordinal < b.ordinal; });
  facts_.devices = std::ssize(devices_);
  facts_.world_size = devices_of_job(host_, space_);
  const std::vector<DeviceId> ids = global_ids(devices_, host_, space_);
  std::vector<FileContent> contents;
  for (size_t i = 0; i < devices_.size(); ++i) {
    Result<FileContent> content = content_of_device(devices_[i], ids[i], host_, facts_, settings_, budget_);
    if (!content.ok()) return content.error();
    contents.push_back(std::move(content).value());
  }
  const bool any = std::any_of(contents.begin(), contents.end(), [](const FileContent& c) { return !c.gpu.empty(); });
  if (any) std::erase_if(contents, [](const FileContent& content) { return content.gpu.empty(); });
  if (contents.empty()) {
    contents.emplace_back();
    contents.front().file = facts_.file;
    contents.front().format = facts_.format;
    contents.front().kind = space_.planes.empty() ? ContentKind::empty : ContentKind::front_end;
  }
  if (!any) contents.resize(1);
  return contents;
}

}  // namespace skewscope::ingest
