// Problem: a folder holds what several jobs have left: runs in sub-folders, two engines that write side by side, files
// of yesterday's larger run that today's did not overwrite. One report on all of them mixes ranks that never met.
// Idea: files are one job unless something says that they are not, for what one job leaves is manifold: ranks missing,
// ranks that run different programs, any number of captures. Six things say so:
//   - tracers that recorded at other times, or GPUs of another maker;
//   - worlds of different sizes;
//   - a rank that has two traces of one time, neither a copy of the other;
//   - a rank that has two traces of different times, of two runs (is_another_run);
//   - ranks recorded apart by more than clocks differ, that have no rank, step or capture in common with the others;
//   - names of more engines than the world of one has room for.
// The third and fourth say that there are several jobs, and not which files are of which: folders do, else what their
// names say, else tracer, machine, program, time, or the order of each rank's traces. The division is the first that
// leaves no part with a contradiction and has no more parts than some rank has jobs (a number that differs in every
// name would always do). Where there is none, the files stay one job, and what is too much of a rank is left out.
// Why right: jobs that ran one after the other or side by side had the same ranks, so every one of them has a trace of
// some rank next to another's; only what nobody overwrote has not, and that is known by world or time.
// Cost: O(n log n) for one job; as often again as there are kinds of division, for several.
#include "find_jobs.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "divisions.h"
#include "job_clues.h"
#include "recorded_together.h"
#include "skewscope/base/disjoint_sets.h"
#include "tracers.h"

namespace skewscope::ingest {
namespace {

constexpr int64_t kNoWorld = 0, kNoJobIsLarger = 1'000'000;

class JobFinder {
 public:
  JobFinder(std::vector<TraceFile>& files, const RankOverrides& overrides, bool one_job)
      : files_(files), overrides_(overrides), one_job_(one_job) {}

  FoundJobs find() {
    Rows usable;
    for (size_t i = 0; i < files_.size(); ++i) {
      clues_.push_back(files_[i].usable ? clues_of(files_[i]) : JobClues());
      if (files_[i].usable) usable.push_back(i);
    }
    if (user_says_one(usable)) {
      add_job(usable, ranks_of(usable));
    } else {
      for (const Rows& tracers : parts_by_tracers(clues_, usable)) {
        for (const Rows& world : by_world(tracers)) {
          for (const Rows& part : parts_by_communicators(clues_, world)) find_in_world(part);
        }
      }
    }
    sort_jobs();
    return std::move(result_);
  }

 private:
  // Who lists a rank for each file says that they are one job.
  bool user_says_one(const Rows& rows) const {
    if (one_job_) return true;
    return overrides_.has_map() && std::all_of(rows.begin(), rows.end(),
                                               [&](size_t i) { return overrides_.from_map(files_[i].evidence) >= 0; });
  }

  // The evidence is lent, not copied: each file may list every rank of the job.
  ResolvedRanks ranks_of(const Rows& rows) {
    std::vector<RankEvidence> evidence;
    for (const size_t i : rows) evidence.push_back(std::move(files_[i].evidence));
    ResolvedRanks ranks = resolve_ranks(evidence, overrides_);
    for (size_t k = 0; k < rows.size(); ++k) files_[rows[k]].evidence = std::move(evidence[k]);
    return ranks;
  }

  // A number that no job has is a misread one, and states nothing.
  int64_t stated_world(size_t i) const {
    const int64_t size = files_[i].evidence.distributed.world_size;
    return size > 0 && size <= kNoJobIsLarger ? size : kNoWorld;
  }

  // Files that state no size go with those that were recorded when they were, those of their folder first; else with
  // the only size that any states, or that their folder knows; else they are by themselves.
  Parts by_world(const Rows& rows) const {
    std::map<int64_t, Rows> worlds;
    Rows silent;
    for (const size_t i : rows) {
      if (stated_world(i) != kNoWorld) {
        worlds[stated_world(i)].push_back(i);
      } else {
        silent.push_back(i);
      }
    }
    const std::map<int64_t, Rows> speaking = worlds;
    for (const size_t i : silent) worlds[likely_world(i, speaking)].push_back(i);
    Parts parts;
    for (auto& [size, part] : worlds) {
      std::sort(part.begin(), part.end());
      parts.push_back(std::move(part));
    }
    return parts;
  }

