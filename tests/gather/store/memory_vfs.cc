#include "memory_vfs.h"

#include <atomic>
#include <cerrno>
#include <cstring>

#include "memory_disk.h"

namespace skewscope::gather::test {
namespace {

struct OpenFile {
  sqlite3_file base;
  MemoryDisk* disk;
  int file;
  bool flush_folder;  // at the first sync: its name is not durable yet
  char remove[256];   // when closed; "": not
};

OpenFile& opened(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file); }
MemoryDisk& disk_of(sqlite3_vfs* vfs) { return *static_cast<MemoryDisk*>(vfs->pAppData); }

std::string inside(const char* path) {
  const std::string prefix = std::string(MemoryDisk::kSpool) + "/";
  return std::strncmp(path, prefix.c_str(), prefix.size()) == 0 ? path + prefix.size() : path;
}

int close_file(sqlite3_file* file) {
  OpenFile& of = opened(file);
  of.disk->close(of.file);
  if (of.remove[0] != '\0') of.disk->remove(of.remove);
  return SQLITE_OK;
}

int read_file(sqlite3_file* file, void* buffer, int bytes, sqlite3_int64 offset) {
  OpenFile& of = opened(file);
  size_t got = 0;
  const auto wanted = static_cast<size_t>(bytes);
  if (of.disk->read(of.file, static_cast<char*>(buffer), wanted, static_cast<uint64_t>(offset), got) != 0) {
    return SQLITE_IOERR_READ;
  }
  std::memset(static_cast<char*>(buffer) + got, 0, wanted - got);
  return got == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int write_file(sqlite3_file* file, const void* buffer, int bytes, sqlite3_int64 offset) {
  OpenFile& of = opened(file);
  const std::string_view text(static_cast<const char*>(buffer), static_cast<size_t>(bytes));
  const int error = of.disk->write(of.file, text, static_cast<uint64_t>(offset));
  return error == 0 ? SQLITE_OK : error == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

int truncate_file(sqlite3_file* file, sqlite3_int64 bytes) {
  OpenFile& of = opened(file);
  return of.disk->truncate(of.file, static_cast<uint64_t>(bytes)) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

int sync_file(sqlite3_file* file, int) {
  OpenFile& of = opened(file);
  if (of.disk->sync_data(of.file) != 0) return SQLITE_IOERR_FSYNC;
  if (!of.flush_folder) return SQLITE_OK;
  of.flush_folder = false;
  return of.disk->sync_folder("") == 0 ? SQLITE_OK : SQLITE_IOERR_DIR_FSYNC;
}

int file_size(sqlite3_file* file, sqlite3_int64* bytes) {
  *bytes = opened(file).disk->size_of(opened(file).file);
  return SQLITE_OK;
}

int no_lock(sqlite3_file*, int) { return SQLITE_OK; }
int not_reserved(sqlite3_file*, int* reserved) { return *reserved = 0, SQLITE_OK; }
int no_control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector(sqlite3_file*) { return 4096; }
int traits(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }  // as the system's own VFS says

const sqlite3_io_methods kMethods = {1,       close_file, read_file,    write_file, truncate_file, sync_file, file_size,
                                     no_lock, no_lock,    not_reserved, no_control, sector,        traits,    nullptr,
                                     nullptr, nullptr,    nullptr,      nullptr,    nullptr};

int open_file(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  static std::atomic<int> temporary{0};
  OpenFile& of = opened(file);
  MemoryDisk& disk = disk_of(vfs);
  const std::string name = path == nullptr ? "temporary" + std::to_string(++temporary) : inside(path);
  file->pMethods = nullptr;
  int number = -1;
  int error = disk.open(name, true, number);
  const bool made = error == ENOENT && (flags & SQLITE_OPEN_CREATE) != 0;
  if (made) error = disk.create(name, number);
  if (error != 0) return SQLITE_CANTOPEN;
  of.disk = &disk;
  of.file = number;
  of.flush_folder = made && (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
  const bool removes = path == nullptr || (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
  std::strncpy(of.remove, removes ? name.c_str() : "", sizeof of.remove - 1);
  of.base.pMethods = &kMethods;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* vfs, const char* path, int flush_folder) {
  MemoryDisk& disk = disk_of(vfs);
  const int error = disk.remove(inside(path));
  if (error == ENOENT) return SQLITE_IOERR_DELETE_NOENT;
  if (error != 0) return SQLITE_IOERR_DELETE;
  return flush_folder == 0 || disk.sync_folder("") == 0 ? SQLITE_OK : SQLITE_IOERR_DIR_FSYNC;
}

int access_file(sqlite3_vfs* vfs, const char* path, int, int* there) {
  PathInfo info;
  *there = disk_of(vfs).info(inside(path), info) == 0 ? 1 : 0;
  return SQLITE_OK;
}

int full_path(sqlite3_vfs*, const char* path, int bytes, char* out) {
  std::strncpy(out, path, static_cast<size_t>(bytes));
  return SQLITE_OK;
}

int no_sleep(sqlite3_vfs*, int) { return 0; }

}  // namespace

MemoryVfs::MemoryVfs(MemoryDisk& disk, const std::string& name) : name_(name) {
  const sqlite3_vfs* system = sqlite3_vfs_find(nullptr);
  vfs_ = *system;
  vfs_.iVersion = 1;
  vfs_.szOsFile = sizeof(OpenFile);
  vfs_.pNext = nullptr;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = &disk;
  vfs_.xOpen = open_file;
  vfs_.xDelete = delete_file;
  vfs_.xAccess = access_file;
  vfs_.xFullPathname = full_path;
  vfs_.xSleep = no_sleep;
  sqlite3_vfs_register(&vfs_, 0);
}

MemoryVfs::~MemoryVfs() { sqlite3_vfs_unregister(&vfs_); }

}  // namespace skewscope::gather::test
