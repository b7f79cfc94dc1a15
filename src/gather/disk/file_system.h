// The few calls that touch the spool. Paths are relative to it; nothing outside it, behind a symbolic link or on
// another file system can be named. Tests put a file system in that forgets what was not flushed.
//
// What returns int returns 0 or an errno. Any thread may call; one descriptor is used by one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skewscope/base/result.h"

namespace skewscope::gather {

struct PathInfo {
  bool folder = false;
  uint64_t size = 0;
  std::chrono::sys_seconds changed{};  // its content, its name or who may read it
};

struct FolderEntry {
  std::string name;
  bool folder = false;
};

struct DiskSpace {
  uint64_t total = 0, available = 0;  // bytes
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Takes the spool for this process until the object goes. EWOULDBLOCK: another has it.
  virtual int lock(const std::string& path) = 0;

  virtual int create(const std::string& path, int& file) = 0;  // must not exist; for reading and writing
  virtual int open(const std::string& path, bool writable, int& file) = 0;
  virtual void close(int file) = 0;
  virtual int write(int file, std::string_view bytes, uint64_t offset) = 0;  // all of them
  // Fewer bytes than asked for: the file ends there.
  virtual int read(int file, char* buffer, size_t bytes, uint64_t offset, size_t& got) = 0;
  virtual int reserve(int file, uint64_t bytes) = 0;  // disk for them, without changing the size
  virtual int size(int file, uint64_t& bytes) = 0;
  virtual int truncate(int file, uint64_t bytes) = 0;
  virtual int start_writeback(int file, uint64_t offset, uint64_t bytes) = 0;  // promises nothing
  virtual int sync_data(int file) = 0;       // what was written and the size, to stable storage
  virtual int make_immutable(int file) = 0;  // read-only for everybody

  virtual int make_folder(const std::string& path) = 0;  // EEXIST when there is one
  virtual int sync_folder(const std::string& path) = 0;  // the names in it, to stable storage
  // Atomic: at every moment, crashes included, the file has at least one of the two names.
  virtual int rename(const std::string& from, const std::string& to, bool replace) = 0;
  virtual int remove(const std::string& path) = 0;                              // a file, a link, an empty folder
  virtual int make_link(const std::string& text, const std::string& path) = 0;  // symbolic

  virtual int info(const std::string& path, PathInfo& info) = 0;  // ENOENT, ...
  virtual int list(const std::string& path, std::vector<FolderEntry>& entries) = 0;
  virtual int space(DiskSpace& space) = 0;
  // A descriptor of the process's own, for reading, that the caller closes.
  virtual int open_for_reader(const std::string& path, int& descriptor) = 0;
};

// On a folder that exists. Errors: no_input.
Result<std::unique_ptr<FileSystem>> open_file_system(const std::string& folder);

bool is_full(int error);                  // of the disk or a quota: not fatal
bool is_short_of_descriptors(int error);  // of the process or the machine: not fatal, either

}  // namespace skewscope::gather
