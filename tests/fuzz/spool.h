// A spool on a disk in memory that is looked after: recovery may touch what a spool has, and nothing else.
#pragma once

#include <memory>
#include <string>

#include "require.h"
#include "src/gather/recovery/recovery.h"
#include "tests/gather/store/memory_disk.h"
#include "tests/gather/store/model.h"

namespace skewscope::gather::test {

using skewscope::test::require;

// A daemon's after its clean end: two jobs, files, an open upload, one that waits for its length, a report.
inline const MemoryDisk& used_spool() {
  static const std::unique_ptr<MemoryDisk> spool = [] {
    MemoryDisk disk;
    {
      const auto store = std::move(Store::open(memory_options(disk))).value();
      Asking ask(*store);
      for (int rank = 0; rank < 4; ++rank) ask.put("train", rank, "{\"traceEvents\": []}" + std::to_string(rank));
      ask.put("other", 0, "{}");
      NewUpload other = upload_of("train", 1, 2);
      other.metadata.replace = true;
      ask.put(other, "{}");
      ask.patch(ask.create(upload_of("train", 5, 8)).value.id, 0, "abcd");
      ask.create(upload_of("train", 6, std::nullopt));
      ask.put("gone", 0, "{}");
      ask.delete_job("gone");
    }
    return disk.after_power_loss(Survives::everything, 0);
  }();
  return *spool;
}

inline Recovered recovered(MemoryDisk& disk, bool repair) {
  RecoveryOptions options;
  options.spool = MemoryDisk::kSpool;
  options.database_vfs = disk.vfs();
  options.repair = repair;
  options.verify = true;
  options.now = Time(std::chrono::seconds(MemoryDisk::kAlways));
  return recover(disk, options);
}

// --check --repair succeeds, unless the manifest is of another format, and leaves nothing to say but of rows without
// sense.
inline void check_start(MemoryDisk& disk) {
  {
    const Recovered first = recovered(disk, true);
    if (!first.manifest)
      return require(first.error.message.find("another format") != std::string::npos, first.error.message);
  }
  const Recovered second = recovered(disk, false);
  require(second.manifest != nullptr, second.error.message);
  require(second.to_do.empty(), "a start left something to do");
  for (const std::string& problem : second.problems) {
    require(problem.find("make no sense") != std::string::npos, "after a start: " + problem);
  }
  for (const FileRow& file : second.files) {
    PathInfo info;
    require(disk.info("jobs/" + file.job, info) == 0);
  }
}

}  // namespace skewscope::gather::test