  int64_t likely_world(size_t i, const std::map<int64_t, Rows>& worlds) const {
    if (worlds.size() == 1) return worlds.begin()->first;
    int64_t at_that_time = kNoWorld;
    std::set<int64_t> in_folder;
    for (const auto& [size, rows] : worlds) {
      for (const size_t other : rows) {
        const bool here = clues_[i].folder == clues_[other].folder;
        if (here) in_folder.insert(size);
        if (!overlap(clues_[i], clues_[other])) continue;
        if (here) return size;
        if (at_that_time == kNoWorld) at_that_time = size;
      }
    }
    return at_that_time == kNoWorld && in_folder.size() == 1 ? *in_folder.begin() : at_that_time;
  }

  // Captures of each rank, by time.
  std::map<int32_t, Rows> by_rank(const Rows& rows, const ResolvedRanks& ranks) const {
    std::map<int32_t, Rows> of_rank;
    for (size_t k = 0; k < rows.size(); ++k) {
      if (ranks.files[k].rank.known() && !ranks.files[k].synthetic) {
        of_rank[ranks.files[k].rank.value].push_back(rows[k]);
      }
    }
    for (auto& [rank, captures] : of_rank) sort_by_time(clues_, captures);
    return of_rank;
  }

  bool are_two_jobs(size_t earlier, size_t later) const {
    const JobClues &a = clues_[earlier], &b = clues_[later];
    if (!a.timed() || !b.timed()) return false;
    return overlap(a, b) || is_another_run(a, b);
  }

  // Whether a capture may be one more of those before it: it fits the last, and the last that is called as it is.
  bool goes_on_from(const Rows& captures, size_t next) const {
    if (are_two_jobs(captures.back(), next)) return false;
    const std::string& called = files_[next].evidence.name.capture;
    const auto alike = std::find_if(captures.rbegin(), captures.rend(),
                                    [&](size_t i) { return files_[i].evidence.name.capture == called; });
    return alike == captures.rend() || *alike == captures.back() || !are_two_jobs(*alike, next);
  }

  // How many jobs there must be for each rank to have but one trace of a time: 1 where nothing contradicts.
  size_t jobs_needed(const std::map<int32_t, Rows>& of_rank) const {
    size_t most = 1;
    for (const auto& [rank, captures] : of_rank) {
      Parts jobs;
      for (const size_t i : captures) {
        const auto fits = std::find_if(jobs.begin(), jobs.end(), [&](const Rows& job) { return goes_on_from(job, i); });
        if (fits == jobs.end()) {
          jobs.push_back({i});
        } else {
          fits->push_back(i);
        }
      }
      most = std::max(most, jobs.size());
    }
    return most;
  }

  void find_in_world(const Rows& rows) {
    const bool engines = are_of_engines(rows);
    const auto engine = [&](const JobClues& file) {
      return engines ? std::to_string(file.evidence().name.coordinates.dp) : std::string();
    };
    for (const Rows& part : parts_by(clues_, rows, engine)) find_in_engine(part);
  }

  // Whether the names give more places than the world has: those of several engines.
  bool are_of_engines(const Rows& rows) const {
    Coordinates most{0, 0, 0, 0};
    for (const size_t i : rows) {
      if (!is_called_an_engines(clues_[i])) return false;
      const Coordinates& place = files_[i].evidence.name.coordinates;
      most = {std::max(most.tp, place.tp), 0, std::max(most.dp, place.dp), std::max(most.pp, place.pp)};
    }
    const int64_t world = rows.empty() ? kNoWorld : stated_world(rows.front());
    return world != kNoWorld && (most.tp + int64_t{1}) * (most.pp + 1) * (most.dp + 1) > world;
  }

  void find_in_engine(Rows rows) {
    ResolvedRanks ranks = ranks_of(rows);
    std::map<int32_t, Rows> of_rank = by_rank(rows, ranks);
    if (leave_out_copies(of_rank, rows)) {
      ranks = ranks_of(rows);
      of_rank = by_rank(rows, ranks);
    }
    const size_t needed = jobs_needed(of_rank);
    if (needed > 1) {
      if (const Parts parts = divide(rows, needed, of_rank); !parts.empty()) {
        for (const Rows& part : parts) add_by_time(part, ranks_of(part));
        return;
      }
    }
    add_by_time(rows, std::move(ranks));
  }

