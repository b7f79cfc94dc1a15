// An upload is charged with the length that it announces, else as it grows. A report gets a room: as much as
// --largest-report says, as is left to its job and the job's owner, and half of what is free below the hard mark, less
// the rooms of other reports that run. So no report, whatever its traces are, brings the disk to where uploads are
// refused. One that has outgrown what its job may have fails; one for which the disk has no room now waits.
#include "disk_budget.h"

#include <algorithm>

namespace skewscope::gather {
namespace {

// A job whose traces have used up all that it may have still gets a report of usual size, and is charged for it.
constexpr uint64_t kUsualReport = 64ull << 20;

uint64_t left_of(uint64_t most, uint64_t used) { return most - std::min(most, used); }

}  // namespace

Refusal DiskBudget::charge(Job& job, uint32_t uid, uint64_t& charged, uint64_t wanted, const GatherLimits& most) {
  const bool over =
      job.charged - charged + wanted > most.largest_job || charged_of(job, uid) - charged + wanted > most.largest_user;
  if (wanted > charged && over) return Refusal::quota;
  set_charge(job, uid, charged, wanted);
  return Refusal::none;
}

void DiskBudget::set_charge(Job& job, uint32_t uid, uint64_t& charged, uint64_t wanted) {
  const std::string owner = owner_of(job.row.name, uid);
  uint64_t& open = open_of_owner_[owner];
  open = open - charged + wanted;
  if (open == 0) open_of_owner_.erase(owner);
  job.charged = job.charged - charged + wanted;
  add_to_owner(job, uid, wanted - charged);
  charged = wanted;
}

uint64_t DiskBudget::charged_of(const Job& job, uint32_t uid) const {
  const auto found = charged_of_owner_.find(owner_of(job.row.name, uid));
  return found == charged_of_owner_.end() ? 0 : found->second;
}

void DiskBudget::add_to_owner(const Job& job, uint32_t uid, uint64_t change) {
  const auto found = charged_of_owner_.try_emplace(owner_of(job.row.name, uid)).first;
  found->second += change;
  if (found->second == 0) charged_of_owner_.erase(found);
}

void DiskBudget::add_file(Job& job, const FileRow& file) {
  job.bytes += file.size;
  job.charged += file.size;
  add_to_owner(job, file.uid, file.size);
}

void DiskBudget::remove_file(Job& job, const FileRow& file) {
  job.bytes -= file.size;
  job.charged -= file.size;
  add_to_owner(job, file.uid, -file.size);
}

void DiskBudget::charge_reports(Job& job, int64_t bytes) {
  const auto change = static_cast<uint64_t>(bytes);  // modulo 2^64
  job.report_bytes += change;
  job.charged += change;
  add_to_owner(job, job.row.owner_uid, change);
}

void DiskBudget::charge_aside(Job& job, int64_t bytes) {
  const auto change = static_cast<uint64_t>(bytes);  // modulo 2^64
  job.aside_bytes += change;
  job.charged += change;
  add_to_owner(job, job.row.owner_uid, change);
}

void DiskBudget::change_owner(const Job& job, uint32_t before) {
  add_to_owner(job, before, -(job.report_bytes + job.aside_bytes));
  add_to_owner(job, job.row.owner_uid, job.report_bytes + job.aside_bytes);
}

void DiskBudget::remove_job(const Job& job) {
  for (const auto& [capture, files] : job.files) {
    for (const auto& [rank, file] : files) add_to_owner(job, file.uid, file.grows ? 0 : -file.size);
  }
  add_to_owner(job, job.row.owner_uid, -(job.report_bytes + job.aside_bytes));
  rooms_ -= job.room;
}

double DiskBudget::share_in_use() const {
  return space_.total == 0 ? 0 : 1 - static_cast<double>(space_.available) / static_cast<double>(space_.total);
}

uint64_t DiskBudget::reserved(const GatherLimits& most) const {
  return std::min(most.reserved_disk, space_.total / 20);
}

// Announced lengths reserve disk, whether their bytes come or not: all open uploads of an owner together may have half
// of what is free below the soft mark. The first may have all of it: it is the owner's only one.
bool DiskBudget::has_its_share(const UploadRow& row, uint64_t charged, const GatherLimits& most) const {
  const auto open = open_of_owner_.find(owner_of(row.asked.metadata.job, row.asked.uid));
  const uint64_t all = open == open_of_owner_.end() ? 0 : open->second;
  if (all <= charged || space_.total == 0) return true;
  const double mark = static_cast<double>(space_.total) * std::min(most.soft_disk, 1.0);
  const double used = static_cast<double>(space_.total - space_.available);
  return static_cast<double>(all + charged) <= mark - used;
}

Refusal DiskBudget::room_for(const UploadRow& row, bool of_new_job, uint64_t charged, const GatherLimits& most) const {
  const double share = share_in_use();
  const bool full = share >= most.hard_disk || (of_new_job && share >= most.soft_disk) ||
                    space_.available < row.asked.length.value_or(0) + reserved(most) ||
                    !has_its_share(row, charged, most);
  return full ? Refusal::no_space : Refusal::none;
}

Refusal DiskBudget::take_room(Job& job, const GatherLimits& most) {
  if (job.room > 0) return Refusal::too_many;
  const uint64_t below_mark = static_cast<uint64_t>(static_cast<double>(space_.total) * std::min(most.hard_disk, 1.0));
  const uint64_t used = space_.total - space_.available;
  const uint64_t free = std::min(left_of(below_mark, used), left_of(space_.available, reserved(most)));
  const uint64_t of_disk = space_.total == 0 ? most.largest_report : left_of(free, rooms_) / 2;
  job.waits_for_disk = of_disk == 0;
  if (job.waits_for_disk) return Refusal::no_space;
  const uint64_t of_user = std::max(job.row.owner_uid == 0 ? job.charged : 0, charged_of(job, job.row.owner_uid));
  const uint64_t of_owner = std::min(left_of(most.largest_job, job.charged), left_of(most.largest_user, of_user));
  const uint64_t allowed = std::min(most.largest_report, std::max(of_owner, kUsualReport));
  job.room_is_of_disk = of_disk < allowed;
  job.room = std::min(of_disk, allowed);
  rooms_ += job.room;
  return Refusal::none;
}

void DiskBudget::give_room_back(Job& job) {
  rooms_ -= job.room;
  job.room = 0;
}

}  // namespace skewscope::gather
