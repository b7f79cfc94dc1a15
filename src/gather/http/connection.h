// Serves the requests of one connection, one after the other.
#pragma once

#include <memory>

#include "gate.h"
#include "service.h"
#include "wire.h"

namespace skewscope::gather {

enum class Way { main, admin, registry, proxy };  // by which it came

// The connection keeps itself alive until it has ended. `guests`: among whom it is one; `seat`: what it takes of them.
// Bodies wait for their slots and turns in the service's lobby, by whichever way they came.
void serve_connection(std::shared_ptr<Wire> wire, Way way, Service& service, Lobby& guests, Lobby::Slot seat);

}  // namespace skewscope::gather
