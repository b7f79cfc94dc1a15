#include "plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "deliver.h"
#include "scan.h"
#include "skewscope/base/human_units.h"
#include "skewscope/ingest/whole_trace.h"

namespace skewscope::ship {

Shipped plan_of(const ShipOptions& options) {
  Shipped out;
  const Scan found = scan(options.paths, options.state_directory, options.dumps);
  out.left = found.unlisted;
  for (const Refusal& refusal : found.refused) out.bad.push_back(refusal.path + ": " + refusal.reason);
  for (const Candidate& file : found.files) {
    if (const auto rank = rank_of_dump(file.path, options.dumps)) {
      out.planned.push_back(
          fmt::format("{}: dump of rank {}, {}", file.path, *rank, human_bytes(static_cast<int64_t>(file.stamp.size))));
      continue;
    }
    const FileCheckOptions how{options.rank_regex, false, static_cast<int64_t>(options.digest_memory_bytes), {}};
    const Result<FileCheck> checked = check_file(file.path, file.path, how);
    if (!checked.ok()) {
      out.left.push_back(file.path + ": " + checked.error().message);
    } else if (!checked.value().whole) {
      out.left.push_back(file.path + ": " + checked.value().problem);
    } else if (!checked.value().rank.known() && options.world_size.value_or(checked.value().world_size) != 1) {
      out.bad.push_back(file.path + ": " + unknown_rank_of(checked.value().ranks));
    } else {
      const int first = std::max(0, checked.value().rank.value), ranks = checked.value().ranks;
      out.planned.push_back(fmt::format(
          "{}: {}, {}", file.path,
          ranks == 1 ? fmt::format("rank {}", first) : fmt::format("ranks {} to {}", first, first + ranks - 1),
          human_bytes(static_cast<int64_t>(file.stamp.size))));
    }
  }
  for (auto* lines : {&out.planned, &out.bad, &out.left}) std::sort(lines->begin(), lines->end());
  return out;
}

}  // namespace skewscope::ship
