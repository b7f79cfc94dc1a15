// Problem: a trace may say its rank in five places, each of them wrong sometimes: file names carry local ranks and
// pids, an on-demand trace claims the root's rank where its first collective was a broadcast, renamed files keep old
// numbers. Idea: list every source's answer per file in order of trust, take the first, and report each later one that
// differs. A source is only as good as the set of files: where it gives two overlapping captures one number, and a
// later source tells all its files apart, the later one counts; claims of on-demand traces then count in no case;
// parallel coordinates count when they fit the world size (rank_coordinates.h); local ranks count when they are unique,
// or hosts tell the nodes apart. Source: KINETO.md, sections 7 and 8.
#include "rank_resolution.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "communicator_ranks.h"
#include "doubted_claims.h"
#include "group_members.h"
#include "number_in_names.h"
#include "place_in_file.h"
#include "rank_clashes.h"
#include "rank_coordinates.h"
#include "world_size.h"

namespace skewscope::ingest {
namespace {

constexpr int64_t kLargestRank = 999'999;  // tables have a row for every rank below

struct Claim {
  int64_t rank = -1;
  std::string source;
  bool local = false;  // a number on a node, taken for one of the job
};

class RankResolver {
 public:
  RankResolver(const std::vector<RankEvidence>& evidence, const RankOverrides& overrides)
      : evidence_(evidence), overrides_(overrides), claims_(evidence.size()) {}

  ResolvedRanks resolve() {
    world_ = world_size_of(evidence_, result_.findings);
    heed_told_world_size();
    doubted_ = doubted_claims(evidence_, result_.findings);
    for (size_t i = 0; i < evidence_.size(); ++i) collect_claims(i);
    add_communicator_ranks();
    drop_clashing_sources();
    add_coordinates(world_.size, "world size");
    add_local_ranks();
    add_ranks_by_folder();
    add_coordinates_of_unknown_world();
    add_places_in_files();
    add_numbers_in_names();
    for (size_t i = 0; i < evidence_.size(); ++i) result_.files.push_back(first_claim(i));
    number_the_rest();
    finish_world_size();
    return std::move(result_);
  }

 private:
  // The larger counts: files of a part of the job may know of no more.
  void heed_told_world_size() {
    const int32_t told = overrides_.least_world_size();
    if (told <= world_.size) return;
    if (world_.size > 0 && world_.exact) {
      add_finding(result_.findings,
                  finding_of_job(Severity::warning, "world-size-disagreement",
                                 "--world-size says " + std::to_string(told) + " ranks, the traces say " +
                                     std::to_string(world_.size) + " (" + to_string(world_.source) + ")"));
    }
    world_ = {told, WorldSizeSource::user, world_.exact};
  }

  // A number outside the world is no rank: a regex that took the pid, a stamp in the name.
  void claim(size_t i, int64_t rank, std::string source, bool local = false) {
    if (rank < 0) return;
    if (rank > kLargestRank || (world_.exact && rank >= world_.size)) {
      const std::string reason =
          world_.exact ? " in a world of " + std::to_string(world_.size) + " (" + to_string(world_.source) + ")"
                       : ", more than any job has";
      add_finding(result_.findings,
                  finding_of_file(Severity::warning, "rank-out-of-range", evidence_[i].file,
                                  source + " gives rank " + std::to_string(rank) + reason + "; not used"));
      return;
    }
    claims_[i].push_back({rank, std::move(source), local});
  }

  void collect_claims(size_t i) {
    const RankEvidence& file = evidence_[i];
    claim(i, overrides_.from_map(file), "--rank-map");
    const int32_t by_regex = overrides_.from_regex(file);
    if (overrides_.has_regex() && by_regex < 0) {
      add_finding(result_.findings, finding_of_file(Severity::info, "rank-regex-no-match", file.file,
                                                    "--rank-regex does not match this path; other sources decide"));
    }
    const bool of_several = file.parts > 1;  // whose ranks the content knows better, where it does
    if (!of_several) claim(i, by_regex, "--rank-regex");
    const bool before_events = file.distributed.present && !file.distributed.after_events;
    const std::string& from = file.distributed.rank_from;
    const bool sure = before_events && (file.distributed.world_size > 0 || !from.empty());
    if (sure) claim(i, file.distributed.rank, from.empty() ? "distributedInfo" : from);
    claim(i, file.symmetric_rank, "Rank of default_pg calls");
    if (claims_on_demand(file) && !doubted_[i]) claim(i, file.distributed.rank, "distributedInfo after the events");
    if (before_events && !sure) claim(i, file.distributed.rank, "distributedInfo without world size");
    if (file.name.rank >= 0) claim(i, file.name.rank, "file name " + file.name.rule);
    if (of_several && claims_[i].empty()) claim(i, by_regex, "--rank-regex, in the order of the file");
  }

