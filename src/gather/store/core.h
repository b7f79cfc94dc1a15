// What the parts of the store (Uploads, Jobs, Reports, Quarantine, Sweeper) have in common.
#pragma once

#include "ballast.h"
#include "engine.h"
#include "memory.h"
#include "spool_folders.h"

namespace skewscope::gather {

struct Core {
  Core(StoreOptions options, std::unique_ptr<FileSystem> owned, FileSystem& on)
      : engine(std::move(options), std::move(owned), on), files(on), folders(engine), ballast(on) {}

  // As the disk is now.
  void look_at_disk() {
    DiskSpace space;
    if (files.space(space) == 0) memory.lock()->budget.look(space);
  }

  Engine engine;
  FileSystem& files;
  Guarded<Memory> memory;
  SpoolFolders folders;
  Ballast ballast;
};

}  // namespace skewscope::gather
