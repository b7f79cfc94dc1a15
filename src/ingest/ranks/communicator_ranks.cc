// Problem: a library knows communicators, not jobs: each process says which rank of which communicator it is. Idea: the
// communicator that holds all processes numbers them as the program does. Where there is none (its collectives may all
// have been too small to be recorded), any numbering joins the same calls, so processes are numbered by host and
// process, and that is said. Communicators are told apart by hashes, so those of two jobs never join.
#include "communicator_ranks.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "skewscope/base/disjoint_sets.h"

namespace skewscope::ingest {
namespace {

bool tells_own_ranks(const RankEvidence& file) {
  const auto& groups = file.distributed.groups;
  return std::any_of(groups.begin(), groups.end(), [](const ProcessGroup& group) { return group.own_rank >= 0; });
}

int64_t own_rank_in(const RankEvidence& file, const std::string& group) {
  for (const ProcessGroup& own : file.distributed.groups) {
    if (own.name == group) return own.own_rank;
  }
  return -1;
}

// The largest that all of them are in; "" where there is none.
std::string common_group(const std::vector<const RankEvidence*>& files) {
  std::map<std::pair<int64_t, std::string>, size_t> holders;
  for (const RankEvidence* file : files) {
    for (const ProcessGroup& group : file->distributed.groups) {
      if (group.own_rank >= 0) ++holders[{-group.size, group.name}];
    }
  }
  for (const auto& [group, count] : holders) {
    if (count == files.size()) return group.second;
  }
  return "";
}

}  // namespace

CommunicatorRanks ranks_by_communicators(const std::vector<RankEvidence>& files, Findings& findings) {
  CommunicatorRanks ranks{std::vector<int64_t>(files.size(), -1), "rank in the largest communicator", 0};
  std::vector<const RankEvidence*> telling;
  for (const RankEvidence& file : files) {
    if (tells_own_ranks(file)) telling.push_back(&file);
  }
  if (telling.empty()) return ranks;
  const std::string common = common_group(telling);
  std::set<std::tuple<std::string, int64_t, int64_t>> processes;
  const auto process_of = [](const RankEvidence& file) {
    const ProcessGroup& first = file.distributed.groups.front();
    return std::tuple(file.host, file.process_id, first.own_rank);  // a process may drive several GPUs
  };
  for (const RankEvidence* file : telling) processes.insert(process_of(*file));
  for (size_t i = 0; i < files.size(); ++i) {
    if (!tells_own_ranks(files[i])) continue;
    ranks.of_file[i] = common.empty() ? std::distance(processes.begin(), processes.find(process_of(files[i])))
                                      : own_rank_in(files[i], common);
  }
  if (!common.empty()) return ranks;
  ranks.source = "order of hosts and processes";
  ranks.processes = static_cast<int32_t>(processes.size());
  findings.push_back(finding_of_job(Severity::info, "rank-numbered",
                                    "no communicator holds all processes; their ranks are numbers in the order of host "
                                    "and process (use --rank-map for the program's own)",
                                    std::ssize(telling)));
  return ranks;
}

std::vector<int32_t> joined_by_communicators(const std::vector<const RankEvidence*>& files) {
  DisjointSets sets(files.size());
  std::map<std::string, size_t> first_of;
  for (size_t i = 0; i < files.size(); ++i) {
    for (const ProcessGroup& group : files[i]->distributed.groups) {
      if (group.own_rank >= 0) sets.unite(i, first_of.try_emplace(group.name, i).first->second);
    }
  }
  std::vector<int32_t> joined(files.size(), -1);
  for (size_t i = 0; i < files.size(); ++i) {
    if (tells_own_ranks(*files[i])) joined[i] = static_cast<int32_t>(sets.root(i));
  }
  return joined;
}

}  // namespace skewscope::ingest
