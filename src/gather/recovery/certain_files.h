// For recovery, which sets aside what is not there or not whole: a file that cannot be looked at for want of memory,
// descriptors, permission or a network disk is neither. A call that fails so ends all of it with CannotTell; the next
// start finds things as they are. EIO is the item's own.
#pragma once

#include <string>

#include "src/gather/disk/file_system.h"

namespace skewscope::gather {

struct CannotTell {
  std::string path;  // "" where the call was by descriptor
  int error = 0;
};

bool is_missing(int error);  // or something else than was looked for lies there

class CertainFiles : public FileSystem {
 public:
  explicit CertainFiles(FileSystem& files) : files_(files) {}

  int lock(const std::string& path) override { return files_.lock(path); }
  int create(const std::string& path, int& file) override { return certain(files_.create(path, file), path); }
  int open(const std::string& path, bool writable, int& file) override {
    return seen(files_.open(path, writable, file), path);
  }
  void close(int file) override { files_.close(file); }
  int write(int file, std::string_view bytes, uint64_t offset) override {
    return certain(files_.write(file, bytes, offset));
  }
  int read(int file, char* buffer, size_t bytes, uint64_t offset, size_t& got) override {
    return seen(files_.read(file, buffer, bytes, offset, got));
  }
  int reserve(int file, uint64_t bytes) override { return certain(files_.reserve(file, bytes)); }
  int size(int file, uint64_t& bytes) override { return certain(files_.size(file, bytes)); }
  int truncate(int file, uint64_t bytes) override { return certain(files_.truncate(file, bytes)); }
  int start_writeback(int file, uint64_t offset, uint64_t bytes) override {
    return certain(files_.start_writeback(file, offset, bytes));
  }
  int sync_data(int file) override { return certain(files_.sync_data(file)); }
  int make_immutable(int file) override { return certain(files_.make_immutable(file)); }
  int make_folder(const std::string& path) override { return certain(files_.make_folder(path), path); }
  int sync_folder(const std::string& path) override { return certain(files_.sync_folder(path), path); }
  int rename(const std::string& from, const std::string& to, bool replace) override {
    return certain(files_.rename(from, to, replace), from);
  }
  int remove(const std::string& path) override { return certain(files_.remove(path), path); }
  int make_link(const std::string& text, const std::string& path) override {
    return certain(files_.make_link(text, path), path);
  }
  int info(const std::string& path, PathInfo& info) override { return seen(files_.info(path, info), path); }
  int list(const std::string& path, std::vector<FolderEntry>& entries) override {
    return seen(files_.list(path, entries), path);
  }
  int space(DiskSpace& space) override { return certain(files_.space(space)); }
  int open_for_reader(const std::string& path, int& descriptor) override {
    return certain(files_.open_for_reader(path, descriptor), path);
  }

 private:
  static int certain(int error, const std::string& path = "");
  static int seen(int error, const std::string& path = "");  // of calls that look

  FileSystem& files_;
};

}  // namespace skewscope::gather
