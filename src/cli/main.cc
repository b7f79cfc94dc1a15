#include <cstdio>
#include <exception>
#include <new>

#include "command_line.h"
#include "interruption.h"
#include "skewscope/base/huge_pages.h"

int main(int argc, char** argv) {
  using namespace skewscope::cli;
  int code = kInternal;
  skewscope::forbid_huge_pages();
  try {
    if (!CommandLine::serves(argc, argv)) watch_for_interruption();
    code = CommandLine().run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("skewscope: error: out of memory; try --memory-limit, --steps or --ranks\n", stderr);
    code = kResourceLimit;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "skewscope: error: internal: %s\n", error.what());
  }
  yield_to_interruption();
  return code;
}
