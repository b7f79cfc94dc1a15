// A disk whose flushes do not come back, for LD_PRELOAD: fdatasync, or fsync, waits while a file of that name is in the
// folder that HANGING_DISK names. So does pread of a kept file: a network thread reads what goes out.
#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <string>

namespace {

void wait_while_held(const char* call) {
  const char* folder = std::getenv("HANGING_DISK");
  const std::string holds = std::string(folder == nullptr ? "" : folder) + "/" + call;
  while (access(holds.c_str(), F_OK) == 0) usleep(10'000);
}

int flush(const char* call, int file) {
  wait_while_held(call);
  return reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, call))(file);
}

bool is_kept(int file) {
  char path[PATH_MAX] = "";
  const ssize_t length = readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), path, sizeof path);
  return length > 0 && std::string(path, static_cast<size_t>(length)).find("/ranks/") != std::string::npos;
}

}  // namespace

extern "C" {
int fdatasync(int file) { return flush("fdatasync", file); }
int fsync(int file) { return flush("fsync", file); }
ssize_t pread(int file, void* out, size_t size, off_t offset) {
  if (is_kept(file)) wait_while_held("pread");
  return reinterpret_cast<ssize_t (*)(int, void*, size_t, off_t)>(dlsym(RTLD_NEXT, "pread"))(file, out, size, offset);
}
}
