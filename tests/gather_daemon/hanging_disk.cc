// A disk whose flushes do not come back, for LD_PRELOAD: fdatasync, or fsync, waits while a file of that name is in the
// folder that HANGING_DISK names.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace {

int flush(const char* call, int file) {
  const char* folder = std::getenv("HANGING_DISK");
  const std::string holds = std::string(folder == nullptr ? "" : folder) + "/" + call;
  while (access(holds.c_str(), F_OK) == 0) usleep(10'000);
  return reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, call))(file);
}

}  // namespace

extern "C" {
int fdatasync(int file) { return flush("fdatasync", file); }
int fsync(int file) { return flush("fsync", file); }
}
