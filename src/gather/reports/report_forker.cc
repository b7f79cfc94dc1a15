// Threads and fork do not mix, and a daemon's memory holds keys: so a small process is forked while the daemon still
// has one thread and no secret, and forks each report from itself. The daemon and the forker speak JSON over a socket
// pair that keeps message boundaries: {id, traces, output, job, threads, memory, world_size, room, hosts,
// aligned_trace, with_more} one way, {id, exit_code} the other. The forker ends reports that take too long or too much
// of the disk: no file of one may grow beyond its room, and all of them together are looked at some times a second. It
// ends, and ends its reports, when the daemon's end of the socket closes.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>

#include "reports.h"
#include "sandbox.h"
#include "skewscope/gather/report_folder.h"
#include "src/gather/process/descriptor.h"

namespace skewscope::gather {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr size_t kLargestMessage = 64 << 10;
constexpr int kTooLong = 124, kInternal = 70;
constexpr int kLookEvery_ms = 100;
constexpr uint64_t kMostThreads = 64;  // of a report: so many times its time limit is what they compute at most

bool send_json(int socket, const Json& message) {
  const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  ssize_t sent = -1;
  do {
    sent = send(socket, text.data(), text.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(text.size());
}

// Null at the end of the conversation.
Json receive_json(int socket) {
  std::string text(kLargestMessage, '\0');
  ssize_t length = -1;
  do {
    length = recv(socket, text.data(), text.size(), 0);
  } while (length < 0 && errno == EINTR);
  if (length <= 0) return {};
  text.resize(static_cast<size_t>(length));
  return Json::parse(text, nullptr, false);
}

struct Running {
  int id = 0;
  Clock::time_point deadline;
  std::string output;
  uint64_t room = 0;
  std::optional<int> ended_as;  // by the forker, and why
};

// The bytes of a report that is being made, under whatever name.
uint64_t bytes_of(const std::string& output) {
  namespace fs = std::filesystem;
  const std::string name = fs::path(output).filename().string();
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator place(fs::path(output).parent_path(), error), end; place != end && !error;
       place.increment(error)) {
    const std::string entry = place->path().filename().string();
    if (entry != name && !entry.starts_with(name + ".partial")) continue;
    std::error_code gone;
    for (fs::recursive_directory_iterator file(place->path(), gone), last; file != last && !gone;
         file.increment(gone)) {
      std::error_code ignored;
      const uint64_t size = file->is_regular_file(ignored) ? file->file_size(ignored) : 0;
      if (!ignored) bytes += size;
    }
  }
  return bytes;
}

// The report was whole before its process ended so: what came with it and was not done goes, and the rest counts. The
// log says what happened. What the process has put there may be links: none is followed.
bool keep_whole_report(const std::string& output, int exit_code) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::exists(output + "/COMPLETE", error)) return false;
  for (const fs::path& folder : {fs::path(output), fs::path(output) / kCaptureReports}) {
    if (!fs::is_directory(fs::symlink_status(folder, error))) continue;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      std::error_code ignored;
      if (entry.path().filename().string().find(".partial") != std::string::npos) fs::remove_all(entry, ignored);
    }
  }
  const Descriptor log(open((output + ".log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  dprintf(log.get(), "what was to come with the report is not there: its process ended with code %d\n", exit_code);
  return true;
}

// The report's own process, from here to its end.
[[noreturn]] void make_one(const ReportTask& task, const MakeReport& make_report, uint64_t cpu_seconds) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int log = open((task.output + ".log").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (log >= 0) dup2(log, STDOUT_FILENO), dup2(log, STDERR_FILENO);
  closefrom(3);
  const std::string writable = std::filesystem::path(task.output).parent_path().string();
  const auto missing = enter_sandbox({task.traces, writable, task.memory, cpu_seconds, task.room});
  int code = kInternal;
  if (!missing.ok()) {
    std::fprintf(stderr, "%s\n", missing.error().message.c_str());
  } else {
    if (!missing.value().empty()) std::fprintf(stderr, "%s\n", missing.value().c_str());
    try {
      code = make_report(task);
    } catch (const std::bad_alloc&) {
      code = kReportOutOfMemory;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
  }
  std::fflush(nullptr);
  _exit(code);
}

class ForkerProcess {
 public:
  ForkerProcess(int socket, const GatherOptions& options, const MakeReport& make_report)
      : socket_(socket), limit_(options.report_time), make_report_(make_report) {}

  [[noreturn]] void serve() {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, nullptr);
    const int ended = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    bool open = ended >= 0;
    while (open) {
      pollfd both[2] = {{socket_, POLLIN, 0}, {ended, POLLIN, 0}};
      poll(both, 2, running_.empty() ? -1 : kLookEvery_ms);
      if (both[0].revents != 0) open = take_task();
      if (both[1].revents != 0) {
        signalfd_siginfo ignored;
        while (read(ended, &ignored, sizeof ignored) > 0) continue;
      }
      end_what_is_over();
      reap();
    }
    for (const auto& [pid, one] : running_) kill(-pid, SIGKILL);
    _exit(0);
  }

 private:
  bool take_task() {
    const Json message = receive_json(socket_);
    if (!message.is_object()) return false;
    const ReportTask task{message["traces"],        message["output"],     message["job"],  message["threads"],
                          message["memory"],        message["world_size"], message["room"], message["hosts"],
                          message["aligned_trace"], message["with_more"]};
    const pid_t pid = fork();
    if (pid == 0) make_one(task, make_report_, static_cast<uint64_t>(limit_.count()) * kMostThreads);
    const int id = message["id"];
    if (pid < 0) return send_json(socket_, {{"id", id}, {"exit_code", kCannotFork}});
    setpgid(pid, pid);
    running_[pid] = {id, Clock::now() + limit_, task.output, task.room, {}};
    return true;
  }

  void end_what_is_over() {
    for (auto& [pid, one] : running_) {
      if (one.ended_as) continue;
      if (Clock::now() >= one.deadline) one.ended_as = kTooLong;
      if (one.room > 0 && bytes_of(one.output) > one.room) one.ended_as = kReportTooLarge;
      if (one.ended_as) kill(-pid, SIGKILL);
    }
  }

  static int code_of(const Running& one, int status) {
    if (one.ended_as) return *one.ended_as;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    return WTERMSIG(status) == SIGXFSZ ? kReportTooLarge : 128 + WTERMSIG(status);
  }

  void reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto found = running_.find(pid);
      if (found == running_.end()) continue;
      int code = code_of(found->second, status);
      const bool cut_short = code != 0 && code != kReportInPart;
      if (cut_short && keep_whole_report(found->second.output, code)) code = kReportInPart;
      send_json(socket_, {{"id", found->second.id}, {"exit_code", code}});
      running_.erase(found);
    }
  }

  int socket_;
  std::chrono::seconds limit_;
  const MakeReport& make_report_;
  std::map<pid_t, Running> running_;
};

