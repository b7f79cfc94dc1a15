#include "memory_disk.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <stdexcept>

#include "memory_vfs.h"

namespace skewscope::gather::test {
namespace {

constexpr uint64_t kSector = 512;

}  // namespace

struct MemoryDisk::Vfs : MemoryVfs {
  using MemoryVfs::MemoryVfs;
};

MemoryDisk::MemoryDisk() : root_(std::make_shared<Node>()) {
  root_->folder = true;
  static std::atomic<int> number{0};
  vfs_name_ = "memory" + std::to_string(++number);
  vfs_ = std::make_unique<Vfs>(*this, vfs_name_);
}

MemoryDisk::~MemoryDisk() = default;

bool MemoryDisk::step() {
  ++steps_;
  return has_power();
}

MemoryDisk::NodePointer MemoryDisk::find(const std::string& path) const {
  if (guard_) guard_(path);
  NodePointer node = root_;
  for (size_t begin = 0; begin < path.size() && node;) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const auto entry = node->entries.find(path.substr(begin, end - begin));
    node = entry == node->entries.end() ? nullptr : entry->second;
    begin = end + 1;
  }
  return node;
}

MemoryDisk::NodePointer MemoryDisk::folder_of(const std::string& path, std::string& name) const {
  const size_t slash = path.rfind('/');
  name = slash == std::string::npos ? path : path.substr(slash + 1);
  return find(slash == std::string::npos ? "" : path.substr(0, slash));
}

int MemoryDisk::hold(const NodePointer& node) {
  files_[next_file_] = node;
  return next_file_++;
}

uint64_t MemoryDisk::used() const {
  uint64_t bytes = 0;
  const std::function<void(const NodePointer&)> add = [&](const NodePointer& node) {
    bytes += std::max<uint64_t>(node->bytes.size(), node->reserved);
    for (const auto& [name, entry] : node->entries) add(entry);
  };
  add(root_);
  return bytes;
}

int MemoryDisk::lock(const std::string&) { return has_power() ? 0 : EIO; }

int MemoryDisk::create(const std::string& path, int& file) {
  const std::lock_guard lock(mutex_);
  if (!step()) return EIO;
  std::string name;
  const NodePointer folder = folder_of(path, name);
  if (!folder) return ENOENT;
  if (folder->entries.count(name) > 0) return EEXIST;
  const NodePointer node = folder->entries[name] = std::make_shared<Node>();
  node->path = path;
  file = hold(node);
  return 0;
}

int MemoryDisk::open(const std::string& path, bool, int& file) {
  const std::lock_guard lock(mutex_);
  if (!has_power()) return EIO;
  const NodePointer node = find(path);
  if (!node || node->folder) return ENOENT;
  file = hold(node);
  return 0;
}

void MemoryDisk::close(int file) {
  const std::lock_guard lock(mutex_);
  files_.erase(file);
}

// The write during which the power goes leaves what `Survives` makes of it.
int MemoryDisk::write(int file, std::string_view bytes, uint64_t offset) {
  const std::lock_guard lock(mutex_);
  const bool before = has_power();
  const bool power = step();
  if (!before) return EIO;
  Node& node = *files_.at(file);
  const uint64_t end = offset + bytes.size();
  if (power && limit_ > 0 && end > std::max<uint64_t>(node.bytes.size(), node.reserved)) {
    const uint64_t more = end - std::max<uint64_t>(node.bytes.size(), node.reserved);
    if (used() + more > limit_) return ENOSPC;
  }
  node.unsynced.push_back({false, offset, std::string(bytes)});
  if (node.bytes.size() < end) node.bytes.resize(end);
  node.bytes.replace(offset, bytes.size(), bytes);
  return power ? 0 : EIO;
}

int MemoryDisk::read(int file, char* buffer, size_t bytes, uint64_t offset, size_t& got) {
  const std::lock_guard lock(mutex_);
  if (!has_power()) return EIO;
  const Node& node = *files_.at(file);
  got = offset >= node.bytes.size() ? 0 : node.bytes.copy(buffer, bytes, offset);
  return 0;
}

int MemoryDisk::reserve(int file, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!step()) return EIO;
  Node& node = *files_.at(file);
  const uint64_t has = std::max<uint64_t>(node.bytes.size(), node.reserved);
  if (limit_ > 0 && bytes > has && used() + bytes - has > limit_) return ENOSPC;
  node.reserved = std::max(node.reserved, bytes);
  return 0;
}

int MemoryDisk::size(int file, uint64_t& bytes) {
  const std::lock_guard lock(mutex_);
  bytes = files_.at(file)->bytes.size();
  return 0;
}

