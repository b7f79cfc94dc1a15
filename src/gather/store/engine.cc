#include "engine.h"

#include <cstring>
#include <ctime>

#include "skewscope/base/file_text.h"

namespace skewscope::gather {

Engine::Engine(StoreOptions options, std::unique_ptr<FileSystem> owned, FileSystem& files)
    : options_(std::move(options)),
      settings_({options_.limits, options_.retention}),
      owned_files_(std::move(owned)),
      files_(files) {
  // "" where /proc does not tell.
  if (options_.boot.empty()) options_.boot = file_text("/proc/sys/kernel/random/boot_id").value_or("");
}

Time Engine::now() const {
  const Time time = options_.now ? options_.now() : wall_clock();
  for (Time latest = latest_; time > latest && !latest_.compare_exchange_weak(latest, time);) {
  }
  return time;
}

bool Engine::went_back() {
  const Time latest = latest_, wall = now();
  if (wall >= latest) return false;
  latest_ = wall;
  return true;
}

std::chrono::seconds Engine::running() const {
  if (options_.running) return options_.running();
  if (options_.now) return options_.now().time_since_epoch();
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return std::chrono::seconds(time.tv_sec);
}

Aging Engine::at_present(Aging aging) const {
  const Time wall = now();
  aging.look(wall, running());
  return aging;
}

void Engine::fail(const std::string& why) {
  if (!failed_.exchange(true) && options_.failed) options_.failed(why);
}

Refusal Engine::refusal_of(int error, const std::string& what) {
  if (error == 0) return Refusal::none;
  if (is_full(error)) return Refusal::no_space;
  if (is_short_of_descriptors(error)) return Refusal::unavailable;
  fail(what + ": " + std::strerror(error));
  return Refusal::unavailable;
}

void Engine::start(std::unique_ptr<Manifest> manifest, CommitThread::Hooks hooks) {
  commits_ = std::make_unique<CommitThread>(files_, std::move(manifest), std::move(hooks));
  file_threads_ = std::make_unique<FileThreads>(options_.file_threads);
}

// Operations hop between the file threads and the commit thread: both go only when no upload has one left.
void Engine::stop() {
  {
    std::unique_lock lock(landing_);
    all_landed_.wait(lock, [&] { return in_flight_ == 0; });
  }
  file_threads_.reset();
  commits_.reset();
}

void Engine::on_file_thread(const std::string& id, std::function<void()> task) {
  ++in_flight_;
  file_threads_->post(std::hash<std::string>()(id), [this, task = std::move(task)]() mutable {
    task();
    task = nullptr;
    landed();
  });
}

void Engine::post(Change change) {
  ++in_flight_;
  change.done = [this, done = std::move(change.done)](Refusal refusal) {
    done(refusal);
    landed();
  };
  commits_->post(std::move(change));
}

void Engine::landed() {
  if (--in_flight_ > 0) return;
  const std::lock_guard lock(landing_);
  all_landed_.notify_all();
}

bool Engine::advances() {
  const bool commits = commits_->advances(), writes = file_threads_->advance();
  return commits && writes;
}

void Engine::changed(const std::string& job) {
  const std::function<void(const std::string&)> hook = *hook_.lock();
  if (hook) hook(job);
}

}  // namespace skewscope::gather
