// A script that runs one operator call again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "skewscope/base/result.h"
#include "skewscope/efficiency/arguments.h"

namespace skewscope::efficiency {

// A self-contained Python script (needs PyTorch only) that rebuilds the arguments of one operator call, shapes, types
// and strides as recorded, and times it: `python SCRIPT --device cuda --warmup 10 --repeat 100`; without a GPU it times
// the CPU. Tensors hold zeros where they are integers or booleans and small random numbers else, as values are not
// recorded; texts are the operator's defaults. The script says so. Operators of other libraries: --import MODULE.
// facts: lines for its head comment (trace, device, duration, launch).
// Error (usage): the operator is none of torch.ops (an autograd node, a range, a kernel), its arguments are not
// recorded, or one of them cannot be rebuilt; the message names it.
Result<std::string> replay_script(std::string_view operator_name, const ArgumentTexts& texts,
                                  const std::vector<std::string>& facts);

}  // namespace skewscope::efficiency
