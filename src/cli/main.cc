#include <unistd.h>

#include <cstdio>
#include <exception>

#include "command_line.h"
#include "src/cli/process/interruption.h"
#include "src/cli/process/program_identity.h"
#include "src/cli/process/uncaught.h"

int main(int argc, char** argv) {
  using namespace skewscope::cli;
  int code = kInternal;
  name_process();
  explain_at_terminate();
  try {
    if (!CommandLine::serves(argc, argv)) watch_for_interruption();
    code = CommandLine().run(argc, argv);
  } catch (const std::exception& error) {
    code = explain(error);
    yield_to_interruption();
    std::fflush(nullptr);
    _exit(code);  // other threads may still use what the end of main takes down
  }
  yield_to_interruption();
  return code;
}
