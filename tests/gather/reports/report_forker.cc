// What a report's process may and may not do. Each attempt runs in a real process of the forker.
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <set>
#include <thread>
#include <vector>

#include "src/gather/reports/reports.h"
#include "tests/temporary_folder.h"

namespace skewscope::gather {
namespace {

namespace fs = std::filesystem;

struct Folders {
  skewscope::test::Folder root{"forker"};
  std::string traces = root.path / "ranks", reports = root.path / "report";
  Folders() {
    fs::create_directories(traces);
    fs::create_directory(reports);
    std::ofstream(traces + "/r00000.json") << "{}";
    std::ofstream(root.path / "secret") << "token";
  }
  ReportTask task() const { return {traces, reports + "/g0001", "j", 2, 0}; }
};

int exit_code_of(const Folders& folders, const MakeReport& attempt,
                 std::chrono::seconds time = std::chrono::seconds(60), uint64_t memory = 0) {
  GatherOptions options;
  options.report_time = time;
  auto forker = ReportForker::start(options, attempt);
  REQUIRE(forker.ok());
  std::promise<int> code;
  ReportTask task = folders.task();
  task.memory = memory;
  forker.value()->run(task, [&](int exit_code) { code.set_value(exit_code); });
  return code.get_future().get();
}

TEST_CASE("a report's process reads the traces and writes its output") {
  const Folders folders;
  const auto copy = [](const ReportTask& task) {
    fs::create_directory(task.output);
    fs::copy_file(task.traces + "/r00000.json", task.output + "/report.json");
    return task.threads;
  };
  CHECK(exit_code_of(folders, copy) == 2);
  CHECK(fs::exists(folders.reports + "/g0001/report.json"));
}

TEST_CASE("a report that is whole stays when its process ends badly afterwards and what was under way goes") {
  const Folders folders;
  const auto die = [](const ReportTask& task) -> int {
    fs::create_directories(task.output + "/captures/c0001");
    fs::create_directories(task.output + "/captures/c0000.partial-7");
    std::ofstream(task.output + "/aligned.partial") << "half";
    std::ofstream(task.output + "/COMPLETE") << "done";
    std::abort();
  };
  CHECK(exit_code_of(folders, die) == kReportInPart);
  std::set<std::string> left;
  for (const auto& entry : fs::recursive_directory_iterator(folders.reports)) {
    left.insert(fs::relative(entry.path(), folders.reports));
  }
  CHECK(left ==
        std::set<std::string>{"g0001", "g0001.log", "g0001/COMPLETE", "g0001/captures", "g0001/captures/c0001"});
  std::ifstream log(folders.reports + "/g0001.log");
  const std::string said((std::istreambuf_iterator<char>(log)), std::istreambuf_iterator<char>());
  CHECK(said.find("what was to come with the report is not there: its process ended with code 134") !=
        std::string::npos);
}

TEST_CASE("what is under way is removed behind no link that a report's process has made") {
  const Folders folders;
  fs::create_directory(folders.root.path / "elsewhere");
  std::ofstream(folders.root.path / "elsewhere/a.partial") << "not the report's";
  const auto die = [](const ReportTask& task) -> int {
    fs::create_directories(task.output);
    fs::create_directory_symlink("../../elsewhere", task.output + "/captures");
    std::ofstream(task.output + "/COMPLETE") << "done";
    std::abort();
  };
  CHECK(exit_code_of(folders, die) == kReportInPart);
  CHECK(fs::exists(folders.root.path / "elsewhere/a.partial"));
}

TEST_CASE("a report's process writes no trace and reads nothing else") {
  const Folders folders;
  const auto write = [](const ReportTask& task) {
    return std::ofstream(task.traces + "/r00000.json").is_open() ? 1 : 0;
  };
  CHECK(exit_code_of(folders, write) == 0);
  const std::string secret = folders.root.path / "secret";
  const auto read = [&](const ReportTask&) { return std::ifstream(secret).is_open() ? 1 : 0; };
  CHECK(exit_code_of(folders, read) == 0);
  const auto parent = [](const ReportTask&) {
    return std::ifstream("/proc/" + std::to_string(getppid()) + "/environ").is_open() ? 1 : 0;
  };
  CHECK(exit_code_of(folders, parent) == 0);
}

TEST_CASE("a report's process opens no socket and starts no program") {
  const Folders folders;
  CHECK(exit_code_of(folders, [](const ReportTask&) { return socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0; }) ==
        EPERM);
  CHECK(exit_code_of(folders, [](const ReportTask&) { return execl("/bin/true", "true", nullptr) < 0 ? errno : 0; }) ==
        EPERM);
  CHECK(exit_code_of(folders, [](const ReportTask&) { return kill(getppid(), 0) < 0 ? errno : 0; }) == EPERM);
}

TEST_CASE("a report's process inherits no descriptor of the daemon") {
  const Folders folders;
  const int held = dup(STDERR_FILENO);
  CHECK(exit_code_of(folders, [=](const ReportTask&) { return write(held, "", 0) < 0 ? errno : 0; }) == EBADF);
  close(held);
}

TEST_CASE("a report that takes too long is ended, with its threads") {
  const Folders folders;
  const auto sleep = [](const ReportTask&) {
    std::thread other([] { std::this_thread::sleep_for(std::chrono::hours(1)); });
    other.join();
    return 0;
  };
  CHECK(exit_code_of(folders, sleep, std::chrono::seconds(1)) == 124);
}

TEST_CASE("a report that crashes says by which signal, and the next one runs") {
  const Folders folders;
  GatherOptions options;
  auto forker = ReportForker::start(options, [](const ReportTask& task) {
    if (task.threads == 2) std::abort();
    return 0;
  });
  REQUIRE(forker.ok());
  for (const int threads : {2, 1}) {
    std::promise<int> code;
    ReportTask task = folders.task();
    task.threads = threads;
    forker.value()->run(task, [&](int exit_code) { code.set_value(exit_code); });
    CHECK(code.get_future().get() == (threads == 2 ? 128 + SIGABRT : 0));
  }
}

TEST_CASE("what a report says goes to a log beside its output, and an exception is its end alone") {
  const Folders folders;
  const auto fail = [](const ReportTask&) -> int { throw std::runtime_error("no rank in these files"); };
  CHECK(exit_code_of(folders, fail) == 70);
  std::ifstream log(folders.reports + "/g0001.log");
  std::string line;
  std::getline(log, line);
  CHECK(line == "no rank in these files");
}

#if !SKEWSCOPE_SANITIZE  // which needs terabytes of address space
TEST_CASE("a report that wants more memory than it may have ends with the code for it") {
  const Folders folders;
  const auto take = [](const ReportTask&) { return static_cast<int>(std::vector<char>(1ull << 30, 'x').size() & 1); };
  CHECK(exit_code_of(folders, take, std::chrono::seconds(60), 512ull << 20) == 6);
}
#endif

TEST_CASE("stopping ends what runs and tells every caller") {
  const Folders folders;
  GatherOptions options;
  auto forker = ReportForker::start(options, [](const ReportTask&) {
    std::this_thread::sleep_for(std::chrono::hours(1));
    return 0;
  });
  REQUIRE(forker.ok());
  std::promise<int> code;
  forker.value()->run(folders.task(), [&](int exit_code) { code.set_value(exit_code); });
  forker.value()->stop();
  CHECK(code.get_future().get() == kForkerGone);
}

// The child of this process, which has one thread that forks.
pid_t only_child() {
  pid_t child = -1;
  std::ifstream("/proc/self/task/" + std::to_string(getpid()) + "/children") >> child;
  return child;
}

TEST_CASE("when the forker dies, its callers are told so, and whoever asks") {
  const Folders folders;
  GatherOptions options;
  auto forker = ReportForker::start(options, [](const ReportTask&) {
    std::this_thread::sleep_for(std::chrono::hours(1));
    return 0;
  });
  REQUIRE(forker.ok());
  CHECK(forker.value()->alive());
  std::promise<int> running, late;
  forker.value()->run(folders.task(), [&](int exit_code) { running.set_value(exit_code); });
  REQUIRE(kill(only_child(), SIGKILL) == 0);
  CHECK(running.get_future().get() == kForkerGone);
  CHECK_FALSE(forker.value()->alive());
  forker.value()->run(folders.task(), [&](int exit_code) { late.set_value(exit_code); });
  CHECK(late.get_future().get() == kForkerGone);
}

TEST_CASE("a forker that cannot fork says so, and that it lives") {
  const Folders folders;
  GatherOptions options;
  auto forker = ReportForker::start(options, [](const ReportTask&) { return 0; });
  REQUIRE(forker.ok());
  const rlimit none{0, 0};
  if (getuid() == 0) return;  // whom no limit of processes holds
  REQUIRE(prlimit(only_child(), RLIMIT_NPROC, &none, nullptr) == 0);
  std::promise<int> code;
  forker.value()->run(folders.task(), [&](int exit_code) { code.set_value(exit_code); });
  CHECK(code.get_future().get() == kCannotFork);
  CHECK(forker.value()->alive());
}

}  // namespace
}  // namespace skewscope::gather