int MemoryDisk::truncate(int file, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!step()) return EIO;
  Node& node = *files_.at(file);
  node.unsynced.push_back({true, bytes, ""});
  node.bytes.resize(bytes);
  node.reserved = 0;
  return 0;
}

int MemoryDisk::sync_data(int file) {
  const std::lock_guard lock(mutex_);
  if (!step() || sync_fails_) return EIO;
  Node& node = *files_.at(file);
  if (ignores_data(node)) return 0;
  node.durable = node.bytes;
  node.unsynced.clear();
  return 0;
}

int MemoryDisk::make_folder(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (!step()) return EIO;
  std::string name;
  const NodePointer folder = folder_of(path, name);
  if (!folder) return ENOENT;
  if (folder->entries.count(name) > 0) return EEXIST;
  const NodePointer node = folder->entries[name] = std::make_shared<Node>();
  node->folder = true;
  node->path = path;
  return 0;
}

int MemoryDisk::sync_folder(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (!step() || sync_fails_) return EIO;
  const NodePointer node = find(path);
  if (!node || !node->folder) return ENOENT;
  if (!ignores_folder(path)) node->durable_entries = node->entries;
  return 0;
}

int MemoryDisk::rename(const std::string& from, const std::string& to, bool replace) {
  const std::lock_guard lock(mutex_);
  if (!step()) return EIO;
  std::string from_name, to_name;
  const NodePointer source = folder_of(from, from_name), target = folder_of(to, to_name);
  if (!source || !target || source->entries.count(from_name) == 0) return ENOENT;
  if (!replace && target->entries.count(to_name) > 0) return EEXIST;
  target->entries[to_name] = source->entries[from_name];
  source->entries.erase(from_name);
  return 0;
}

int MemoryDisk::remove(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (!step()) return EIO;
  std::string name;
  const NodePointer folder = folder_of(path, name);
  if (!folder || folder->entries.count(name) == 0) return ENOENT;
  if (!folder->entries[name]->entries.empty()) return ENOTEMPTY;
  folder->entries.erase(name);
  return 0;
}

int MemoryDisk::make_link(const std::string& text, const std::string& path) {
  int file = -1;
  const int error = create(path, file);
  if (error != 0) return error;
  const std::lock_guard lock(mutex_);
  files_.at(file)->bytes = files_.at(file)->durable = text;  // a link is as durable as its name
  files_.erase(file);
  return 0;
}

int MemoryDisk::info(const std::string& path, PathInfo& info) {
  const std::lock_guard lock(mutex_);
  if (!has_power()) return EIO;
  const NodePointer node = find(path);
  if (!node) return ENOENT;
  info = {node->folder, node->bytes.size(), std::chrono::sys_seconds(std::chrono::seconds(kAlways))};
  return 0;
}

int MemoryDisk::list(const std::string& path, std::vector<FolderEntry>& entries) {
  const std::lock_guard lock(mutex_);
  entries.clear();
  if (!has_power()) return EIO;
  const NodePointer node = find(path);
  if (!node || !node->folder) return ENOENT;
  for (const auto& [name, entry] : node->entries) entries.push_back({name, entry->folder});
  return 0;
}

int MemoryDisk::space(DiskSpace& space) {
  const std::lock_guard lock(mutex_);
  const uint64_t total = limit_ > 0 ? limit_.load() : 1ull << 40;
  const uint64_t taken = std::min(used(), total);
  space = {total, total - taken};
  return 0;
}

int MemoryDisk::open_for_reader(const std::string& path, int& descriptor) {
  const std::lock_guard lock(mutex_);
  const NodePointer node = find(path);
  if (!has_power() || !node) return ENOENT;
  descriptor = ::memfd_create("file", MFD_CLOEXEC);
  const ssize_t wrote = ::pwrite(descriptor, node->bytes.data(), node->bytes.size(), 0);
  return wrote == static_cast<ssize_t>(node->bytes.size()) ? 0 : EIO;
}

void MemoryDisk::make_file(const std::string& path, const std::string& bytes) {
  int file = -1;
  if (create(path, file) != 0) throw std::logic_error(path + " cannot be made");
  write(file, bytes, 0);
  close(file);
}

int64_t MemoryDisk::size_of(int file) {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(files_.at(file)->bytes.size());
}

uint64_t MemoryDisk::reserved(const std::string& path) {
  const std::lock_guard lock(mutex_);
  return find(path)->reserved;
}

