// Serves the requests of one connection, one after the other.
#pragma once

#include <memory>

#include "gate.h"
#include "service.h"
#include "wire.h"

namespace skewscope::gather {

enum class Way { main, admin, registry };  // by which it came

// The connection keeps itself alive until it has ended. `seat`: what it takes of the lobby.
void serve_connection(std::shared_ptr<Wire> wire, Way way, Service& service, Lobby::Slot seat);

}  // namespace skewscope::gather
