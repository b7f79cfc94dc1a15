#include "file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "src/gather/process/descriptor.h"

namespace skewscope::gather {
namespace {

template <class Call>
auto again_when_interrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

constexpr mode_t kMode = 0640;
constexpr int kWaitsForDescriptor = 100;
constexpr std::chrono::milliseconds kWaitForDescriptor{10};

int error_of(int64_t result) { return result < 0 ? errno : 0; }

// A path's folder and its last part.
std::pair<std::string, std::string> split(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::pair<std::string, std::string>(".", path)
                                    : std::pair(path.substr(0, slash), path.substr(slash + 1));
}

class RealFileSystem : public FileSystem {
 public:
  explicit RealFileSystem(int root) : root_(root) {}

  int lock(const std::string& path) override {
    int file = beneath(path, O_RDWR | O_CREAT, 0640);
    if (file < 0 && errno == EROFS) {  // a snapshot: who has locked it is elsewhere
      file = beneath(path, O_RDONLY);
      if (file < 0 && errno == ENOENT) return 0;
    }
    if (file < 0) return errno;
    lock_ = std::make_unique<Descriptor>(file);
    return error_of(flock(file, LOCK_EX | LOCK_NB));
  }

  int create(const std::string& path, int& file) override {
    file = beneath(path, O_RDWR | O_CREAT | O_EXCL, kMode);
    return error_of(file);
  }
  int open(const std::string& path, bool writable, int& file) override {
    file = beneath(path, writable ? O_RDWR : O_RDONLY);
    if (file < 0 && errno == EACCES && writable) {  // made immutable, and then it did not become a file
      const Descriptor readable(beneath(path, O_RDONLY));
      if (readable.get() < 0) return errno;
      if (::fchmod(readable.get(), kMode) != 0) return errno;
      file = beneath(path, O_RDWR);
    }
    return error_of(file);
  }
  void close(int file) override { ::close(file); }

  int write(int file, std::string_view bytes, uint64_t offset) override {
    while (!bytes.empty()) {
      const ssize_t wrote = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return errno;
      bytes.remove_prefix(static_cast<size_t>(wrote));
      offset += static_cast<uint64_t>(wrote);
    }
    return 0;
  }
  int read(int file, char* buffer, size_t bytes, uint64_t offset, size_t& got) override {
    got = 0;
    while (got < bytes) {
      const ssize_t count = ::pread(file, buffer + got, bytes - got, static_cast<off_t>(offset + got));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno;
      if (count == 0) break;
      got += static_cast<size_t>(count);
    }
    return 0;
  }
  int reserve(int file, uint64_t bytes) override {
    if (bytes == 0) return 0;
    const int error = error_of(
        again_when_interrupted([&] { return ::fallocate(file, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)); }));
    if (is_full(error) && has_blocks(file, bytes)) return 0;  // XFS wants room for what is there already, too
    return error == EOPNOTSUPP ? 0 : error;                   // then space may run out while bytes arrive
  }
  int size(int file, uint64_t& bytes) override {
    struct stat status {};
    if (::fstat(file, &status) != 0) return errno;
    bytes = static_cast<uint64_t>(status.st_size);
    return 0;
  }
  int truncate(int file, uint64_t bytes) override {
    return error_of(again_when_interrupted([&] { return ::ftruncate(file, static_cast<off_t>(bytes)); }));
  }
  int start_writeback(int file, uint64_t offset, uint64_t bytes) override {
    return error_of(
        ::sync_file_range(file, static_cast<off_t>(offset), static_cast<off_t>(bytes), SYNC_FILE_RANGE_WRITE));
  }
  int sync_data(int file) override {
    return error_of(again_when_interrupted([&] { return ::fdatasync(file); }));
  }
  int make_immutable(int file) override { return error_of(::fchmod(file, 0440)); }

  int make_folder(const std::string& path) override {
    const auto [folder, name] = split(path);
    const Descriptor parent(beneath(folder, O_PATH | O_DIRECTORY));
    return parent.get() < 0 ? errno : error_of(::mkdirat(parent.get(), name.c_str(), 0750));
  }
  int sync_folder(const std::string& path) override {
    const Descriptor folder(beneath(path, O_RDONLY | O_DIRECTORY));
    if (folder.get() < 0) return errno;
    return error_of(again_when_interrupted([&] { return ::fsync(folder.get()); }));
  }
  int rename(const std::string& from, const std::string& to, bool replace) override {
    const auto [from_folder, from_name] = split(from);
    const auto [to_folder, to_name] = split(to);
    const Descriptor source(beneath(from_folder, O_PATH | O_DIRECTORY));
    if (source.get() < 0) return errno;
    const Descriptor target(beneath(to_folder, O_PATH | O_DIRECTORY));
    if (target.get() < 0) return errno;
    return error_of(
        ::renameat2(source.get(), from_name.c_str(), target.get(), to_name.c_str(), replace ? 0 : RENAME_NOREPLACE));
  }
  int remove(const std::string& path) override {
    const auto [folder, name] = split(path);
    const Descriptor parent(beneath(folder, O_PATH | O_DIRECTORY));
    if (parent.get() < 0) return errno;
    const int error = error_of(::unlinkat(parent.get(), name.c_str(), 0));
    return error == EISDIR ? error_of(::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR)) : error;
  }
  int make_link(const std::string& text, const std::string& path) override {
    const auto [folder, name] = split(path);
    const Descriptor parent(beneath(folder, O_PATH | O_DIRECTORY));
    return parent.get() < 0 ? errno : error_of(::symlinkat(text.c_str(), parent.get(), name.c_str()));
  }