  void add_communicator_ranks() {
    const CommunicatorRanks ranks = ranks_by_communicators(evidence_, result_.findings);
    if (!world_.exact && ranks.processes > world_.size) world_ = {ranks.processes, WorldSizeSource::file_count, false};
    for (size_t i = 0; i < evidence_.size(); ++i) {
      if (claims_[i].empty()) claim(i, ranks.of_file[i], ranks.source);
    }
  }

  static bool by_user(const Claim& claim) { return claim.source.starts_with("--"); }

  // What each of `files` is by its claim number `k`, -1 for none.
  std::vector<int64_t> claimed(const std::vector<size_t>& files, size_t k) const {
    std::vector<int64_t> numbers(evidence_.size(), -1);
    for (const size_t i : files) numbers[i] = k < claims_[i].size() ? claims_[i][k].rank : -1;
    return numbers;
  }

  // The first claim behind the files' first one that tells all of them apart, and that no group contradicts; 0: none.
  size_t telling_claim(const std::vector<size_t>& files) const {
    for (size_t k = 1;; ++k) {
      const std::vector<int64_t> numbers = claimed(files, k);
      for (const size_t i : files) {
        if (numbers[i] < 0) return 0;
      }
      const bool fits =
          std::all_of(files.begin(), files.end(), [&](size_t i) { return in_all_groups(evidence_[i], numbers[i]); });
      if (fits && first_clash(evidence_, numbers) < 0) return k;
    }
  }

  // Whoever gives two processes one number knows no ranks: every source that does gives way to one that does not.
  void drop_clashing_sources() {
    std::map<std::string, std::vector<size_t>> by_source;
    for (size_t i = 0; i < evidence_.size(); ++i) {
      if (!claims_[i].empty() && !by_user(claims_[i].front())) by_source[claims_[i].front().source].push_back(i);
    }
    for (const auto& [source, files] : by_source) {
      const int64_t clash = first_clash(evidence_, claimed(files, 0));
      const size_t telling = clash < 0 ? 0 : telling_claim(files);
      if (telling == 0) continue;
      const auto first = static_cast<size_t>(clash);
      add_finding(result_.findings,
                  finding_of_file(Severity::warning, "rank-doubtful", evidence_[first].file,
                                  source + " says rank " + std::to_string(claims_[first].front().rank) +
                                      " here and in another file of the same time; using for all files: " +
                                      claims_[first][telling].source + ", which differs between them",
                                  static_cast<int64_t>(files.size())));
      for (const size_t i : files) {
        claims_[i].erase(claims_[i].begin(), claims_[i].begin() + static_cast<std::ptrdiff_t>(telling));
      }
    }
  }

  // Ahead of local ranks: what fits the world size is proven by more than what is merely unique.
  void add_coordinates(int32_t world_size, const std::string& size_from) {
    std::vector<int64_t> known;
    bool wanted = false;
    for (size_t i = 0; i < evidence_.size(); ++i) {
      known.push_back(claims_[i].empty() ? -1 : claims_[i].front().rank);
      wanted = wanted || (claims_[i].empty() && evidence_[i].name.coordinates.any());
    }
    if (!wanted) return;
    const CoordinateRanks ranks = ranks_by_coordinates(evidence_, known, world_size, result_.findings);
    coordinates_refuted_ = ranks.refuted;
    for (size_t i = 0; i < ranks.of_file.size(); ++i) {
      if (claims_[i].empty()) claim(i, ranks.of_file[i], ranks.source + ", " + size_from);
    }
  }

  // As many ranks as the coordinates name places: all of a job, or a part that counts from 0.
  void add_coordinates_of_unknown_world() {
    std::set<std::tuple<int32_t, int32_t, int32_t, int32_t>> places;
    for (size_t i = 0; i < evidence_.size(); ++i) {
      const Coordinates& c = evidence_[i].name.coordinates;
      if (!claims_[i].empty() || !c.any()) return;
      places.emplace(c.tp, c.cp, c.dp, c.pp);
    }
    if (world_.size > 0 || places.size() < 2) return;
    add_coordinates(static_cast<int32_t>(places.size()), to_string(WorldSizeSource::file_count));
    for (size_t i = 0; i < evidence_.size(); ++i) {
      if (claims_[i].empty()) continue;
      add_finding(result_.findings, finding_of_rank(Severity::info, "rank-from-local-rank", evidence_[i].file,
                                                    Rank(static_cast<int32_t>(claims_[i].front().rank)),
                                                    "the files differ only in the coordinates in their names, which "
                                                    "count from 0; taken as the ranks of the whole job"));
    }
  }

