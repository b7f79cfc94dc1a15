// gather.sqlite with bytes that are others, and an end that is missing: a start repairs it or makes it anew.
//   input: 2 bytes of length (all: whole), then edits of 2 bytes of place (of the first 64 KiB), 1 of how many, the
//   bytes
#include "spool.h"
#include "src/gather/disk/spool_paths.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skewscope::gather;
  using namespace skewscope::gather::test;
  if (size < 2) return -1;
  const std::unique_ptr<MemoryDisk> disk = used_spool().after_power_loss(Survives::everything, 0);
  PathInfo info;
  int file = -1;
  require(disk->info(kManifestName, info) == 0 && disk->open(kManifestName, true, file) == 0);
  const uint64_t length = data[0] << 8 | data[1];
  if (length < info.size && length != 0xffff) disk->truncate(file, length);
  for (size_t at = 2; at + 3 < size;) {
    const uint64_t place = data[at] << 8 | data[at + 1];
    const size_t bytes = std::min<size_t>(1 + data[at + 2] % 32, size - at - 3);
    disk->write(file, {reinterpret_cast<const char*>(data) + at + 3, bytes}, place % info.size);
    at += 3 + bytes;
  }
  disk->close(file);
  check_start(*disk);
  return 0;
}
