#include "interruption.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "progress.h"

namespace skewscope::cli {
namespace {

namespace fs = std::filesystem;

struct Watch {
  std::atomic<bool> interrupted{false};
  std::mutex mutex;
  std::vector<std::string> partials;
};

// One per process, as signals are.
Watch& watch() {
  static Watch instance;
  return instance;
}

// The caller holds the mutex.
void remove_all_partials() {
  for (const std::string& partial : watch().partials) {
    std::error_code error;
    const std::string doomed = partial + ".removed";
    fs::rename(partial, doomed, error);
    if (!error) fs::remove_all(doomed, error);
  }
}

[[noreturn]] void end_by(int signal_number) {
  watch().interrupted = true;
  const std::lock_guard lock(watch().mutex);
  remove_all_partials();
  clear_progress();
  if (!watch().partials.empty()) std::fputs("skewscope: error: interrupted; nothing was written\n", stderr);
  _exit(128 + signal_number);
}

}  // namespace

void watch_for_interruption() {
  watch();
  signal(SIGXFSZ, SIG_IGN);  // a file size limit is a failed write, not an end
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] {
    int number = 0;
    if (sigwait(&signals, &number) == 0) end_by(number);
  }).detach();
}

void remove_when_interrupted(const std::string& partial) {
  const std::lock_guard lock(watch().mutex);
  watch().partials.push_back(partial);
}

void remove_partials() {
  const std::lock_guard lock(watch().mutex);
  remove_all_partials();
}

void yield_to_interruption() {
  while (watch().interrupted) pause();
}

}  // namespace skewscope::cli
