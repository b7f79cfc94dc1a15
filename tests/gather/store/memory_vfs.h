// SQLite on a MemoryDisk: the plainest VFS, with the flush of a folder that the system's own one does after it has made
// a journal.
#pragma once

#include <sqlite3.h>

#include <string>

namespace skewscope::gather::test {

class MemoryDisk;

class MemoryVfs {
 public:
  MemoryVfs(MemoryDisk& disk, const std::string& name);
  ~MemoryVfs();
  MemoryVfs(const MemoryVfs&) = delete;
  MemoryVfs& operator=(const MemoryVfs&) = delete;

 private:
  std::string name_;
  sqlite3_vfs vfs_{};
};

}  // namespace skewscope::gather::test
