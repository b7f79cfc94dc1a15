// The two things that systemd and a daemon say to each other, without its library: see sd_notify(3) and
// sd_listen_fds(3).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace skewscope::gather {

// A datagram to the socket that NOTIFY_SOCKET names, if it does: "READY=1", "WATCHDOG=1", ...
void notify_manager(const std::string& state);
// Sockets that were handed over (LISTEN_FDS): at most the main and the admin listener, in this order.
std::vector<int> activated_sockets();

}  // namespace skewscope::gather
