#include "file_threads.h"

#include <algorithm>

namespace skewscope::gather {

FileThreads::FileThreads(int count) {
  for (int i = 0; i < std::max(count, 1); ++i) {
    Lane& lane = *lanes_.emplace_back(std::make_unique<Lane>());
    lane.thread = std::thread([&lane] { serve(lane); });
  }
}

void FileThreads::stop() {
  for (const auto& lane : lanes_) {
    const std::lock_guard lock(lane->mutex);
    lane->closing = true;
    lane->changed.notify_one();
  }
  for (const auto& lane : lanes_) {
    if (lane->thread.joinable()) lane->thread.join();
    std::deque<std::function<void()>> dropped;
    const std::lock_guard lock(lane->mutex);
    lane->stopped = true;
    dropped.swap(lane->tasks);
  }
}

void FileThreads::post(size_t hash, std::function<void()> task) {
  Lane& lane = *lanes_[hash % lanes_.size()];
  const std::lock_guard lock(lane.mutex);
  if (lane.stopped) return;
  lane.tasks.push_back(std::move(task));
  lane.changed.notify_one();
}

bool FileThreads::advance() {
  bool all = true;
  for (const auto& lane : lanes_) all = lane->pulse.advanced() && all;
  return all;
}

void FileThreads::serve(Lane& lane) {
  std::unique_lock lock(lane.mutex);
  for (;;) {
    lane.changed.wait(lock, [&] { return lane.closing || !lane.tasks.empty(); });
    if (lane.tasks.empty()) return;
    std::function<void()> task = std::move(lane.tasks.front());
    lane.tasks.pop_front();
    lock.unlock();
    {
      const Pulse::Work work(lane.pulse);
      task();
      task = nullptr;  // what it holds goes without the lock
    }
    lock.lock();
  }
}

}  // namespace skewscope::gather
