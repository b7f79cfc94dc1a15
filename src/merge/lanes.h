// Problem: slices of one track must nest or lie apart, but kernels of one stream may overlap in part, and so may host
// rows whose ends a tracer rounded. Idea: sibling lanes; each slice goes to the first lane where it fits. Slices come
// by start, so a lane is the ends of what is open in it, innermost last. Cost: lanes in use per slice, which is one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trace_writer.h"

namespace skewscope::merge {

class Lanes {
 public:
  // `nest`: a slice may lie within another of its lane.
  explicit Lanes(bool nest) : nest_(nest) {}

  size_t lane_of(JobNs start, JobNs end) {
    for (size_t lane = 0; lane < open_.size(); ++lane) {
      if (take(open_[lane], start, end)) return lane;
    }
    open_.push_back({end});
    return open_.size() - 1;
  }

 private:
  bool take(std::vector<JobNs>& open, JobNs start, JobNs end) const {
    while (!open.empty() && open.back() <= start) open.pop_back();
    if (!open.empty() && (!nest_ || end > open.back())) return false;
    open.push_back(end);
    return true;
  }

  bool nest_;
  std::vector<std::vector<JobNs>> open_;
};

// The tracks of the lanes, made when they are needed: "stream 7", "stream 7 (2)".
class LaneTracks {
 public:
  LaneTracks(TraceWriter& writer, std::string name, bool nest)
      : writer_(writer), name_(std::move(name)), lanes_(nest) {}

  // Writes the slice, and says where.
  TrackId put(const Slice& slice) {
    const size_t lane = lanes_.lane_of(slice.start, slice.end());
    while (tracks_.size() <= lane) {
      tracks_.push_back(
          writer_.track(tracks_.empty() ? name_ : name_ + " (" + std::to_string(tracks_.size() + 1) + ")"));
    }
    writer_.slice(tracks_[lane], slice);
    return tracks_[lane];
  }

 private:
  TraceWriter& writer_;
  std::string name_;
  Lanes lanes_;
  std::vector<TrackId> tracks_;
};

}  // namespace skewscope::merge
