// Four layers, each against what the others let pass: priorities and rlimits against exhaustion, seccomp against the
// rest of the kernel and the network, Landlock against the rest of the file system, no_new_privs against set-uid
// programs. They are entered from the widest to the narrowest, because seccomp would forbid what entering the others
// needs.
#include "sandbox.h"

#include "src/gather/process/descriptor.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace skewscope::gather {
namespace {

constexpr uint64_t kLargestOutput = 64ull << 30;  // of a file, where nothing smaller was said
constexpr uint64_t kMostDescriptors = 4096;       // a report holds many traces open at once

Error cannot(const std::string& what) {
  return {ErrorKind::internal, "the sandbox cannot " + what + ": " + std::generic_category().message(errno)};
}

bool limit(__rlimit_resource_t resource, uint64_t value) {
  const rlimit both{value, value};
  return setrlimit(resource, &both) == 0;
}

bool limit_resources(const Sandbox& sandbox) {
  setpriority(PRIO_PROCESS, 0, 10);  // a wish, not a bound
  return (sandbox.memory == 0 || limit(RLIMIT_AS, sandbox.memory)) &&
         (sandbox.cpu_seconds == 0 || limit(RLIMIT_CPU, sandbox.cpu_seconds)) && limit(RLIMIT_CORE, 0) &&
         limit(RLIMIT_FSIZE, sandbox.room == 0 ? kLargestOutput : sandbox.room) &&
         limit(RLIMIT_NOFILE, kMostDescriptors);
}

constexpr uint64_t kReadAccess = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kWriteAccess = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                  LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                  LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SYM;
constexpr uint64_t kRest = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                           LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK;

bool allow(int ruleset, const char* path, uint64_t access) {
  const Descriptor opened(open(path, O_PATH | O_CLOEXEC));
  if (opened.get() < 0) return errno == ENOENT;  // what is not there needs no rule
  const landlock_path_beneath_attr rule{access, opened.get()};
  return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

// The system's word on processors and memory limits, which the parallel loader asks for.
constexpr const char* kSystemFacts[] = {"/proc/self", "/proc/meminfo", "/proc/cpuinfo", "/sys/devices/system",
                                        "/sys/fs/cgroup"};

Result<std::string> lock_files(const Sandbox& sandbox) {
  if (syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) < 0) {
    return std::string("the kernel has no Landlock: a report may read what the daemon may");
  }
  const landlock_ruleset_attr handled{kReadAccess | kWriteAccess | kRest};
  const int ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0));
  if (ruleset < 0) return cannot("make a Landlock ruleset");
  bool allowed = allow(ruleset, sandbox.readable.c_str(), kReadAccess) &&
                 allow(ruleset, sandbox.writable.c_str(), kReadAccess | kWriteAccess);
  for (const char* path : kSystemFacts) {
    const bool file = std::strncmp(path, "/proc/", 6) == 0 && std::strcmp(path, "/proc/self") != 0;
    allowed = allowed && allow(ruleset, path, file ? LANDLOCK_ACCESS_FS_READ_FILE : kReadAccess);
  }
  const bool entered = allowed && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  close(ruleset);
  if (!entered) return cannot("enter Landlock");
  return std::string();
}

// What no report needs. The rest of the kernel stays open to it: a list of all that a library may call would break
// with the next libc.
constexpr const char* kForbidden[] = {"socket",
                                      "socketpair",
                                      "connect",
                                      "bind",
                                      "accept",
                                      "accept4",
                                      "listen",
                                      "execve",
                                      "execveat",
                                      "ptrace",
                                      "process_vm_readv",
                                      "process_vm_writev",
                                      "process_madvise",
                                      "process_mrelease",
                                      "pidfd_open",
                                      "pidfd_getfd",
                                      "pidfd_send_signal",
                                      "kill",
                                      "tkill",
                                      "rt_sigqueueinfo",
                                      "rt_tgsigqueueinfo",
                                      "fork",
                                      "vfork",
                                      "setpriority",
                                      "ioprio_set",
                                      "sched_setattr",
                                      "sched_setparam",
                                      "sched_setscheduler",
                                      "mount",
                                      "umount2",
                                      "pivot_root",
                                      "chroot",
                                      "unshare",
                                      "setns",
                                      "bpf",
                                      "perf_event_open",
                                      "userfaultfd",
                                      "keyctl",
                                      "add_key",
                                      "request_key",
                                      "io_uring_setup",
                                      "init_module",
                                      "finit_module",
                                      "kexec_load",
                                      "open_by_handle_at",
                                      "swapon",
                                      "reboot"};

// The daemon has the same uid: signals, limits and processes would otherwise reach it.
bool forbid_with_arguments(scmp_filter_ctx filter) {
  const auto forbid = [&](int call, int error, scmp_arg_cmp argument) {
    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(static_cast<uint16_t>(error)), call, 1, &argument) == 0;
  };
  const auto self = static_cast<scmp_datum_t>(getpid());
  return forbid(SCMP_SYS(tgkill), EPERM, {0, SCMP_CMP_NE, self, 0}) &&  // abort() signals itself
         forbid(SCMP_SYS(prlimit64), EPERM, {0, SCMP_CMP_NE, 0, 0}) &&
         forbid(SCMP_SYS(clone), EPERM, {0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0}) &&  // threads, no processes
         seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;  // libc takes clone then
}

bool forbid_calls() {
  const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (filter == nullptr) return false;
  bool added = forbid_with_arguments(filter);
  for (const char* name : kForbidden) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number != __NR_SCMP_ERROR) added = added && seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0) == 0;
  }
  const bool loaded = added && seccomp_load(filter) == 0;
  seccomp_release(filter);
  return loaded;
}

}  // namespace

Result<std::string> enter_sandbox(const Sandbox& sandbox) {
  if (!limit_resources(sandbox)) return cannot("limit memory, time and files");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return cannot("renounce new privileges");
  auto missing = lock_files(sandbox);
  if (!missing.ok()) return missing;
  if (!forbid_calls()) return cannot("load its seccomp filter");
  return missing;
}

}  // namespace skewscope::gather
