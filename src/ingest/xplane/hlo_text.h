// An instruction of HLO as text: what a TPU's profile calls its rows.
//   %all-reduce.3 = f32[5,1024]{1,0:T(8,128)} all-reduce(f32[5,1024]{1,0} %x), channel_id=1, replica_groups=[4,2]<=[8],
//   use_global_device_ids=true, to_apply=%add
#pragma once

#include <optional>
#include <string_view>

#include "hlo_collective.h"

namespace skewscope::ingest {

struct HloText {
  std::string_view name;    // "all-reduce.3"
  std::string_view opcode;  // "all-reduce"
  std::optional<HloCollective> collective;
};

// nullopt: the text is no instruction.
std::optional<HloText> read_hlo_text(std::string_view text);

}  // namespace skewscope::ingest
