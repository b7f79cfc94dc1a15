#include "group_mentions.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "collectives/traffic.h"

namespace skewscope::ingest {

int32_t GroupMentions::row_of(const CommOperation& args) {
  const std::string_view ranks = content_.strings.view(args.group_ranks);
  const bool listed = ranks.find_first_of("0123456789") != std::string_view::npos;
  if (!args.any() || (!args.group_name.known() && !listed)) return -1;
  const auto key =
      std::make_tuple(args.group_name, args.group_size, args.group_ranks, args.rank_start, args.rank_stride);
  const auto [entry, added] = mentions_.emplace(key, static_cast<int32_t>(groups_.size()));
  if (added) {
    groups_.push_back({std::string(content_.strings.view(args.group_name)),
                       std::string(content_.strings.view(args.group_description)), args.group_size, std::string(ranks),
                       args.rank_start, args.rank_stride});
  }
  return entry->second;
}

int32_t GroupMentions::only_group_of(int32_t ranks) {
  const auto [entry, added] = groups_by_size_.emplace(ranks, -1);
  if (!added) return entry->second;
  const ProcessGroup* only = nullptr;
  for (const ProcessGroup& group : content_.distributed.groups) {
    if (group.size != ranks && std::cmp_not_equal(group.ranks.size(), ranks)) continue;
    const bool same = only != nullptr && group.ranks == only->ranks && group.ranks_text == only->ranks_text;
    if (only != nullptr && !same) return -1;
    if (only == nullptr) only = &group;
  }
  if (only == nullptr) return -1;
  const std::string listed =
      only->ranks.empty() ? only->ranks_text : fmt::format("[{}]", fmt::join(only->ranks.ranks(), ", "));
  entry->second = static_cast<int32_t>(groups_.size());
  groups_.push_back({only->name, only->description, ranks, listed, -1, -1});
  return entry->second;
}

void count_uses(LinkedTrace& linked) {
  struct Sum {
    double bytes = 0;
    int64_t calls = 0;
  };
  std::vector<Sum> sums(linked.groups.size());
  for (size_t row = 0; row < linked.open_calls.size(); ++row) {
    if (linked.open_calls[row].group < 0) continue;
    const auto at = static_cast<size_t>(linked.open_calls[row].group);
    GroupMention& group = linked.groups[at];
    const CollectiveCall& call = linked.trace.calls[row];
    group.use.kinds |= 1U << static_cast<uint32_t>(call.kind);
    ++group.use.calls;
    const int64_t bytes = message_bytes(call.kind, call.dtype, call.in_elements, call.out_elements, group.size);
    if (bytes <= 0) continue;
    sums[at].bytes += static_cast<double>(bytes);
    ++sums[at].calls;
  }
  for (size_t at = 0; at < sums.size(); ++at) {
    if (sums[at].calls == 0) continue;
    linked.groups[at].use.mean_bytes = std::llround(sums[at].bytes / static_cast<double>(sums[at].calls));
  }
}

}  // namespace skewscope::ingest
