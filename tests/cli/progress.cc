#include <catch2/catch.hpp>
#include <regex>
#include <string>

#include "workplace.h"

using namespace skewscope::test;

TEST_CASE("every command that reads traces says how many files and bytes it has read, where that is asked for") {
  for (const char* command :
       {"report traces -o told --cache off", "inspect traces", "merge traces --force -o told.pftrace",
        "rank traces --ranks 1", "digest traces --force -o told_digests", "scale traces traces",
        "compare traces traces"}) {
    const Outcome r = place().run(std::string(command) + " --progress always");
    INFO(command << "\n" << r.err);
    CHECK(std::regex_search(r.err,
                            std::regex("skewscope: (read \\d of \\d files?, [0-9.]+ of [0-9.]+ [kM]B|merging the)")));
  }
}

TEST_CASE("no progress is shown where standard error is no terminal, nor with --quiet") {
  CHECK(place().run("inspect traces").err == "");
  CHECK(place().run("report traces -o hushed -q --progress always").err == "");
}

TEST_CASE("on a terminal the line of progress is written over and gone at the end") {
  // A simulated job that takes more than a moment to read.
  REQUIRE(place().run("simulate -o many --nodes 4 --gpus 8 --steps 40 --layers 8").code == 0);
  std::ofstream(place() / "watch.py") << R"py(
import os, pty, re, sys
shown = b""
def keep(descriptor):
    global shown
    got = os.read(descriptor, 4096)
    shown += got
    return b"\n" if got else got
os.environ["TERM"] = "xterm"
status = pty.spawn([sys.argv[1], "inspect", "many", "-j", "1", "--cache", "off"], keep)
text = shown.decode()
lines = re.findall(r"\r\x1b\[Kskewscope: (read \d+ of 32 files, [0-9.]+ of [0-9.]+ MB[^\r]*)", text)
assert status == 0 and lines, text[:500]
assert text.rindex("\r\x1b[K") < text.index("FILE"), text[:2000]
)py";
  const std::string command = "cd " + (place() / "") + " && python3 watch.py " SKEWSCOPE_PROGRAM " > /dev/null";
  CHECK(std::system(command.c_str()) == 0);
}