  // One coordinate is a local rank only where the files do not differ in another, and content does not contradict.
  bool coordinate_may_be_local() const {
    std::set<std::tuple<int32_t, int32_t, int32_t>> others;
    for (const RankEvidence& file : evidence_) {
      const Coordinates& c = file.name.coordinates;
      if (c.any()) others.emplace(c.cp, c.dp, c.pp);
    }
    return !coordinates_refuted_ && others.size() < 2;
  }

  // Local ranks that differ between all files without a better source are ranks of one node, or coordinates of one
  // dimension. Else every host is a node, in the order of names: a guess, and said so.
  void add_local_ranks() {
    std::vector<size_t> files;
    std::set<int32_t> locals;
    std::set<std::string> hosts;
    int32_t gpus = 0;
    const bool by_coordinate = coordinate_may_be_local();
    for (size_t i = 0; i < evidence_.size(); ++i) {
      const FileNameFacts& name = evidence_[i].name;
      if (!claims_[i].empty() || name.local_rank < 0 || (name.coordinates.any() && !by_coordinate)) continue;
      files.push_back(i);
      locals.insert(evidence_[i].name.local_rank);
      hosts.insert(evidence_[i].host);
      gpus = std::max({gpus, evidence_[i].gpus, evidence_[i].name.local_rank + 1});
    }
    const bool unique = locals.size() == files.size();
    if (!unique && (hosts.size() < 2 || hosts.count("") > 0)) return;
    for (const size_t i : files) {
      const RankEvidence& file = evidence_[i];
      const int64_t node = unique ? 0 : std::distance(hosts.begin(), hosts.find(file.host));
      claim(i, node * gpus + file.name.local_rank,
            "file name " + file.name.rule + (unique ? " (local)" : " (local), host and GPUs per node"), true);
      if (claims_[i].empty()) continue;
      add_finding(result_.findings,
                  finding_of_rank(Severity::info, "rank-from-local-rank", file.file, Rank(claims_[i].front().rank),
                                  unique ? "only a local rank is known; taken as the global one"
                                         : "only a local rank is known; nodes are numbered by host name"));
    }
  }

  // Names that only count the processes of a node, in a folder for each node: "node1/rank0.json".
  void add_ranks_by_folder() {
    std::vector<int64_t> places;
    for (size_t i = 0; i < evidence_.size(); ++i) {
      const FileNameFacts& name = evidence_[i].name;
      const bool by_name = claims_[i].empty() || claims_[i].front().rank == name.rank;
      if (!by_name || claims_[i].size() > 1) return;
      places.push_back(name.rank >= 0 ? name.rank : name.local_rank);
    }
    if (first_clash(evidence_, places) < 0) return;
    const std::vector<int64_t> ranks = ranks_by_folder(evidence_, places, world_.size);
    for (size_t i = 0; i < ranks.size(); ++i) {
      claims_[i].clear();
      claim(i, ranks[i], "file name " + evidence_[i].name.rule + " (local), folder", true);
      add_finding(result_.findings,
                  finding_of_rank(Severity::info, "rank-from-local-rank", evidence_[i].file,
                                  Rank(static_cast<int32_t>(ranks[i])),
                                  "the number in the name repeats in every folder; taken as the local rank, nodes "
                                  "numbered by folder name (use --rank-map to be sure)"));
    }
  }

  void add_places_in_files() {
    const std::vector<int64_t> ranks = ranks_by_place(evidence_, [&](size_t i) { return claims_[i].empty(); });
    for (size_t i = 0; i < ranks.size(); ++i) {
      claim(i, ranks[i], "order in the file", true);
      if (claims_[i].empty()) continue;
      add_finding(result_.findings, finding_of_rank(Severity::info, "rank-from-local-rank", evidence_[i].file,
                                                    Rank(claims_[i].front().rank),
                                                    "taken from the order in the file (use --rank-map to be sure)"));
    }
  }

  // Neither the name nor the content says more than those of all other files. A rank that all claim is none.
  bool undecided(size_t i) const {
    const FileNameFacts& name = evidence_[i].name;
    if (name.rank >= 0 || name.local_rank >= 0 || name.coordinates.any()) return false;
    if (claims_[i].empty() || claims_[0].empty()) return claims_[i].empty() && claims_[0].empty();
    return !by_user(claims_[i].front()) && claims_[i].front().rank == claims_[0].front().rank;
  }

