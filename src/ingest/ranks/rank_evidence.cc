#include "rank_evidence.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/ingest/text/number_list.h"

namespace skewscope::ingest {
namespace {

bool symmetric(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::barrier;
}

// Only there "Rank" is the own rank inside the group, and inside default_pg that is the global rank.
bool tells_own_rank(const FileContent& content, const CommOperation& args) {
  if (args.rank < 0 || content.strings.view(args.group_description) != "default_pg") return false;
  const std::string_view operation = content.strings.view(args.collective_name);
  if (operation == "wait") return args.group_size != 1;  // a wait row of group size 1 has lost its group
  const std::optional<CollectiveKind> kind = kind_from_operation_name(operation);
  return kind && symmetric(*kind);
}

// The members of a call's group, where they are all listed.
void add_call_group(const FileContent& content, const CommOperation& args, std::vector<RankRuns>& groups) {
  if (!args.group_ranks.known()) return;
  const NumberList list = parse_number_list(std::string(content.strings.view(args.group_ranks)));
  if (!list.cut && std::ssize(list.numbers) == args.group_size) groups.emplace_back(list.numbers);
}

}  // namespace

RankEvidence evidence_of(const FileContent& content) {
  RankEvidence evidence;
  evidence.file = part_name(content.file, content.part);
  evidence.part = content.part;
  evidence.host = content.host_name;
  evidence.process_id = content.process_id;
  evidence.gpus = static_cast<int32_t>(content.devices.size());
  evidence.distributed = content.distributed;
  for (const ProcessGroup& group : content.distributed.groups) {
    const int64_t size = std::max(group.size, static_cast<int64_t>(group.ranks.size()));
    evidence.largest_group = std::max(evidence.largest_group, size);
    if (group.description == "default_pg") evidence.default_group_size = size;
  }
  std::set<StringId> lists;
  bool unique = true;
  for (const CommOperation& args : content.comm_args.operations()) {
    if (content.strings.view(args.collective_name) != "wait") {
      evidence.largest_group = std::max(evidence.largest_group, args.group_size);
      if (content.strings.view(args.group_description) == "default_pg") {
        evidence.default_group_size = std::max(evidence.default_group_size, args.group_size);
      }
      if (lists.insert(args.group_ranks).second) add_call_group(content, args, evidence.call_groups);
    }
    if (!tells_own_rank(content, args)) continue;
    unique = unique && (evidence.symmetric_rank < 0 || evidence.symmetric_rank == args.rank);
    evidence.symmetric_rank = args.rank;
  }
  if (!unique) evidence.symmetric_rank = -1;
  return evidence;
}

}  // namespace skewscope::ingest
