// The calls in which the host waited for its GPU.
#pragma once

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// Only threads that launch have any: a wait of another thread holds no launch up. By start.
Column<SynchronizingCall> synchronizing_calls(const FileContent& content);

}  // namespace skewscope::ingest
