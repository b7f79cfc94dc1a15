#include "service_manager.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace skewscope::gather {
namespace {

constexpr int kFirstSocket = 3;  // SD_LISTEN_FDS_START
constexpr int kMostSockets = 2;

}  // namespace

void notify_manager(const std::string& state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (path == nullptr || (*path != '/' && *path != '@') || std::strlen(path) >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path, std::strlen(path));
  if (*path == '@') address.sun_path[0] = '\0';  // abstract
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  sendto(fd, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
         static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(path)));
  close(fd);
}

std::vector<int> activated_sockets() {
  const char* process = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  std::vector<int> sockets;
  if (process == nullptr || count == nullptr || std::atol(process) != getpid()) return sockets;
  const int end = kFirstSocket + std::min(std::atoi(count), kMostSockets);
  for (int fd = kFirstSocket; fd < end; ++fd) {
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    sockets.push_back(fd);
  }
  return sockets;
}

}  // namespace skewscope::gather
