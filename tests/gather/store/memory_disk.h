// A disk in memory that can lose its power: what was not flushed is then gone, bytes as well as names, or survives in
// part, torn at 512 bytes. SQLite runs on it through a VFS of its own.
//
//   bytes   of a file survive as of its last sync_data; later writes may survive sector by sector
//   names   of a folder survive as of its last sync_folder; later changes may survive name by name, but what was
//           renamed keeps one of its names. Flushing only the folder that it left loses it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "src/gather/disk/file_system.h"

namespace skewscope::gather::test {

enum class Survives { nothing, everything, some };  // of what was not flushed

// The flushes that can be left out, to see that it is noticed.
enum class Flush { none, part, manifest, in_folder, rank_folder, job_folders, report_folder, report_files };

class MemoryDisk : public FileSystem {
 public:
  MemoryDisk();
  ~MemoryDisk() override;
  const char* vfs() const { return vfs_name_.c_str(); }
  static constexpr const char* kSpool = "/memory";
  static constexpr int64_t kAlways = 1'700'000'000;  // the time that it is here

  // From the `step`-th step on, nothing works any more; 0: never.
  void lose_power_at(uint64_t step) { power_ends_ = step; }
  void lose_power() { power_ends_ = 1; }
  bool has_power() const { return power_ends_ == 0 || steps_ < power_ends_; }
  uint64_t steps() const { return steps_; }
  // What a restart finds.
  std::unique_ptr<MemoryDisk> after_power_loss(Survives survives, uint32_t seed) const;
  // Is asked about each path that is looked for.
  void guard(std::function<void(const std::string& path)> check) { guard_ = std::move(check); }
  void ignore(Flush flush) { ignored_ = flush; }
  void limit(uint64_t bytes) { limit_ = bytes; }       // then ENOSPC
  void fail_sync(bool fails) { sync_fails_ = fails; }  // EIO

  int lock(const std::string& path) override;
  int create(const std::string& path, int& file) override;
  int open(const std::string& path, bool writable, int& file) override;
  void close(int file) override;
  int write(int file, std::string_view bytes, uint64_t offset) override;
  int read(int file, char* buffer, size_t bytes, uint64_t offset, size_t& got) override;
  int reserve(int file, uint64_t bytes) override;
  int size(int file, uint64_t& bytes) override;
  int truncate(int file, uint64_t bytes) override;
  int start_writeback(int, uint64_t, uint64_t) override { return 0; }
  int sync_data(int file) override;
  int make_immutable(int) override { return 0; }
  int make_folder(const std::string& path) override;
  int sync_folder(const std::string& path) override;
  int rename(const std::string& from, const std::string& to, bool replace) override;
  int remove(const std::string& path) override;
  int make_link(const std::string& text, const std::string& path) override;
  int info(const std::string& path, PathInfo& info) override;
  int list(const std::string& path, std::vector<FolderEntry>& entries) override;
  int space(DiskSpace& space) override;
  int open_for_reader(const std::string& path, int& descriptor) override;

  void make_file(const std::string& path, const std::string& bytes);
  int64_t size_of(int file);
  uint64_t reserved(const std::string& path);
  void flip_bit(const std::string& path, uint64_t byte);

 private:
  struct Node;
  using NodePointer = std::shared_ptr<Node>;
  struct Change {
    bool truncates = false;
    uint64_t offset = 0;
    std::string bytes;
  };
  struct Node {
    bool folder = false;
    std::string path;  // as it was made: tells which flush is whose
    std::string bytes, durable;
    std::vector<Change> unsynced;
    std::map<std::string, NodePointer> entries, durable_entries;
    uint64_t reserved = 0;
  };
  using Places = std::map<Node*, std::pair<Node*, std::string>>;

  bool step();  // false: no power
  NodePointer find(const std::string& path) const;
  NodePointer folder_of(const std::string& path, std::string& name) const;
  int hold(const NodePointer& node);
  uint64_t used() const;
  static void collect(const NodePointer& folder, bool durable, Places& places);
  static NodePointer survivor(const NodePointer& node, Survives survives, std::mt19937& random,
                              std::map<Node*, NodePointer>& made);
  static void apply(const Change& change, std::string& bytes, Survives survives, std::mt19937& random);
  bool ignores_data(const Node& node) const;
  bool ignores_folder(const std::string& path) const;

  mutable std::recursive_mutex mutex_;
  NodePointer root_;
  std::map<int, NodePointer> files_;
  int next_file_ = 1;
  std::atomic<uint64_t> steps_ = 0, power_ends_ = 0, limit_ = 0;
  std::atomic<Flush> ignored_ = Flush::none;
  std::atomic<bool> sync_fails_ = false;
  std::function<void(const std::string&)> guard_;
  std::string vfs_name_;
  struct Vfs;
  std::unique_ptr<Vfs> vfs_;
};

}  // namespace skewscope::gather::test
