// What became of jobs: the main figures of each job's newest report, kept after its traces are gone
// (--history-retention). Answers how the runs of one name went over time, and which nodes were the cause, in whose
// jobs, since when.
//
// A database of its own next to the manifest, history.sqlite: nothing that was promised to a sender is in it, so it is
// not flushed row by row, and one that is damaged is set aside and begun anew. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "deliveries.h"
#include "skewscope/gather/report_outcome.h"
#include "src/gather/kept/store.h"

struct sqlite3;

namespace skewscope::gather {

// One job with its newest report. A name that was used again after its job was deleted is another run.
struct Run {
  std::string job;
  uint32_t owner_uid = 0;
  Time created{}, reported{};
  std::string verdict;
  ReportOutcome outcome;
};

// Jobs that repeat one another are called alike but for what counts them: "pretrain-7b" of "pretrain-7b-4711",
// "pretrain-7b_2026-11-29", and so are the later runs of a name, "pretrain-7b~2". The name itself where nothing is
// left.
std::string series_of(const std::string& job);

// A node in the jobs that it took part in, the newest kRecentJobs of them.
struct NodeRecord {
  std::string node;
  ReportOutcome::Part part = ReportOutcome::Part::gpu;
  int recent = 0, caused = 0;  // jobs; of these, in which it was the cause
  int caused_ever = 0;         // in all that are kept
  Time since{}, last{};  // the first of them from which on it was the cause in half of its jobs or more; the newest
  std::string since_job;
  std::vector<std::string> jobs;  // that it was the cause in, the newest first, kRecentJobs at most
  std::vector<uint32_t> owners;   // of these
  std::vector<int32_t> devices;   // whose GPUs these were; empty: not known
  double worst = 0;               // largest gain of these jobs, a share of the job's length
};
constexpr int kRecentJobs = 8;

// Jobs by name and creation.
using JobKeys = std::set<std::pair<std::string, Time>>;

class History {
 public:
  // Makes the file where there is none. Where it cannot be opened (a full disk), what comes is kept in memory: no
  // upload waits for a history.
  static std::unique_ptr<History> open(const std::string& path);
  ~History();

  // Replaces what was kept of this job, by name and creation.
  void add(const Run& run);
  // Whether the report of that time, or a later one, was added.
  bool has(const std::string& job, Time created, Time reported) const;
  // What was reported before.
  void forget(Time before);

  // The runs of a series, the newest first; `owner`: those that were this user's.
  std::vector<Run> runs_of(const std::string& series, size_t most, std::optional<uint32_t> owner = {}) const;
  // The newest run of a job; nullopt: none.
  std::optional<Run> newest_of(const std::string& job) const;
  // The jobs of runs whose verdict or one of whose nodes contains this, in upper or lower case.
  JobKeys jobs_with_text(const std::string& text) const;
  JobKeys jobs_on_node(const std::string& node) const;
  JobKeys jobs_with_loss(const std::string& kind) const;  // that weighed most in them
  // Who was the cause most often of late first: of those that were it in two jobs or more among their last kRecentJobs.
  std::vector<NodeRecord> nodes(size_t most) const;

  // What is to be told elsewhere of these reports.
  Deliveries& deliveries() { return deliveries_; }
  const Deliveries& deliveries() const { return deliveries_; }

 private:
  struct CloseDatabase {
    void operator()(sqlite3* database) const;
  };
  explicit History(sqlite3* database);
  std::vector<Run> runs_where(const std::string& sql, const std::string& value, size_t most) const;
  void count_all();
  void count(const std::string& node, ReportOutcome::Part part);
  JobKeys jobs_where(const char* sql, const std::string& value) const;

  mutable std::mutex mutex_;  // of all below
  std::unique_ptr<sqlite3, CloseDatabase> database_;
  Deliveries deliveries_;
  // Of every node that was the cause in two of its last jobs or more: counted when a job of it comes or goes, not when
  // asked for.
  std::map<std::pair<std::string, ReportOutcome::Part>, NodeRecord> records_;
};

}  // namespace skewscope::gather
