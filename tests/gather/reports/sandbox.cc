// What a process in the sandbox can do to the daemon, which has the same uid. Each attempt runs in a process of its
// own.
#include "src/gather/reports/sandbox.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <functional>
#include <thread>

#include "tests/temporary_folder.h"

namespace skewscope::gather {
namespace {

// What `attempt` returns there, or 200 where the sandbox could not be entered.
int in_sandbox(const std::function<int()>& attempt) {
  const skewscope::test::Folder folder("sandbox");
  const pid_t child = fork();
  if (child == 0) {
    const bool entered = enter_sandbox({folder.path.string(), folder.path.string(), 0, 60}).ok();
    _exit(entered ? attempt() : 200);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int error_of(long result) { return result < 0 ? errno : 0; }

}  // namespace

TEST_CASE("from the sandbox no signal reaches another process") {
  siginfo_t info{};
  info.si_code = SI_QUEUE;
  CHECK(in_sandbox([&] { return error_of(kill(getppid(), 0)); }) == EPERM);
  CHECK(in_sandbox([&] { return error_of(syscall(SYS_tgkill, getppid(), getppid(), 0)); }) == EPERM);
  CHECK(in_sandbox([&] { return error_of(syscall(SYS_rt_sigqueueinfo, getppid(), 0, &info)); }) == EPERM);
  CHECK(in_sandbox([&] { return error_of(syscall(SYS_rt_tgsigqueueinfo, getppid(), getppid(), 0, &info)); }) == EPERM);
  CHECK(in_sandbox([]() -> int { std::signal(SIGABRT, SIG_DFL), std::abort(); }) == 128 + SIGABRT);
}

TEST_CASE("from the sandbox no limit and no priority of another process changes") {
  const rlimit none{0, 0};
  CHECK(in_sandbox([&] { return error_of(prlimit(getppid(), RLIMIT_NOFILE, &none, nullptr)); }) == EPERM);
  CHECK(in_sandbox([&] { return error_of(setpriority(PRIO_PROCESS, static_cast<id_t>(getppid()), 19)); }) == EPERM);
  CHECK(in_sandbox([&] { return error_of(setrlimit(RLIMIT_CORE, &none)); }) == 0);
}

TEST_CASE("in the sandbox there are threads, and no further process") {
  CHECK(in_sandbox([] { return error_of(fork()); }) == EPERM);
  CHECK(in_sandbox([] { return error_of(vfork()); }) == EPERM);
#if !SKEWSCOPE_SANITIZE  // which starts threads with calls of its own
  CHECK(in_sandbox([] {
          int sum = 0;
          std::thread([&] { sum = 3; }).join();
          return sum;
        }) == 3);
#endif
}

}  // namespace skewscope::gather
