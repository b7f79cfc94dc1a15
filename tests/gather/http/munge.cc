// With a libmunge that says what the test wants, and with Debian's munged where it is installed.
#include "src/gather/http/munge.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "tests/temporary_folder.h"

namespace skewscope::gather {
namespace {

const std::string kMe = std::to_string(::geteuid());
const std::string kPayload = "ss1|head|job-1.0|0123456789abcdef";

MungeAnswer fake_answer(const std::string& credential, const std::string& server = "head") {
  return Munge::load(FAKE_LIBMUNGE).value()->decode(credential, server);
}

std::string reason(const std::string& credential, const std::string& server = "head") {
  const MungeAnswer answer = fake_answer(credential, server);
  CHECK(!answer.identity);
  CHECK(!answer.unavailable);
  return answer.reason;
}

TEST_CASE("a MUNGE credential says who made it and for which job") {
  const MungeAnswer answer = fake_answer("0 1234 " + kMe + " 60 " + kPayload);
  REQUIRE(answer.identity);
  CHECK(answer.identity->uid == 1234);
  CHECK(answer.identity->job == "job-1.0");
}

TEST_CASE("a MUNGE credential that munged refuses is refused, whatever it encloses") {
  const std::string rest = " 1234 " + kMe + " 60 " + kPayload;
  CHECK(reason("15" + rest) == "the MUNGE credential has expired");
  CHECK(reason("16" + rest) == "the MUNGE credential comes from the future: a clock is wrong");
  CHECK(reason("17" + rest) == "the MUNGE credential was used before");
  CHECK(reason("18" + rest) == "the MUNGE credential is for another user");
  CHECK(reason("14" + rest) == "this is no valid MUNGE credential");
  CHECK(reason("99" + rest) == "this is no valid MUNGE credential");
  CHECK(reason("") == "this is no valid MUNGE credential");
  CHECK(reason(std::string(4097, '0')) == "the MUNGE credential is too long");
}

TEST_CASE("a MUNGE credential that another could have decoded, or that lives long, is refused") {
  CHECK(reason("0 1234 4294967295 60 " + kPayload) == "the MUNGE credential is not restricted to the daemon's user");
  CHECK(reason("0 1234 77 60 " + kPayload) == "the MUNGE credential is not restricted to the daemon's user");
  CHECK(reason("0 1234 " + kMe + " 61 " + kPayload) == "the MUNGE credential lives longer than 60 s");
  CHECK(reason("0 1234 " + kMe + " -1 " + kPayload) == "the MUNGE credential lives longer than 60 s");
}

TEST_CASE("a MUNGE credential counts for the server, the job and the protocol that it names") {
  const std::string why = "the MUNGE credential was not made for this server";
  CHECK(reason("0 1 " + kMe + " 60 " + kPayload, "head2") == why);
  for (const char* payload :
       {"ss1|head|job", "ss1|head|job|short", "ss2|head|job|0123456789abcdef", "ss1|head||0123456789abcdef",
        "ss1|head|../job|0123456789abcdef", "ss1|head|job|0123456789abcdef|", "|ss1|head|job|0123456789abcdef", "",
        "|||", "ss1|head|job|0123456789abcde/", "ss1||job|0123456789abcdef"}) {
    INFO(payload);
    CHECK(reason("0 1 " + kMe + " 60 " + payload) == why);
  }
}

TEST_CASE("a MUNGE credential asks for the token of its user with @ in place of a job") {
  const MungeAnswer answer = fake_answer("0 1000 " + kMe + " 60 ss1|head|@|0123456789abcdef");
  REQUIRE(answer.identity);
  CHECK(answer.identity->uid == 1000);
  CHECK(answer.identity->job == kOwnJobs);
  for (const char* payload : {"ss1|head|@1000|0123456789abcdef", "ss1|head|@@|0123456789abcdef"}) {
    CHECK(reason("0 1 " + kMe + " 60 " + payload) == std::string("the MUNGE credential was not made for this server"));
  }
}

TEST_CASE("without munged nobody is refused for good") {
  const MungeAnswer answer = fake_answer("6 1 " + kMe + " 60 " + kPayload);
  CHECK(answer.unavailable);
  CHECK(!answer.identity);
}

TEST_CASE("without libmunge the error names Debian's package") {
  CHECK_THAT(Munge::load("libmunge_is_not_there.so.2").error().message, Catch::Contains("apt-get install munge"));
  CHECK_THAT(Munge::load("libc.so.6").error().message, Catch::Contains("libmunge2"));
}

// A munged of the test's own; none where Debian's package munge is not installed.
class Munged {
 public:
  Munged() : folder_("munged") {
    std::filesystem::create_directories(folder_.path);
    std::ofstream(path("key")) << std::string(64, 'k');
    ::chmod(path("key").c_str(), 0600);
    std::string command = "exec munged --foreground --force --socket=" + path("s") + " --key-file=" + path("key") +
                          " --log-file=" + path("log") + " --pid-file=" + path("pid") + " --seed-file=" + path("seed") +
                          " >/dev/null 2>&1";
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
    for (int i = 0; i < 200 && !std::filesystem::exists(path("s")); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  ~Munged() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  Munged(const Munged&) = delete;
  Munged& operator=(const Munged&) = delete;

  bool runs() const { return std::filesystem::exists(path("s")); }
  std::string path(const char* name) const { return folder_.path / name; }
  // As `munge` on the command line makes it.
  std::string credential(const std::string& payload, const std::string& options) const {
    const std::string command = "munge -S " + path("s") + " -s '" + payload + "' " + options;
    FILE* const out = ::popen(command.c_str(), "r");
    std::string text(4096, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), out));
    ::pclose(out);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }

 private:
  skewscope::test::Folder folder_;
  pid_t pid_ = -1;
};

TEST_CASE("munged's own credentials are read, once each, within their bounds") {
  const Result<std::unique_ptr<Munge>> none = Munge::load();
  const Munged munged;
  if (!none.ok() || !munged.runs()) {
    WARN("skipped: munged does not run here (Debian's package munge)");
    return;
  }
  const auto munge = Munge::load("libmunge.so.2", munged.path("s"));
  const auto answer = [&](const std::string& credential) { return munge.value()->decode(credential, "head"); };
  const std::string good = munged.credential(kPayload, "-t 60 -u " + kMe);
  const MungeAnswer first = answer(good);
  REQUIRE(first.identity);
  CHECK(first.identity->uid == ::geteuid());
  CHECK(first.identity->job == "job-1.0");
  CHECK(answer(good).reason == std::string("the MUNGE credential was used before"));
  CHECK(answer(good.substr(0, 60)).reason == std::string("this is no valid MUNGE credential"));
  CHECK_THAT(answer(munged.credential(kPayload, "-t 60")).reason, Catch::Contains("not restricted"));
  CHECK_THAT(answer(munged.credential(kPayload, "-t 61 -u " + kMe)).reason, Catch::Contains("longer than 60 s"));
  CHECK_THAT(answer(munged.credential(kPayload, "-t 60 -u 4242")).reason, Catch::Contains("another user"));
  CHECK_THAT(answer(munged.credential("ss1|other|j|0123456789abcdef", "-t 60 -u " + kMe)).reason,
             Catch::Contains("not made for this server"));
  CHECK(Munge::load("libmunge.so.2", munged.path("no_such_socket")).value()->decode(good, "head").unavailable);
}

}  // namespace
}  // namespace skewscope::gather
