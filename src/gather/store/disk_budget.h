// What each job, user and owner has of the disk, and what uploads and reports may still take of it. Part of Memory, so
// with its lock. Promise: what is charged to a user is the sum of what his jobs' parts are charged with, and no upload
// or report is let in that would go over a limit. The bytes themselves are the file system's.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "job.h"
#include "src/gather/disk/file_system.h"

namespace skewscope::gather {

class DiskBudget {
 public:
  // Brings what an open upload is charged with from `charged` to `wanted` bytes. quota: of the job or its user.
  Refusal charge(Job& job, uint32_t uid, uint64_t& charged, uint64_t wanted, const GatherLimits& most);
  void release(Job& job, uint32_t uid, uint64_t& charged) { set_charge(job, uid, charged, 0); }
  // One that was there before this process.
  void take_over(Job& job, uint32_t uid, uint64_t& charged, uint64_t bytes) { set_charge(job, uid, charged, bytes); }
  void add_file(Job& job, const FileRow& file);
  void remove_file(Job& job, const FileRow& file);
  void charge_reports(Job& job, int64_t bytes);
  void charge_aside(Job& job, int64_t bytes);  // in quarantine
  void change_owner(const Job& job, uint32_t before);
  void remove_job(const Job& job);

  // no_space: of the disk as it was last looked at, or of what one owner's open uploads may have of it.
  Refusal room_for(const UploadRow& row, bool of_new_job, uint64_t charged, const GatherLimits& most) const;
  // What a report may take of the disk, until it is given back. too_many: one of the job runs; no_space: none is left.
  Refusal take_room(Job& job, const GatherLimits& most);
  void give_room_back(Job& job);

  void look(const DiskSpace& space) { space_ = space; }
  const DiskSpace& space() const { return space_; }
  double share_in_use() const;

 private:
  void set_charge(Job& job, uint32_t uid, uint64_t& charged, uint64_t wanted);
  uint64_t reserved(const GatherLimits& most) const;
  bool has_its_share(const UploadRow& row, uint64_t charged, const GatherLimits& most) const;

  uint64_t charged_of(const Job& job, uint32_t uid) const;
  void add_to_owner(const Job& job, uint32_t uid, uint64_t change);  // modulo 2^64

  std::unordered_map<std::string, uint64_t> charged_of_owner_;  // by owner_of()
  std::unordered_map<std::string, uint64_t> open_of_owner_;     // charged for open uploads: disk that is reserved
  DiskSpace space_;
  uint64_t rooms_ = 0;  // of the reports that run, in bytes
};

}  // namespace skewscope::gather
