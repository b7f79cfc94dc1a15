#include "src/ship/digest_process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/temporary_folder.h"

using namespace skewscope;
using namespace skewscope::ship;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

// A shell script in place of skewscope: $1 is digest, $2 the trace, $4 the folder.
struct Played : test::Folder {
  DigestProcess process;
  CpuShare cpu{0};

  explicit Played(const std::string& script) : Folder("digest_process") {
    std::filesystem::create_directories(path);
    std::ofstream(path / "trace") << "of the trace";
    std::ofstream(path / "program") << "#!/bin/sh\n" + script + "\n";
    chmod((path / "program").c_str(), 0700);
    process.program = (path / "program").string();
    process.descriptor = open((path / "trace").c_str(), O_RDONLY | O_CLOEXEC);
    process.source = "/proc/self/fd/3";
    process.folder = (path / "made").string();
    process.most_memory = uint64_t{1} << 30;
    process.most_bytes = 1 << 20;
    process.most_cpu = 10s;
    process.deadline = Clock::now() + 60s;
  }
  ~Played() { close(process.descriptor); }
  Played(const Played&) = delete;
  Played& operator=(const Played&) = delete;

  Result<Done> run(const std::function<bool()>& go_on = [] { return true; }) {
    return run_digest_process(process, cpu, go_on);
  }
};

constexpr const char* kBusy = "while :; do :; done";

}  // namespace

TEST_CASE("the process that makes a digest has the trace, its limits and nothing else of the agent") {
  Played played(
      R"(cat "$2" > "$0.trace"; ulimit -v > "$0.memory"; ls -l /proc/$$/fd > "$0.open"; echo "$1 $3 $4" > "$0.asked")");
  const int secret = open((played.path / "secret").c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(played.run().ok());
  close(secret);
  const auto said = [&](const std::string& what) {
    std::ifstream file(played.process.program + what);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  CHECK(said(".trace") == "of the trace");
  CHECK(said(".memory") == "1048576\n");
  CHECK(said(".asked") == "digest -o " + played.process.folder + "\n");
  CHECK(said(".open").find("/trace") != std::string::npos);
  CHECK(said(".open").find("/secret") == std::string::npos);
}

TEST_CASE("a digest that needs more than it may have is an error that says so") {
  SECTION("memory") {
    const auto made = Played("exit 6").run();
    REQUIRE_FALSE(made.ok());
    CHECK(made.error().kind == ErrorKind::resource_limit);
    CHECK(made.error().message.find("memory") != std::string::npos);
  }
  SECTION("time of a processor") {
    Played played(kBusy);
    played.process.most_cpu = 1s;
    const auto made = played.run();
    REQUIRE_FALSE(made.ok());
    CHECK(made.error().message.find("1 s of a processor") != std::string::npos);
  }
  SECTION("time") {
    Played played("exec sleep 60");
    played.process.deadline = Clock::now() + 100ms;
    const auto made = played.run();
    REQUIRE_FALSE(made.ok());
    CHECK(made.error().kind == ErrorKind::resource_limit);
  }
  SECTION("room") {
    Played played(R"(head -c 2000000 /dev/zero > "$0.large"; exit 3)");
    CHECK_FALSE(played.run().ok());
    CHECK(std::filesystem::file_size(played.process.program + ".large") <= 1 << 20);
  }
}

TEST_CASE("a program that fails, or is not there, is an error, and one that is to stop ends") {
  CHECK(Played("exit 3").run().error().kind == ErrorKind::no_input);
  CHECK_FALSE(Played("kill -SEGV $$").run().ok());
  Played missing("");
  missing.process.program += ".missing";
  CHECK(missing.run().error().kind == ErrorKind::internal);
  Played stopped("exec sleep 60");
  const auto begin = Clock::now();
  CHECK_FALSE(stopped.run([&] { return Clock::now() < begin + 100ms; }).ok());
  CHECK(Clock::now() - begin < 30s);
}

TEST_CASE("the process that makes a digest keeps within the agent's share of a processor") {
  Played played(kBusy);
  CpuShare tenth(0.1);
  rusage before{}, after{};
  getrusage(RUSAGE_CHILDREN, &before);
  const auto begin = Clock::now();
  CHECK_FALSE(run_digest_process(played.process, tenth, [&] { return Clock::now() < begin + 2s; }).ok());
  const std::chrono::duration<double> wall = Clock::now() - begin;
  getrusage(RUSAGE_CHILDREN, &after);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  const double used =
      seconds(after.ru_utime) - seconds(before.ru_utime) + seconds(after.ru_stime) - seconds(before.ru_stime);
  CHECK(used / wall.count() < 0.15);
}
