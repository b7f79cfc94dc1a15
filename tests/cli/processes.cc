// The program under mpirun: one report, one voice, one end.
#include <catch2/catch.hpp>
#include <regex>

#include "tests/real_trace_folder.h"
#include "workplace.h"

using namespace skewscope::test;

namespace {

const std::string kProgram = SKEWSCOPE_MPI_PROGRAM;  // "" where it is not built

// mpirun with `processes`; "" with a visible note where skewscope-mpi was not built, or nothing starts it.
std::string mpirun(int processes) {
  if (kProgram.empty() || place().run("", "command -v mpirun > /dev/null #").code != 0) {
    WARN("skipped: configured without SKEWSCOPE_MPI, or no mpirun (Debian: libopenmpi-dev, openmpi-bin)");
    return "";
  }
  // A session folder of its own: two at once make and remove the one that all of a user share.
  return "mpirun --allow-run-as-root --oversubscribe --mca orte_tmpdir_base " + (place() / "") + " -np " +
         std::to_string(processes);
}

Outcome run_joined(const std::string& arguments, const std::string& launcher) {
  return run_program(place() / "", arguments, launcher, kProgram);
}

// report.json but for what differs between equal runs.
std::string json_of(const std::string& report) {
  static const std::regex stamp("\"(created_utc|command)\": \"[^\n]*\"");
  return std::regex_replace(place().read(report + "/report.json"), stamp, "");
}

void check_equal(const std::string& report, const std::string& expected) {
  CHECK(place().has(report + "/COMPLETE"));
  CHECK(json_of(report) == json_of(expected));
  for (const auto& table : fs::directory_iterator(place() / (expected + "/tables"))) {
    const std::string name = "/tables/" + table.path().filename().string();
    INFO(name);
    CHECK(place().read(report + name) == place().read(expected + name));
  }
}

void check_processes(const std::string& traces, const std::string& name) {
  const std::string alone = name + "_alone";
  REQUIRE(place().run("report " + traces + " -o " + alone).code == 0);
  for (const int processes : {1, 2, 4, 7}) {
    const std::string report = name + std::to_string(processes);
    const Outcome r = run_joined("report " + traces + " -o " + report, mpirun(processes));
    INFO(processes << " processes: " << r.err);
    CHECK(r.code == 0);
    CHECK(r.err.empty());
    CHECK(r.out.find("Verdict") == r.out.rfind("Verdict"));  // one summary
    CHECK(says(r.out, "Verdict"));
    check_equal(report, alone);
  }
}

size_t times(const std::string& text, const std::string& words) {
  size_t count = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
  return count;
}

bool left_nothing(const std::string& report) {
  for (const auto& entry : fs::directory_iterator(place() / "")) {
    if (entry.path().filename().string().rfind(report, 0) == 0) return false;
  }
  return true;
}

// Two processes; `victim` is halted soon after it started, so that the other waits for it, and then killed.
Outcome kill_one(int victim, const std::string& report) {
  const std::string marked = "-np 1 sh -c 'echo $$ > victim; exec \"$@\"' sh \"$@\"", plain = "-np 1 \"$@\"";
  std::ofstream(place() / "kill_one.sh")
      << "rm -f victim\n"
      << "mpirun --allow-run-as-root --oversubscribe "
      << (victim == 0 ? marked + " : " + plain : plain + " : " + marked) << " &\n"
      << "until [ -s victim ]; do sleep 0.01; done; kill -STOP $(cat victim); sleep 1\n"
      << "kill -9 $(cat victim); wait $!\n";
  return run_joined("report traces -o " + report, "sh kill_one.sh");
}

}  // namespace

TEST_CASE("mpirun with any number of processes, more than there are files too, writes the report of one") {
  if (!mpirun(1).empty()) check_processes("traces", "together");
}

TEST_CASE("mpirun writes the report of one process for a real job of eight ranks") {
  const std::string real = traces("dlrm_8rank");
  if (!real.empty() && !mpirun(1).empty()) check_processes(fs::absolute(real).string(), "real");
}

TEST_CASE("under mpirun an error is told once and ends all with its exit code") {
  if (mpirun(1).empty()) return;
  const auto check = [](const std::string& arguments, int code, const std::string& message) {
    const Outcome r = run_joined(arguments, mpirun(3));
    INFO(arguments << ": " << r.err);
    CHECK(r.code == code);
    CHECK(times(r.err, message) == 1);
  };
  fs::create_directories(place() / "occupied/by others");
  check("report traces -o judged --fail-on 'wait_share>=0'", 1, "skewscope: failed: wait_share = ");
  check("report traces --no-such-flag", 2, "--no-such-flag");
  check("report traces -o odd --rank-regex 'no group'", 2, "--rank-regex");
  check("report nowhere -o none", 3, "nowhere: no such file");
  check("report traces -o occupied --force", 5, "occupied");
  check("report traces -o small --memory-limit 1K", 6, "memory limit");
  for (const char* report : {"odd", "none", "small"}) CHECK(left_nothing(report));
}

TEST_CASE("a killed process ends the run with a message, and nothing half-written stays") {
  if (mpirun(1).empty()) return;
  for (const int victim : {0, 1}) {
    const Outcome r = kill_one(victim, "killed");
    INFO("process " << victim << ": " << r.err);
    CHECK(r.code != 0);
    CHECK(says(r.err, "signal 9"));
    CHECK(left_nothing("killed"));
  }
}

TEST_CASE("several processes of the program without MPI say that they are not joined and end with 2") {
  const auto code = [](const std::string& environment, const std::string& command) {
    const Outcome r = place().run(command, "env " + environment);
    INFO(environment << ": " << r.err);
    CHECK((r.code != 2 || says(r.err, "start skewscope-mpi")));
    return r.code;
  };
  for (const char* environment : {"OMPI_COMM_WORLD_SIZE=2", "PMI_SIZE=4", "SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1"}) {
    CHECK(code(environment, "report traces -o apart") == 2);
    CHECK_FALSE(place().has("apart"));
  }
  for (const char* environment : {"OMPI_COMM_WORLD_SIZE=1", "SLURM_NTASKS=4 SLURM_PROCID=0",
                                  "SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0"}) {
    CHECK(code(environment, "report traces --json") == 0);
  }
  CHECK(code("OMPI_COMM_WORLD_SIZE=2", "inspect traces") == 0);
}
