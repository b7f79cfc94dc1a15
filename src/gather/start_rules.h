// What the daemon asks of its options before it serves anybody, and what it makes of the files that they name.
#pragma once

#include <memory>

#include "endpoints.h"
#include "listener.h"

namespace skewscope::gather {

// Refuses what would leave the daemon open: no credential, or plain HTTP, anywhere but on loopback.
Result<Done> check_options(const GatherOptions& options);

// Refuses what the running daemon cannot take over: where it listens was judged together with whom it lets in.
Result<Done> check_reload(const GatherOptions& before, const GatherOptions& after);

// Checked options and the keys they name.
Result<std::shared_ptr<const Settings>> settings_of(const GatherOptions& options);
// Null: plain HTTP.
Result<std::shared_ptr<TlsContext>> tls_of(const GatherOptions& options);

}  // namespace skewscope::gather
