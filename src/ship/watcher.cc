#include "watcher.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <filesystem>

namespace skewscope::ship {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kEvents = IN_MOVED_TO | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE_SELF | IN_ONLYDIR;

// A file that was only created is of no interest before its writer closes it.
bool matters(const inotify_event& event) {
  const bool created = (event.mask & IN_CREATE) != 0, folder = (event.mask & IN_ISDIR) != 0;
  return !created || folder;
}

}  // namespace

Watcher::Watcher() : descriptor_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

Watcher::~Watcher() {
  if (descriptor_ >= 0) close(descriptor_);
}

// Refused where the user has no watches left: then rescans alone find files.
void Watcher::add(const std::string& folder) {
  if (descriptor_ >= 0) inotify_add_watch(descriptor_, folder.c_str(), kEvents);
}

void Watcher::watch(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    add(folder);
    std::error_code failed;
    fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, failed);
    for (const fs::recursive_directory_iterator end; !failed && entry != end; entry.increment(failed)) {
      std::error_code unreadable;
      if (!entry->is_directory(unreadable) || entry->is_symlink(unreadable)) continue;
      if (entry->path().filename().string().front() == '.') {
        entry.disable_recursion_pending();
      } else {
        add(entry->path().string());
      }
    }
  }
}

bool Watcher::wait(std::chrono::milliseconds longest) {
  pollfd waiting{descriptor_, POLLIN, 0};
  if (poll(&waiting, descriptor_ >= 0 ? 1 : 0, static_cast<int>(longest.count())) <= 0) return false;
  bool happened = false;
  alignas(inotify_event) std::array<char, 16 << 10> buffer;
  for (ssize_t got = 0; (got = read(descriptor_, buffer.data(), buffer.size())) > 0;) {
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      overflowed_ = overflowed_ || (event->mask & IN_Q_OVERFLOW) != 0;
      happened = happened || matters(*event);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
  return happened;
}

}  // namespace skewscope::ship
