// Runs the program as a user would.
#pragma once

#include <string>

namespace skewscope::test {

struct Outcome {
  int code = -1;  // exit code; 128 + signal when it was killed
  std::string out, err;
};

// `arguments` as typed in a shell, `launcher` what stands before the program ("timeout 5"); runs in `directory`.
Outcome run_program(const std::string& directory, const std::string& arguments, const std::string& launcher = "",
                    const std::string& program = SKEWSCOPE_PROGRAM);

}  // namespace skewscope::test
