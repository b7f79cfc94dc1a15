#include "cpu_share.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <thread>

namespace skewscope::ship {
namespace {

using std::chrono::milliseconds;

CpuShare::Nanoseconds used_by_us() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + CpuShare::Nanoseconds(used.tv_nsec);
}

CpuShare::Nanoseconds scaled(CpuShare::Nanoseconds time, double factor) {
  return CpuShare::Nanoseconds(static_cast<int64_t>(static_cast<double>(time.count()) * factor));
}

}  // namespace

void become_gentle() {
  constexpr int kProcess = 1, kIdleClass = 3, kClassShift = 13, kLowest = 19;
  setpriority(PRIO_PROCESS, 0, kLowest);
  syscall(SYS_ioprio_set, kProcess, 0, kIdleClass << kClassShift);
}

CpuShare::Nanoseconds CpuShare::due(Nanoseconds used, Moment now) {
  if (share_ == 0) return Nanoseconds(0);
  credit_ += scaled(now - asked_, share_) - (used - used_);
  credit_ = std::min(credit_, scaled(milliseconds(100), share_));
  used_ = used;
  asked_ = now;
  if (credit_.count() >= 0) return Nanoseconds(0);
  return std::max<Nanoseconds>(scaled(-credit_, 1 / share_), milliseconds(20));
}

bool CpuShare::rest(const std::function<bool()>& go_on, Nanoseconds used_elsewhere) {
  for (;; used_elsewhere = Nanoseconds(0)) {
    if (!go_on()) return false;
    Nanoseconds wait{};
    {
      const std::lock_guard lock(mutex_);
      elsewhere_ += used_elsewhere;
      wait = due(used_by_us() + elsewhere_, std::chrono::steady_clock::now());
    }
    if (wait.count() == 0) return true;
    std::this_thread::sleep_for(std::min<Nanoseconds>(wait, milliseconds(100)));
  }
}

}  // namespace skewscope::ship