// The daemon's end.
class Forker : public ReportForker {
 public:
  Forker(int socket, pid_t child) : socket_(socket), child_(child) {}

  ~Forker() override {
    Forker::stop();
    close(socket_);
    waitpid(child_, nullptr, 0);
  }

  void stop() override {
    shutdown(socket_, SHUT_RDWR);
    if (listener_.joinable()) listener_.join();
  }

  void run(const ReportTask& task, std::function<void(int)> done) override {
    int id = 0;
    if (gone_) return done(kForkerGone);
    {
      const std::lock_guard lock(mutex_);
      if (!listener_.joinable()) listener_ = std::thread([this] { listen(); });
      id = ++last_id_;
      waiting_[id] = std::move(done);
    }
    const Json message = {{"id", id},
                          {"traces", task.traces},
                          {"output", task.output},
                          {"job", task.job},
                          {"threads", task.threads},
                          {"memory", task.memory},
                          {"world_size", task.world_size},
                          {"room", task.room},
                          {"hosts", task.hosts},
                          {"aligned_trace", task.aligned_trace},
                          {"with_more", task.with_more}};
    if (!send_json(socket_, message) || gone_) tell(id, kForkerGone);
  }

  bool alive() const override {
    siginfo_t end{};
    const bool asked = waitid(P_PID, static_cast<id_t>(child_), &end, WEXITED | WNOHANG | WNOWAIT) == 0;
    return !gone_ && asked && end.si_pid == 0;
  }

 private:
  void listen() {
    for (Json message = receive_json(socket_); message.is_object(); message = receive_json(socket_)) {
      tell(message["id"], message["exit_code"]);
    }
    gone_ = true;
    std::map<int, std::function<void(int)>> orphans;
    {
      const std::lock_guard lock(mutex_);
      orphans.swap(waiting_);
    }
    for (const auto& [id, done] : orphans) done(kForkerGone);
  }

  void tell(int id, int exit_code) {
    std::function<void(int)> done;
    {
      const std::lock_guard lock(mutex_);
      const auto found = waiting_.find(id);
      if (found == waiting_.end()) return;
      done = std::move(found->second);
      waiting_.erase(found);
    }
    done(exit_code);
  }

  int socket_;
  pid_t child_;
  std::atomic<bool> gone_{false};  // nobody listens to what it says
  std::mutex mutex_;
  std::thread listener_;  // started with the first report: the daemon has one thread until it serves
  int last_id_ = 0;
  std::map<int, std::function<void(int)>> waiting_;
};

}  // namespace

Result<std::unique_ptr<ReportForker>> ReportForker::start(const GatherOptions& options, const MakeReport& make_report) {
  int ends[2] = {-1, -1};
  const Error failed{ErrorKind::internal, "cannot start the process that makes reports"};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return failed;
  const pid_t child = fork();
  if (child < 0) return failed;
  if (child == 0) {
    if (ends[1] != 3) dup2(ends[1], 3);
    closefrom(4);
    ForkerProcess(3, options, make_report).serve();
  }
  close(ends[1]);
  return std::unique_ptr<ReportForker>(std::make_unique<Forker>(ends[0], child));
}

}  // namespace skewscope::gather
