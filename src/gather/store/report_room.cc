// What a report may take of the disk: as much as --largest-report says, as is left to its job and the job's owner, and
// half of what is free below the hard mark, less what other reports may take that run. So no report, whatever its
// traces are, brings the disk to where uploads are refused. One that has outgrown what its job may have fails; one for
// which the disk has no room now waits.
#include <algorithm>

#include "spool_store.h"
#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather {
namespace {

// A job whose traces have used up all that it may have still gets a report of usual size, and is charged for it.
constexpr uint64_t kUsualReport = 64ull << 20;

uint64_t left_of(uint64_t most, uint64_t used) { return most - std::min(most, used); }

}  // namespace

Refusal SpoolStore::take_room_held(Job& job) {
  if (job.room > 0) return Refusal::too_many;
  const GatherLimits most = limits();
  const uint64_t below_mark = static_cast<uint64_t>(static_cast<double>(space_.total) * std::min(most.hard_disk, 1.0));
  const uint64_t used = space_.total - space_.available;
  const uint64_t free = std::min(left_of(below_mark, used), left_of(space_.available, reserved_bytes(space_)));
  const uint64_t of_disk = space_.total == 0 ? most.largest_report : left_of(free, rooms_) / 2;
  job.waits_for_disk = of_disk == 0;
  if (job.waits_for_disk) return Refusal::no_space;
  const auto user = charged_of_user_.find(job.row.owner_uid);
  const bool told = job.row.owner_uid != 0 && user != charged_of_user_.end();
  const uint64_t of_user = told ? user->second : job.charged;
  const uint64_t of_owner = std::min(left_of(most.largest_job, job.charged), left_of(most.largest_user, of_user));
  const uint64_t allowed = std::min(most.largest_report, std::max(of_owner, kUsualReport));
  job.room_is_of_disk = of_disk < allowed;
  job.room = std::min(of_disk, allowed);
  rooms_ += job.room;
  return Refusal::none;
}

void SpoolStore::give_room_back_held(Job& job) {
  rooms_ -= job.room;
  job.room = 0;
}

void SpoolStore::charge_reports_held(Job& job, int64_t bytes) {
  const auto change = static_cast<uint64_t>(bytes);  // modulo 2^64
  job.report_bytes += change;
  job.charged += change;
  charged_of_user_[job.row.owner_uid] += change;
}

// What a report that failed, or was ended, has left behind, under its name or the one it has while it is written.
Refusal SpoolStore::discard_unfinished(const std::string& job, int generation, FoldersToFlush& folders) {
  std::vector<FolderEntry> entries;
  files_.list(reports_folder(job), entries);
  const std::string name = report_name(generation);
  for (const FolderEntry& entry : entries) {
    if (entry.name != name && !entry.name.starts_with(name + ".partial")) continue;
    const Refusal refusal = to_trash(reports_folder(job) + "/" + entry.name, folders);
    if (refusal != Refusal::none) return refusal;
  }
  return Refusal::none;
}

}  // namespace skewscope::gather
