#include "digest_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

#include "skewscope/base/human_units.h"

namespace skewscope::ship {
namespace {

using Nanoseconds = CpuShare::Nanoseconds;

constexpr std::chrono::milliseconds kLook{20};
constexpr int kCannotStart = 127, kOutOfMemory = 6;  // of the program's exit codes

void limit(__rlimit_resource_t resource, uint64_t value, uint64_t beyond = 0) {
  const rlimit both{value, value + beyond};
  setrlimit(resource, &both);
}

// Between fork and exec, of a process that had threads: system calls alone.
[[noreturn]] void become(const DigestProcess& wanted, char* const* arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  limit(RLIMIT_AS, wanted.most_memory);
  limit(RLIMIT_CPU, static_cast<uint64_t>(wanted.most_cpu.count()), 1);  // at both at once it would be SIGKILL
  limit(RLIMIT_FSIZE, wanted.most_bytes);
  limit(RLIMIT_CORE, 0);
  const int nowhere = open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, standard);
  if (dup2(wanted.descriptor, kTraceDescriptor) != kTraceDescriptor) _exit(kCannotStart);
  fcntl(kTraceDescriptor, F_SETFD, 0);
  closefrom(kTraceDescriptor + 1);
  execv(wanted.program.c_str(), arguments);
  _exit(kCannotStart);
}

// Time of a processor that it has used; 0 once it is gone.
Nanoseconds used_by(pid_t process) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) return Nanoseconds(0);
  return std::chrono::seconds(used.tv_sec) + Nanoseconds(used.tv_nsec);
}

Result<Done> ended_well(int status, const DigestProcess& wanted) {
  const auto too_much = [](const std::string& what) {
    return Error{ErrorKind::resource_limit, "it takes more than " + what};
  };
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    if (number == SIGXCPU) return too_much(fmt::format("{} s of a processor", wanted.most_cpu.count()));
    if (std::chrono::steady_clock::now() >= wanted.deadline) return too_much("the time there is for it");
    return Error{ErrorKind::internal, fmt::format("its process, which may take {} of memory, was ended by signal {}",
                                                  human_bytes(static_cast<int64_t>(wanted.most_memory)), number)};
  }
  const int code = WEXITSTATUS(status);
  if (code == 0) return Done{};
  if (code == kOutOfMemory) return too_much(human_bytes(static_cast<int64_t>(wanted.most_memory)) + " of memory");
  if (code == kCannotStart) return Error{ErrorKind::internal, wanted.program + " cannot be started"};
  return Error{ErrorKind::no_input, fmt::format("skewscope digest ended with exit code {}", code)};
}

}  // namespace

Result<Done> run_digest_process(const DigestProcess& wanted, CpuShare& cpu, const std::function<bool()>& go_on) {
  std::vector<std::string> words = {wanted.program, "digest",  wanted.source, "-o", wanted.folder,
                                    "--force",      "--quiet", "--threads",   "1"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t process = fork();
  if (process < 0) return Error{ErrorKind::internal, std::string("no process: ") + std::strerror(errno)};
  if (process == 0) become(wanted, arguments.data());
  Nanoseconds counted{};
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    const Nanoseconds used = std::max(counted, used_by(process));
    kill(process, SIGSTOP);
    const bool wanted_still = cpu.rest(go_on, used - counted) && std::chrono::steady_clock::now() < wanted.deadline;
    kill(process, wanted_still ? SIGCONT : SIGKILL);
    counted = used;
    std::this_thread::sleep_for(kLook);
  }
  return ended_well(status, wanted);
}

}  // namespace skewscope::ship
