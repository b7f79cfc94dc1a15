// A trace of Perfetto, byte by byte, is reported and read as `rank` does.
#include <fstream>
#include <string>

#include "memory_folder.h"
#include "read_in_full.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFolder folder;
  const std::string path = folder.path() + "/rank0.pftrace";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  skewscope::test::read_in_full(path);
  return 0;
}
