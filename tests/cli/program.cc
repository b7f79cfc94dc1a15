#include "program.h"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace skewscope::test {
namespace {

std::string read_and_remove(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  std::remove(path.c_str());
  return text.str();
}

}  // namespace

Outcome run_program(const std::string& directory, const std::string& arguments, const std::string& launcher,
                    const std::string& program) {
  const std::string out = directory + "/.stdout", err = directory + "/.stderr";
  const std::string command = "cd " + directory + " && export XDG_CACHE_HOME=" + directory + "/.cache && " + launcher +
                              " " + program + " " + arguments + " > " + out + " 2> " + err + " < /dev/null";
  const int status = std::system(command.c_str());
  Outcome outcome;
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = read_and_remove(out);
  outcome.err = read_and_remove(err);
  return outcome;
}

}  // namespace skewscope::test
