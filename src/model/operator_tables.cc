#include "skewscope/model/operator_tables.h"

namespace skewscope {

const char* to_string(CompileEvent event) {
  constexpr const char* kNames[] = {"cache_lookup", "forward", "backward", "graph_call", "compilation"};
  return kNames[static_cast<size_t>(event)];
}

}  // namespace skewscope
