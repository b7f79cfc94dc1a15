// Which logs are of processes that have traces, and of whose job the others are.
#include "join_logs.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "src/ingest/inspector/inspector_reader.h"
#include "src/ingest/inspector/thinned_calls.h"
#include "src/ingest/inspector/translate_log.h"
#include "src/ingest/ranks/communicator_ranks.h"

namespace skewscope::ingest {
namespace {

// Without the names of GPU rows: a log has none.
TraceFile copy_of(const TraceFile& log) {
  TraceFile copy;
  copy.path = log.path;
  copy.kind = log.kind;
  copy.usable = true;
  copy.format = log.format;
  copy.evidence = log.evidence;
  copy.linked.trace = log.linked.trace;
  copy.linked.groups = log.linked.groups;
  copy.linked.open_calls = log.linked.open_calls;
  copy.calls_elsewhere = log.calls_elsewhere;
  return copy;
}

// The processes that have traces, by process and host; both may be without a host.
class TracedProcesses {
 public:
  explicit TracedProcesses(const std::vector<TraceFile>& files) {
    for (size_t i = 0; i < files.size(); ++i) {
      const TraceFile& file = files[i];
      if (!file.usable || file.format == kInspectorLog || file.evidence.process_id < 0) continue;
      rows_[{file.evidence.process_id, file.evidence.host}].push_back(i);
    }
  }
  bool empty() const { return rows_.empty(); }

  // Empty: it has none.
  std::vector<size_t> of(const RankEvidence& log) const {
    if (log.process_id < 0) return {};
    for (const std::string& host : {log.host, std::string()}) {
      if (const auto found = rows_.find({log.process_id, host}); found != rows_.end()) return found->second;
    }
    const auto any_host = rows_.lower_bound({log.process_id, ""});
    const bool is = log.host.empty() && any_host != rows_.end() && any_host->first.first == log.process_id;
    return is ? any_host->second : std::vector<size_t>();
  }

 private:
  std::map<std::pair<int64_t, std::string>, std::vector<size_t>> rows_;
};

void set_aside(TraceFile& log) {
  log.usable = false;
  log.linked.findings.push_back(
      finding_of_file(Severity::info, "log-beside-trace", log.evidence.file,
                      "a log of processes that have traces, which say more; its calls are not counted again"));
}

// Of the logs of one job all keep the same collectives: as few as the longest.
void thin_alike(const std::vector<int32_t>& joined, std::vector<TraceFile>& files) {
  std::map<int32_t, int32_t> one_of;
  for (size_t i = 0; i < files.size(); ++i) {
    if (joined[i] >= 0) one_of[joined[i]] = std::max(one_of[joined[i]], files[i].linked.trace.one_of);
  }
  for (size_t i = 0; i < files.size(); ++i) {
    if (joined[i] >= 0 && files[i].usable && files[i].format == kInspectorLog) thin_calls(one_of[joined[i]], files[i]);
  }
}

// What is left to name once calls have named what they can.
void name_by_members(const std::vector<TraceFile>& files, const std::vector<int32_t>& joined,
                     const TracedProcesses& traced, std::map<int32_t, ToldByTrace>& told) {
  for (auto& [number, of_job] : told) {
    std::vector<const TraceFile*> traces, logs;
    for (size_t i = 0; i < files.size(); ++i) {
      if (!files[i].usable || files[i].format != kInspectorLog || joined[i] != number) continue;
      logs.push_back(&files[i]);
      for (const size_t row : traced.of(files[i].evidence)) traces.push_back(&files[row]);
    }
    learn_from_members(traces, logs, of_job);
  }
}

}  // namespace

std::vector<LogOfJob> join_logs(std::vector<TraceFile>& files, bool alone) {
  std::vector<const RankEvidence*> evidence;
  for (const TraceFile& file : files) evidence.push_back(&file.evidence);
  const std::vector<int32_t> joined = joined_by_communicators(evidence);
  thin_alike(joined, files);
  const TracedProcesses traced(files);
  if (traced.empty()) return {};
  std::map<int32_t, ToldByTrace> told;
  std::map<int32_t, size_t> trace_of;  // by number of `joined`
  const auto is_log = [&](size_t i) { return files[i].usable && files[i].format == kInspectorLog; };
  for (size_t i = 0; i < files.size(); ++i) {
    if (!is_log(i)) continue;
    for (const size_t row : traced.of(files[i].evidence)) {
      trace_of.try_emplace(joined[i], row);
      if (alone && files[i].evidence.parts == 1) learn_from_log(files[row], files[i], told[joined[i]]);
    }
  }
  if (alone) name_by_members(files, joined, traced, told);
  std::vector<LogOfJob> logs;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto trace = trace_of.find(joined[i]);
    if (!is_log(i) || trace == trace_of.end()) continue;
    const ToldByTrace& of_job = told[joined[i]];
    const std::vector<size_t> own = traced.of(files[i].evidence);
    LogOfJob& log = logs.emplace_back();
    log.row = i;
    log.trace = own.empty() ? trace->second : own.front();
    log.of_trace = !own.empty();
    if (own.empty() && alone) {
      TraceFile whole = copy_of(files[i]);
      say_rank_of_log(of_job, whole);
      if (translate_log(of_job, files[i])) {
        log.whole = std::move(whole);
        continue;
      }
    }
    set_aside(files[i]);
  }
  return logs;
}

TraceFile take_log(LogOfJob& log, std::vector<TraceFile>& files) {
  if (log.whole) return std::move(*log.whole);
  TraceFile& file = files[log.row];
  Column<CollectiveCall> calls = std::move(file.linked.trace.calls);
  file.linked.trace.calls = {};
  TraceFile whole = copy_of(file);
  whole.linked.trace.calls = std::move(calls);
  return whole;
}

}  // namespace skewscope::ingest
