// An upload as it is in memory, and how long it is kept.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/gather/disk/manifest.h"
#include "src/gather/disk/part_file.h"

namespace skewscope::gather {

struct Upload {
  Upload(FileSystem& files, const std::string& path) : part(files, path) {}

  // With the lock of Memory.
  UploadRow row;
  uint64_t charged = 0;  // bytes counted against the job and the user
  std::deque<std::function<void()>> operations;
  bool busy = false;
  bool gone = false;                   // removed, refused or of a deleted job
  bool widens = false;                 // names ranks that nobody had named before, and files of the job are there
  bool stretches = false;              // was written before or after what was there of its capture
  std::atomic<bool> unsynced = false;  // a writer has written since the last flush; without the lock

  // Reached by its operations alone, of which one runs at a time.
  PartFile part;
  bool entry_durable = false;       // in/ was flushed since the part was made
  uint64_t writer = 0;              // number of the one that may write; 0: none
  Refusal refused = Refusal::none;  // its last write
  std::function<void()> evicted;
  std::optional<Digest> checksum;
  Segment synced;  // the last flushed one, on its way into the manifest
  std::chrono::steady_clock::time_point last_sync{};
};
using UploadPointer = std::shared_ptr<Upload>;

// An empty one ends with its creation: no other request comes.
inline bool is_empty(const UploadRow& row) {
  return row.stage == UploadStage::open && !row.asked.one_request && row.asked.length == uint64_t{0};
}

// When an open one expires.
Time expires(const UploadRow& row, const GatherLimits& most);
// Has it expired or, where it is not open, been remembered for long enough?
bool has_ended(const UploadRow& row, const Aging& aging, const GatherLimits& most);
UploadState state_of(const UploadRow& row, const GatherLimits& most);

}  // namespace skewscope::gather