  // What no tool has written; of these what has most of the trace and least next to it, and the shortest name; of a
  // trace that was unpacked, the packed one.
  bool is_original(size_t a, size_t b) const {
    const auto key = [&](size_t i) {
      const TraceFile& file = files_[i];
      const int64_t calls = std::ssize(file.linked.trace.calls) + file.calls_elsewhere;
      return std::tuple(is_called_a_copy(clues_[i]), -calls, file.events, clues_[i].stem.size(),
                        file.compression.empty(), file.evidence.file.size(), file.evidence.file);
    };
    return key(a) < key(b);
  }

  bool leave_out_copies(const std::map<int32_t, Rows>& of_rank, Rows& rows) {
    std::set<size_t> left_out;
    for (const auto& [rank, captures] : of_rank) {
      for (size_t k = 0; k < captures.size(); ++k) {
        for (size_t l = k + 1; l < captures.size() && overlap(clues_[captures[k]], clues_[captures[l]]); ++l) {
          const size_t a = captures[k], b = captures[l];
          if (left_out.count(a) > 0 || left_out.count(b) > 0 || !is_copy(clues_[a], clues_[b])) continue;
          const size_t copy = is_original(a, b) ? b : a;
          left_out.insert(copy);
          result_.copies.emplace_back(copy, copy == a ? b : a);
        }
      }
    }
    std::erase_if(rows, [&](size_t i) { return left_out.count(i) > 0; });
    return !left_out.empty();
  }

  bool free_of_contradictions(const Parts& parts) {
    return std::all_of(parts.begin(), parts.end(),
                       [&](const Rows& part) { return jobs_needed(by_rank(part, ranks_of(part))) == 1; });
  }

  // In folders there may be more jobs than any rank proves, if some rank is in each of them.
  bool share_a_rank(const Parts& parts) {
    std::map<int32_t, size_t> parts_of;
    for (const Rows& part : parts) {
      for (const auto& [rank, captures] : by_rank(part, ranks_of(part))) ++parts_of[rank];
    }
    return std::any_of(parts_of.begin(), parts_of.end(), [&](const auto& rank) { return rank.second == parts.size(); });
  }

  // Empty: no division explains what was found.
  Parts divide(const Rows& rows, size_t needed, const std::map<int32_t, Rows>& of_rank) {
    for (const DivisionKey& key : folder_keys(clues_, rows)) {
      Parts parts = parts_by(clues_, rows, key);
      const bool may_be = parts.size() >= needed && (parts.size() == needed || share_a_rank(parts));
      if (may_be && free_of_contradictions(parts)) return parts;
    }
    for (const DivisionKey& key : other_keys(clues_, rows)) {
      Parts parts = parts_by(clues_, rows, key);
      if (parts.size() == needed && free_of_contradictions(parts)) return parts;
    }
    Parts several;
    for (const int64_t gap_ns : {kApart_ns, int64_t{0}}) {
      Parts parts = runs_of(rows, gap_ns, of_rank);
      if (parts.size() < needed || !free_of_contradictions(parts)) continue;
      if (parts.size() == needed) return parts;
      if (several.empty()) several = std::move(parts);
    }
    Parts in_order = runs_in_order(rows, needed, of_rank);
    return in_order.empty() ? std::move(several) : std::move(in_order);
  }

  // Where clocks of hosts are wrong: the k-th run of each rank, if each has all of them. Else empty.
  Parts runs_in_order(const Rows& rows, size_t needed, const std::map<int32_t, Rows>& of_rank) const {
    Parts parts(needed);
    size_t placed = 0;
    for (const auto& [rank, captures] : of_rank) {
      size_t run = 0;
      for (size_t k = 0; k < captures.size() && run < needed; ++k, ++placed) {
        if (k > 0 && are_two_jobs(captures[k - 1], captures[k])) ++run;
        if (run < needed) parts[run].push_back(captures[k]);
      }
      if (run + 1 != needed) return {};
    }
    for (Rows& part : parts) std::sort(part.begin(), part.end());
    return placed == rows.size() ? parts : Parts();
  }

