// The programs in bin of the relocatable tarball, each a name of this one. A dynamic program cannot be started from any
// folder of any Linux: it names its loader by an absolute path, and loader and C library must be of one version. So
// this one is linked statically, and starts the loader, which is told where all else is:
//
//   LOADER --argv0 NAME --library-path LIBRARIES lib/skewscope/NAME ARGUMENTS
//
// lib/skewscope/glibc holds the C library that the tarball was built with. A host's newer one is taken in its place:
// what a program loads of the host while it runs (MPI, MUNGE, modules of nsswitch.conf) may need the host's, and the
// newer one serves what was built for the older one, never the other way round.
//
// The host's folders for libraries come after the tarball's: what is carried is never replaced.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Words = std::vector<std::string>;

constexpr const char* kHostLoader = "/lib64/ld-linux-x86-64.so.2";  // by the ABI of x86-64
constexpr int kCannotStart = 127;

// N of the host's glibc 2.N, as its loader says of itself since 2.33; 0: an older one, another C library, or none.
int host_glibc() {
  const int loader = open(kHostLoader, O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (loader < 0 || fstat(loader, &status) != 0 || status.st_size == 0) return 0;
  const auto bytes = static_cast<size_t>(status.st_size);
  const void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, loader, 0);
  if (mapped == MAP_FAILED) return 0;
  const std::string_view text(static_cast<const char*>(mapped), bytes), before = " release version 2.";
  const size_t found = text.find(before);
  return found == std::string_view::npos ? 0 : std::atoi(text.data() + found + before.size());
}

// "" without /proc.
std::string own_path() {
  std::string path(PATH_MAX, '\0');
  const ssize_t bytes = readlink("/proc/self/exe", path.data(), path.size());
  path.resize(bytes < 0 ? 0 : static_cast<size_t>(bytes));
  return path;
}

[[noreturn]] void become(Words& words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  std::fprintf(stderr, "skewscope: cannot start %s: %s\n", arguments[0], std::strerror(errno));
  _exit(kCannotStart);
}

// Has the loader look for all libraries of the program, which it does not start; the loader says what it misses.
bool finds_libraries(Words words) {
  words.insert(words.begin() + 1, "--list");
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    close(STDOUT_FILENO);  // the list
    become(words);
  }
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

constexpr const char* kNoMpi =
    "skewscope-mpi runs with this system's Open MPI 4 or 5 (libmpi.so.40): load its module, or have LD_LIBRARY_PATH "
    "name "
    "its folder. For another MPI build skewscope with cmake -DSKEWSCOPE_MPI=ON.\n";

}  // namespace

int main(int argc, char** argv) {
  const std::string self = own_path();
  if (argc < 1 || self.empty()) {
    std::fprintf(stderr, "skewscope: /proc is not mounted\n");
    return kCannotStart;
  }
  const size_t bin = self.rfind('/');
  const std::string name = self.substr(bin + 1), top = self.substr(0, self.rfind('/', bin - 1));
  const std::string libraries = top + "/lib/skewscope", glibc = libraries + "/glibc";
  const bool of_host = host_glibc() >= __GLIBC_MINOR__;
  std::string path = of_host ? libraries : glibc + ":" + libraries;
  if (const char* more = std::getenv("LD_LIBRARY_PATH"); more != nullptr && *more != '\0')
    path += std::string(":") + more;
  if (!of_host)
    path += ":/usr/lib64";  // known to the loaders of distributions that have it, not to the one of the tarball

  Words words = {of_host ? kHostLoader : glibc + "/ld-linux-x86-64.so.2", "--library-path", path,
                 libraries + "/" + name};
  if (name == "skewscope-mpi" && !finds_libraries(words)) {
    std::fputs(kNoMpi, stderr);
    return kCannotStart;
  }
  words.insert(words.begin() + 1, {"--argv0", argv[0]});
  words.insert(words.end(), argv + 1, argv + argc);
  setenv("SKEWSCOPE_LAUNCHER", self.c_str(), 1);  // the loader is what /proc/self/exe names from here on
  become(words);
}
