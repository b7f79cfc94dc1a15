// What the flight recorder of a rank leaves of a job that hung.
#pragma once

#include <string>

#include "src/simulate/hang/schedule.h"
#include "src/simulate/hang/standstill.h"

namespace skewscope::simulate::hang {

// How the dumps of one incident look.
struct RecorderStyle {
  bool json = false, frames = false, active_only = false;
  bool starts = true;     // the recorder sees when a call starts on the GPU (TORCH_NCCL_ENABLE_TIMING)
  size_t ring = 2000;     // entries that are kept
  size_t blind_from = 0;  // of a dead GPU: calls from here on are not seen to end, though they did
};

std::string dump_text(const HangJob& job, const Standstill& still, int32_t rank, const RecorderStyle& style,
                      int64_t clock_offset_ns);

}  // namespace skewscope::simulate::hang
