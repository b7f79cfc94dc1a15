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
  REQUIRE(place().run("simulate -o many --nodes 1 --gpus 8 --steps 40 --layers 8").code == 0);
  // Stopped while it reads, the program finds that more than a moment has passed.
  std::ofstream(place() / "watch.py") << R"py(
import os, pty, re, signal, sys, time
def shown_when_stopped_after(seconds):
    process, terminal = pty.fork()
    if process == 0:
        os.execve(sys.argv[1], [sys.argv[1], "inspect", "many", "-j", "1", "--cache", "off"], {"TERM": "xterm"})
    time.sleep(seconds)
    os.kill(process, signal.SIGSTOP)
    time.sleep(0.6)
    os.kill(process, signal.SIGCONT)
    text = b""
    try:
        while got := os.read(terminal, 4096):
            text += got
    except OSError:  # the other side is closed
        pass
    assert os.waitpid(process, 0)[1] == 0
    return text.decode()
texts = [shown_when_stopped_after(seconds) for seconds in (0.02, 0.04, 0.06, 0.08, 0.1)]
line = re.compile(r"\r\x1b\[Kskewscope: read \d of 8 files, [0-9.]+ of [0-9.]+ MB")
with_line = [text for text in texts if line.search(text)]
assert with_line, texts
for text in with_line:
    assert "\r\x1b[KFile" in text and "skewscope" not in text[text.index("File"):], text[:2000]
)py";
  const std::string command = "cd " + (place() / "") + " && python3 watch.py " SKEWSCOPE_PROGRAM " > /dev/null";
  CHECK(std::system(command.c_str()) == 0);
}
