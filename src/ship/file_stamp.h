// Which content of which file, by whom: what changes when somebody writes to it, and what does not when it is renamed.
#pragma once

#include <cstdint>
#include <string>

struct stat;

namespace skewscope::ship {

struct FileStamp {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t mtime_ns = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
  // Hexadecimal numbers and hyphens.
  std::string key() const;
};

FileStamp stamp_of(const struct stat& status);

enum class Writing {
  no,       // nobody has it open for writing, proven by a lease
  yes,      // somebody has
  unknown,  // this file system, or the file's owner, gives no lease
};

// Takes a read lease and gives it back at once. `descriptor`: open for reading.
Writing is_written(int descriptor);

// Whether a file system of this kind (statfs) belongs to one machine. Others may be mounted by many.
bool is_of_one_machine(long kind);

// This host's name, where the file lies on a disk that no other machine writes to; "" where one may.
std::string host_of_disk(int descriptor);

}  // namespace skewscope::ship