  // The last resort: no file says more than a number that nobody explains.
  void add_numbers_in_names() {
    for (size_t i = 0; i < evidence_.size(); ++i) {
      if (!undecided(i)) return;
    }
    const std::vector<int64_t> ranks = numbers_in_names(evidence_);
    for (size_t i = 0; i < ranks.size(); ++i) {
      const bool replaces = !claims_[i].empty();
      if (replaces && ((world_.exact && ranks[i] >= world_.size) || !in_all_groups(evidence_[i], ranks[i]))) return;
    }
    for (size_t i = 0; i < ranks.size(); ++i) {
      claims_[i].clear();
      claim(i, ranks[i], "number in file name");
      if (claims_[i].empty()) continue;
      add_finding(
          result_.findings,
          finding_of_rank(Severity::info, "rank-from-name-number", evidence_[i].file, Rank(claims_[i].front().rank),
                          "taken from a number in the path (use --rank-regex or --rank-map to be sure)"));
    }
  }

  ResolvedRank first_claim(size_t i) {
    if (claims_[i].empty()) return {};
    const Claim& best = claims_[i].front();
    for (const Claim& other : claims_[i]) {
      if (other.rank == best.rank) continue;
      add_finding(result_.findings,
                  finding_of_rank(Severity::warning, "rank-conflict", evidence_[i].file, Rank(best.rank),
                                  best.source + " says rank " + std::to_string(best.rank) + ", " + other.source +
                                      " says " + std::to_string(other.rank) + "; using the first"));
    }
    return {Rank(best.rank), best.source, false, best.local};
  }

  // Files without any rank: captures of one process share a number. A single process is rank 0 of 1.
  void number_the_rest() {
    std::set<int32_t> taken;
    std::map<std::string, int32_t> by_process;
    for (const ResolvedRank& file : result_.files) {
      if (file.rank.known()) taken.insert(file.rank.value);
    }
    const bool one = taken.empty() && are_captures_of_one_process(evidence_);
    const auto process = [&](size_t i) {
      if (one) return std::string();
      return evidence_[i].name.worker.empty() ? evidence_[i].file : evidence_[i].name.worker;
    };
    for (size_t i = 0; i < evidence_.size(); ++i) {
      if (!result_.files[i].rank.known()) by_process.emplace(process(i), -1);
    }
    const bool alone = taken.empty() && by_process.size() == 1 && world_.size <= 1;
    int32_t next = 0;
    for (size_t i = 0; i < evidence_.size(); ++i) {
      if (result_.files[i].rank.known()) continue;
      int32_t& number = by_process[process(i)];
      while (number < 0) {
        if (taken.insert(next).second) number = next;
        ++next;
      }
      result_.files[i] = {Rank(number), alone ? "only file" : "synthetic", !alone, world_.size < 1};
      if (alone && one) {
        add_finding(result_.findings,
                    finding_of_rank(Severity::info, "captures-of-one-process", evidence_[i].file, Rank(number),
                                    "the files differ in a number and follow each other in time; taken as recordings "
                                    "of one process (use --rank-map otherwise)"));
      }
      if (alone) continue;
      add_finding(result_.findings,
                  finding_of_rank(Severity::warning, "rank-unknown", evidence_[i].file, Rank(number),
                                  "rank not found in file or name; treated as rank " + std::to_string(number) +
                                      ", so only tables of this one rank are right; use --rank-map"));
    }
  }

  void finish_world_size() {
    std::set<int32_t> ranks;
    for (const ResolvedRank& file : result_.files) ranks.insert(file.rank.value);
    const int32_t seen = ranks.empty() ? 0 : *ranks.rbegin() + 1;
    result_.world_size = world_.size;
    result_.world_size_source = world_.source;
    if (world_.size >= seen && world_.size > 0) return;
    result_.world_size = std::max(world_.size, seen);
    result_.world_size_source = WorldSizeSource::file_count;
    if (world_.size > 0 || ranks.size() < 2) return;
    add_finding(result_.findings, finding_of_job(Severity::info, "world-size-unknown",
                                                 "number of ranks not found; treated as " + std::to_string(seen) +
                                                     ", the number of files; use --world-size"));
  }

  const std::vector<RankEvidence>& evidence_;
  const RankOverrides& overrides_;
  WorldSize world_;
  std::vector<bool> doubted_;
  bool coordinates_refuted_ = false;
  std::vector<std::vector<Claim>> claims_;  // per file, most trusted first
  ResolvedRanks result_;
};

}  // namespace

ResolvedRanks resolve_ranks(const std::vector<RankEvidence>& evidence, const RankOverrides& overrides) {
  return RankResolver(evidence, overrides).resolve();
}

}  // namespace skewscope::ingest