  int info(const std::string& path, PathInfo& info) override {
    const Descriptor opened(beneath(path, O_PATH));
    if (opened.get() < 0) return errno;
    struct stat status {};
    if (::fstat(opened.get(), &status) != 0) return errno;
    info = {S_ISDIR(status.st_mode), static_cast<uint64_t>(status.st_size),
            std::chrono::sys_seconds(std::chrono::seconds(status.st_ctim.tv_sec))};
    return 0;
  }
  int list(const std::string& path, std::vector<FolderEntry>& entries) override {
    entries.clear();
    Descriptor folder(beneath(path, O_RDONLY | O_DIRECTORY));
    if (folder.get() < 0) return errno;
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(folder.get()), ::closedir);
    if (!stream) return errno;
    folder.release();
    errno = 0;
    for (const dirent* entry = ::readdir(stream.get()); entry != nullptr; entry = ::readdir(stream.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") entries.push_back({name, is_folder(::dirfd(stream.get()), *entry)});
      errno = 0;
    }
    return errno;
  }
  int space(DiskSpace& space) override {
    struct statvfs status {};
    if (::fstatvfs(root_.get(), &status) != 0) return errno;
    space = {status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize};
    return 0;
  }
  int open_for_reader(const std::string& path, int& descriptor) override { return open(path, false, descriptor); }

 private:
  static bool has_blocks(int file, uint64_t bytes) {
    constexpr uint64_t kBlock = 512;  // of st_blocks, on every file system
    struct stat status {};
    return ::fstat(file, &status) == 0 && static_cast<uint64_t>(status.st_blocks) * kBlock >= bytes;
  }
  // Not every file system tells in the entry.
  static bool is_folder(int folder, const dirent& entry) {
    if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
    struct stat status {};
    return ::fstatat(folder, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
  }

  // openat2 of Linux 5.6 in an earlier one, folder by folder: no folder may be a link, lead upwards or elsewhere.
  int walk(const std::string& path, int flags, mode_t mode) const {
    const auto [folder, name] = split(path);
    constexpr int kFolder = O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
    const Descriptor above(folder == "." ? ::openat(root_.get(), ".", kFolder) : walk(folder, kFolder, 0));
    if (above.get() < 0) return -1;
    if (name == "..") return errno = EXDEV, -1;
    Descriptor opened(::openat(above.get(), name.c_str(), flags, mode));
    struct stat around {
    }, status{};
    if (opened.get() < 0 || ::fstat(above.get(), &around) != 0 || ::fstat(opened.get(), &status) != 0) return -1;
    if (status.st_dev != around.st_dev) return errno = EXDEV, -1;
    return opened.release();
  }

  int beneath(const std::string& path, int flags, mode_t mode = 0) const {
    struct open_how how {};
    how.flags = static_cast<uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW);
    how.mode = mode;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
    const std::string place = path.empty() ? "." : path;
    const auto open = [&]() -> int64_t {
      const int64_t opened = ::syscall(SYS_openat2, root_.get(), place.c_str(), &how, sizeof how);
      return opened < 0 && errno == ENOSYS ? walk(place, static_cast<int>(how.flags), mode) : opened;
    };
    // Descriptors come back as connections end: a moment's wait costs less than what was being done.
    auto opened = again_when_interrupted(open);
    for (int i = 0; i < kWaitsForDescriptor && opened < 0 && is_short_of_descriptors(errno); ++i) {
      std::this_thread::sleep_for(kWaitForDescriptor);
      opened = again_when_interrupted(open);
    }
    return static_cast<int>(opened);
  }

  Descriptor root_;
  std::unique_ptr<Descriptor> lock_;
};

}  // namespace

Result<std::unique_ptr<FileSystem>> open_file_system(const std::string& folder) {
  const int root = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return Error{ErrorKind::no_input, "cannot open the spool " + folder + ": " + std::strerror(errno)};
  return std::unique_ptr<FileSystem>(std::make_unique<RealFileSystem>(root));
}

bool is_full(int error) { return error == ENOSPC || error == EDQUOT; }

bool is_short_of_descriptors(int error) { return error == EMFILE || error == ENFILE; }

}  // namespace skewscope::gather