void MemoryDisk::flip_bit(const std::string& path, uint64_t byte) {
  const std::lock_guard lock(mutex_);
  Node& node = *find(path);
  node.bytes[byte] = static_cast<char>(node.bytes[byte] ^ 1);
  node.durable = node.bytes;
}

bool MemoryDisk::ignores_data(const Node& node) const {
  const bool of_manifest = node.path.starts_with("gather.sqlite");
  return (ignored_ == Flush::part && node.path.starts_with("in/")) || (ignored_ == Flush::manifest && of_manifest) ||
         (ignored_ == Flush::report_files && node.path.find("/report/") != std::string::npos);
}

bool MemoryDisk::ignores_folder(const std::string& path) const {
  const bool of_job = path == "jobs" || path.ends_with("/ranks") ||
                      (path.starts_with("jobs/") && path.find('/', 5) == std::string::npos);
  return (ignored_ == Flush::in_folder && path == "in") ||
         (ignored_ == Flush::rank_folder && path.find("/ranks/c") != std::string::npos) ||
         (ignored_ == Flush::job_folders && of_job) || (ignored_ == Flush::report_folder && path.ends_with("/report"));
}

void MemoryDisk::apply(const Change& change, std::string& bytes, Survives survives, std::mt19937& random) {
  const auto kept = [&] { return survives == Survives::everything || random() % 2 == 0; };
  if (change.truncates) {
    if (kept()) bytes.resize(change.offset);
    return;
  }
  for (uint64_t begin = 0; begin < change.bytes.size();) {
    const uint64_t at = change.offset + begin;
    const uint64_t end = std::min(begin + kSector - at % kSector, static_cast<uint64_t>(change.bytes.size()));
    if (kept()) {
      if (bytes.size() < change.offset + end) bytes.resize(change.offset + end);
      bytes.replace(at, end - begin, change.bytes, begin, end - begin);
    }
    begin = end;
  }
}

MemoryDisk::NodePointer MemoryDisk::survivor(const NodePointer& node, Survives survives, std::mt19937& random,
                                             std::map<Node*, NodePointer>& made) {
  NodePointer& out = made[node.get()];
  if (out) return out;
  NodePointer copy = out = std::make_shared<Node>();
  copy->folder = node->folder;
  copy->path = node->path;
  copy->bytes = node->durable;
  if (survives != Survives::nothing) {
    for (const Change& change : node->unsynced) apply(change, copy->bytes, survives, random);
  }
  copy->durable = copy->bytes;
  copy->reserved = 0;
  std::set<std::string> names;
  for (const auto& [name, entry] : node->entries) names.insert(name);
  for (const auto& [name, entry] : node->durable_entries) names.insert(name);
  for (const std::string& name : names) {
    const bool seen = survives == Survives::everything || (survives == Survives::some && random() % 2 == 0);
    const auto& entries = seen ? node->entries : node->durable_entries;
    const auto entry = entries.find(name);
    if (entry != entries.end()) copy->entries[name] = survivor(entry->second, survives, random, made);
  }
  copy->durable_entries = copy->entries;
  return copy;
}

void MemoryDisk::collect(const NodePointer& folder, bool durable, Places& places) {
  for (const auto& [name, entry] : durable ? folder->durable_entries : folder->entries) {
    places.try_emplace(entry.get(), folder.get(), name);
    collect(entry, durable, places);
  }
}

std::unique_ptr<MemoryDisk> MemoryDisk::after_power_loss(Survives survives, uint32_t seed) const {
  const std::lock_guard lock(mutex_);
  std::mt19937 random(seed);
  std::map<Node*, NodePointer> made;
  auto out = std::make_unique<MemoryDisk>();
  out->root_ = survivor(root_, survives, random, made);
  // What had a name that would have survived, and still has one, keeps one.
  Places durable, visible, left;
  collect(root_, true, durable);
  collect(root_, false, visible);
  collect(out->root_, false, left);
  for (const auto& [node, place] : durable) {
    const auto seen = visible.find(node);
    if (seen == visible.end()) continue;
    const auto copy = made.find(node);
    if (copy != made.end() && left.count(copy->second.get()) > 0) continue;
    std::shared_ptr<Node> self = seen->second.first->entries.at(seen->second.second);
    for (const auto& [folder, name] : {place, seen->second}) {
      const auto home = made.find(folder);
      if (home == made.end() || home->second->entries.count(name) > 0) continue;
      home->second->entries[name] = survivor(self, survives, random, made);
      home->second->durable_entries = home->second->entries;
      break;
    }
  }
  return out;
}

}  // namespace skewscope::gather::test
