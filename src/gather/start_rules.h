// What the daemon asks of its options before it serves anybody, and what it makes of the files that they name.
#pragma once

#include <memory>

#include "src/gather/endpoints/endpoints.h"
#include "src/gather/http/listener.h"

namespace skewscope::gather {

// Refuses what would leave the daemon open: no credential, or plain HTTP, anywhere but on loopback.
Result<Done> check_options(const GatherOptions& options);

// A user of this machine; nullopt for "". `flag`: which names him, for the error.
Result<std::optional<LocalUser>> local_user(const char* flag, const std::string& name);

// Where it is missing and its parent is there: for this user and group alone.
Result<Done> make_spool(const std::string& folder);

// Checked options and the keys they name.
Result<std::shared_ptr<const Settings>> settings_of(const GatherOptions& options);
// Null: plain HTTP.
Result<std::shared_ptr<TlsContext>> tls_of(const GatherOptions& options);

}  // namespace skewscope::gather
