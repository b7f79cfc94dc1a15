// The keys of a trace around its events: who wrote it, on which devices, in which job.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "src/ingest/content/defects.h"
#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// What the keys say; filled from the text before the events and from the text behind them.
struct TopLevel {
  int64_t base_time_ns = 0;
  bool has_base_time = false;
  bool is_kineto = false;     // a key that traces have
  bool is_torch = false;      // a key that only torch.profiler writes
  bool several_jobs = false;  // "distributedInfo" as a list, or twice: files were merged
  bool distributed_seen = false;
};

// Reads `text`, the top-level members as written: "{ key: value, ... ," or ", key: value ... }". `offset`: its place in
// the file. Damage is counted; what comes before and behind it is used. Returns whether the closing brace was there.
bool read_top_level(std::string_view text, bool after_events, int64_t offset, FileContent& content, TopLevel& top,
                    DefectCounts& defects);

}  // namespace skewscope::ingest