  // What was recorded together is one capture; it goes on from the first run that has a rank of it and that fits.
  Parts runs_of(const Rows& rows, int64_t gap_ns, const std::map<int32_t, Rows>& of_rank) const {
    std::map<size_t, int32_t> rank_of;
    for (const auto& [rank, captures] : of_rank) {
      for (const size_t i : captures) rank_of[i] = rank;
    }
    struct Run {
      Rows rows;
      std::map<int32_t, Rows> of_rank;
    };
    std::vector<Run> runs;
    std::map<size_t, Rows> captures;
    for (const auto& [row, number] : clusters_of(clues_, rows, gap_ns)) captures[number].push_back(row);
    for (const auto& numbered : captures) {
      const Rows& capture = numbered.second;
      const auto fits = [&](const Run& run) {
        bool shares = false;
        for (const size_t i : capture) {
          const auto rank = rank_of.find(i);
          const auto before = rank == rank_of.end() ? run.of_rank.end() : run.of_rank.find(rank->second);
          if (before == run.of_rank.end()) continue;
          shares = true;
          if (!goes_on_from(before->second, i)) return false;
        }
        return shares;
      };
      auto run = std::find_if(runs.begin(), runs.end(), fits);
      if (run == runs.end()) run = runs.insert(run, Run());
      for (const size_t i : capture) {
        run->rows.push_back(i);
        if (const auto rank = rank_of.find(i); rank != rank_of.end()) run->of_rank[rank->second].push_back(i);
      }
    }
    Parts parts;
    for (Run& run : runs) {
      std::sort(run.rows.begin(), run.rows.end());
      parts.push_back(std::move(run.rows));
    }
    return parts;
  }

  // Recorded far apart: one job where a rank, the numbers of steps or the captures go on, or clocks of hosts may be
  // that wrong; else two.
  void add_by_time(const Rows& rows, ResolvedRanks ranks) {
    const std::map<size_t, size_t> cluster = clusters_of(clues_, rows, gap_between_runs(clues_, rows));
    size_t clusters = 1;
    for (const auto& [row, number] : cluster) clusters = std::max(clusters, number + 1);
    if (clusters == 1) return add_job(rows, std::move(ranks));
    Parts parts(clusters);
    for (const auto& [row, number] : cluster) parts[number].push_back(row);
    DisjointSets together(clusters);
    std::map<int32_t, size_t> cluster_of_rank;
    for (size_t k = 0; k < rows.size(); ++k) {
      if (ranks.files[k].synthetic) continue;
      const auto [known, added] = cluster_of_rank.try_emplace(ranks.files[k].rank.value, cluster.at(rows[k]));
      if (!added) together.unite(known->second, cluster.at(rows[k]));
    }
    for (size_t a = 0; a < clusters; ++a) {
      for (size_t b = a + 1; b < clusters; ++b) {
        if (together.root(a) != together.root(b) && may_be_one(clues_, parts[a], parts[b])) together.unite(a, b);
      }
    }
    std::map<size_t, Rows> jobs;
    for (const auto& [row, number] : cluster) jobs[together.root(number)].push_back(row);
    if (jobs.size() == 1) return add_job(rows, std::move(ranks));
    for (const auto& [root, job] : jobs) add_job(job, ranks_of(job));
  }

  void add_job(const Rows& rows, ResolvedRanks ranks) {
    if (rows.empty()) return;
    JobFiles found{{}, rows, std::move(ranks)};
    FoundJob& job = found.job;
    job.first_file = files_[rows.front()].evidence.file;
    job.files = std::ssize(rows);
    job.world_size = found.ranks.world_size;
    std::set<int32_t> present;
    std::set<std::string> hosts;
    LocalNs first{INT64_MAX}, last{INT64_MIN};
    for (size_t k = 0; k < rows.size(); ++k) {
      const RankEvidence& file = files_[rows[k]].evidence;
      present.insert(found.ranks.files[k].rank.value);
      if (!file.host.empty()) hosts.insert(file.host);
      if (!clues_[rows[k]].timed()) continue;
      first = std::min(first, file.first_event);
      last = std::max(last, file.last_event);
    }
    job.ranks.assign(present.begin(), present.end());
    job.hosts.assign(hosts.begin(), hosts.end());
    if (first < last) {
      job.start_ns = first.ns;
      job.duration_ns = last - first;
    }
    result_.jobs.push_back(std::move(found));
  }

  void sort_jobs() {
    std::stable_sort(result_.jobs.begin(), result_.jobs.end(), [](const JobFiles& a, const JobFiles& b) {
      return std::tie(a.job.start_ns, a.job.first_file) < std::tie(b.job.start_ns, b.job.first_file);
    });
  }

  std::vector<TraceFile>& files_;
  const RankOverrides& overrides_;
  const bool one_job_;
  std::vector<JobClues> clues_;  // row = row of files_
  FoundJobs result_;
};

}  // namespace

FoundJobs find_jobs(std::vector<TraceFile>& files, const RankOverrides& overrides, bool one_job) {
  return JobFinder(files, overrides, one_job).find();
}

}  // namespace skewscope::ingest
