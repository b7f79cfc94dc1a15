// Problem: a log says of each call how long it took, which collective of which communicator it was, and at best when
// the host saw it end; a report needs calls on a time line. In verbose logs the stamps are the host's (gettimeofday
// when NCCL's proxy thread saw the channel stop), durations the GPU's; in others the only time is when the line was
// written. Idea: a call ended no later than its end was seen, or it was written, and no later than the next call of its
// communicator began: calls are laid backwards from there, each with its own duration. Durations stay exact, calls of
// one communicator never overlap, and where the stamp is all there is, places mean order and nothing else
// (RankTrace::durations_only).
// Which of several GPUs of one process made a call is told by the rank in the largest communicator alone: it has one
// rank for each. What other communicators of such a process did cannot be told apart, and is left out.
// Cost: one pass, a sort of nothing; 80 bytes a call until the rows are made; of long logs a bound (thinned_calls).
#include "log_builder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "inspector_reader.h"
#include "thinned_calls.h"

namespace skewscope::ingest {
namespace {

constexpr int64_t kLargestMessage = int64_t{1} << 50;
constexpr int64_t kLongestCall_ns = 30 * int64_t{86'400'000'000'000};
constexpr int64_t kLatest_ns = 3'000'000'000'000'000'000;  // 2065
constexpr size_t kCallsPerCharge = 16'384;

bool is_known_version(std::string_view version) {
  return version.size() == 4 && version.starts_with("v4.") && version[3] >= '0' && version[3] <= '4';
}

// What NCCL calls an operation, as PyTorch's name of it.
std::string_view operation_name(std::string_view operation) {
  if (operation == "AllReduce") return "allreduce";
  if (operation == "AllGather") return "_allgather_base";
  if (operation == "AllGatherV") return "all_gather_v";
  if (operation == "ReduceScatter") return "_reduce_scatter_base";
  if (operation == "AlltoAll" || operation == "AllToAll") return "all_to_all";
  return operation;  // Broadcast, Reduce, Gather, Scatter, Send, Recv: whatever the case of their letters
}

// NCCL counts the part of one member where the buffers of all are larger (source: the factors of its own bandwidths).
void set_sizes(const LoggedCall& call, std::string_view operation, int64_t ranks, CommArgs& args) {
  if (call.bytes < 0 || call.bytes > kLargestMessage || ranks < 1) return;
  args.in_elements = args.out_elements = call.bytes;
  if (operation == "AllGather") args.out_elements *= ranks;
  if (operation == "ReduceScatter") args.in_elements *= ranks;
}

// Process, and rank in its communicator of several ranks: the members that are one rank of the job.
struct Part {
  std::string name;
  std::vector<int32_t> members;
};

// The communicator of which the process is most ranks; "" where it is one rank of each.
std::string communicator_of_several(const std::vector<LogMember>& members, const std::vector<int32_t>& of_process) {
  std::map<std::string, int64_t> own;
  for (const int32_t m : of_process) ++own[members[static_cast<size_t>(m)].communicator];
  const auto most =
      std::max_element(own.begin(), own.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == own.end() || most->second < 2 ? "" : most->first;
}

std::vector<Part> parts_of(const std::vector<LogMember>& members, std::vector<int32_t>& unassigned) {
  std::map<std::pair<std::string, int64_t>, std::vector<int32_t>> processes;
  for (size_t m = 0; m < members.size(); ++m) {
    processes[{members[m].host, members[m].process_id}].push_back(static_cast<int32_t>(m));
  }
  std::vector<Part> parts;
  for (const auto& [process, own] : processes) {
    const std::string name = "pid" + std::to_string(process.second);
    const std::string several = communicator_of_several(members, own);
    if (several.empty()) {
      parts.push_back({name, own});
      continue;
    }
    for (const int32_t m : own) {
      const LogMember& member = members[static_cast<size_t>(m)];
      if (member.communicator == several) {
        parts.push_back({name + ".rank" + std::to_string(member.rank), {m}});
      } else {
        unassigned.push_back(m);
      }
    }
  }
  return parts;
}

}  // namespace

LogBuilder::LogBuilder(std::string file, const ReaderSettings& settings, MemoryBudget& budget)
    : file_(std::move(file)), settings_(settings), budget_(budget) {}

LogBuilder::~LogBuilder() { budget_.give_back(charged_); }

void LogBuilder::add(const LogRecord& record, int64_t offset, bool cut) {
  ++events_;
  if (record.kind == LogRecord::Kind::damaged) {
    defects_.add(cut ? Defect::truncated_file : Defect::dropped_event, offset);
    expected_ = std::max<int64_t>(0, expected_ - 1);
    return;
  }
  if (record.has_header) read_header(record);
  if (!record.version.empty() && !is_known_version(record.version)) ++other_versions_[std::string(record.version)];
  if (record.dumped_us > 0) dumped_ns_ = record.dumped_us * 1000;
  if (record.kind == LogRecord::Kind::marker) {
    lost_lines_ += expected_;
    expected_ = record.announced;
    overwritten_ += record.dropped;
    return;
  }
  const bool announced = !record.has_header && expected_ > 0;
  if (announced) --expected_;
  if (record.kind == LogRecord::Kind::other || members_only_) return;
  if ((!announced && !record.has_header) || member_ < 0) {
    ++headless_;
    return;
  }
  add_call(record);
}

void LogBuilder::read_header(const LogRecord& record) {
  if (member_ >= 0) {  // mostly that of the line before
    const LogMember& last = members_[static_cast<size_t>(member_)];
    const bool same = last.rank == record.rank && last.ranks == record.ranks && last.process_id == record.process_id &&
                      last.communicator == record.communicator && last.host == record.host;
    if (same) return;
  }
  member_ = -1;
  if (record.communicator.empty() || record.rank < 0 || record.ranks < 1 || record.rank >= record.ranks) return;
  const auto key =
      std::make_tuple(std::string(record.host), record.process_id, std::string(record.communicator), record.rank);
  const auto [entry, added] = known_.try_emplace(key, static_cast<int32_t>(members_.size()));
  member_ = entry->second;
  if (!added) return;
  most_ranks_ = std::max(most_ranks_, record.ranks);
  members_.push_back({std::string(record.host), std::string(record.communicator), std::string(record.communicator_name),
                      record.process_id, record.rank, record.ranks});
}

void LogBuilder::add_call(const LogRecord& record) {
  LoggedCall call;
  call.timed = record.last_stop_us > 0;
  call.latest_end_ns = call.timed ? record.last_stop_us * 1000 : dumped_ns_;
  call.duration_ns = record.duration_ns;
  if (record.timing_source == "collective_cpu") {
    ++by_host_;
    return;
  }
  if (call.duration_ns < 0 || call.duration_ns > kLongestCall_ns || call.latest_end_ns < 0 ||
      call.latest_end_ns > kLatest_ns || record.operation.empty()) {
    ++timeless_;
    return;
  }
  call.number = record.number;
  call.bytes = record.bytes;
  call.member = member_;
  call.peer = static_cast<int32_t>(std::min<int64_t>(record.peer, INT32_MAX));
  call.operation = strings_.intern(record.operation);
  if (record.algorithm != algorithm_.first)
    algorithm_ = {std::string(record.algorithm), algorithm_called(record.algorithm)};
  if (record.protocol != protocol_.first) protocol_ = {std::string(record.protocol), protocol_called(record.protocol)};
  call.algorithm = algorithm_.second;
  call.protocol = protocol_.second;
  if (one_of_ > 1 && !keeps(call)) {
    ++thinned_;
    return;
  }
  calls_.push_back(call);
  if (std::ssize(calls_) > most_calls(most_ranks_)) thin();
  if (calls_.size() % kCallsPerCharge != 0) return;
  const int64_t now = static_cast<int64_t>(calls_.capacity() * sizeof(LoggedCall));
  if (!budget_.take(now - charged_)) over_budget_ = true;
  charged_ = now;
}

bool LogBuilder::keeps(const LoggedCall& call) {
  if (call.peer >= 0 || call.number < 0) return false;
  const auto [key, added] = keys_.try_emplace({call.member, call.operation}, 0);
  if (added) {
    const LogMember& member = members_[static_cast<size_t>(call.member)];
    key->second = key_of_calls(member.communicator, strings_.view(call.operation));
  }
  return is_kept(id_of_call(key->second, call.number), one_of_);
}

void LogBuilder::thin() {
  one_of_ *= 2;
  const size_t before = calls_.size();
  std::erase_if(calls_, [&](const LoggedCall& call) { return !keeps(call); });
  thinned_ += static_cast<int64_t>(before - calls_.size());
}

void LogBuilder::report_losses(FileContent& content) const {
  const auto say = [&](Severity severity, FindingCode code, int64_t count, std::string message) {
    report(content, severity, code, count, std::move(message));
  };
  for (const auto& [version, lines] : other_versions_) {
    say(Severity::warning, "log-version", lines,
        "lines of version \"" + version + "\" of the log, which is not known; the fields of 4.0 to 4.4 were read");
  }
  say(Severity::info, kLogThinned, thinned_, thinned_words(one_of_));
  say(Severity::warning, "log-losses", overwritten_,
      "calls ended faster than they were written, and are in no log (raise NCCL_INSPECTOR_DUMP_COLL_RING_SIZE)");
  say(Severity::warning, "log-losses", lost_lines_, "lines that were announced are not there");
  say(Severity::warning, "log-left-out", headless_,
      "calls of which no line says the communicator: the beginning of their dump is missing; left out");
  say(Severity::warning, "log-left-out", timeless_, "calls without a duration; left out");
  say(Severity::info, "log-left-out", by_host_,
      "calls were timed by the host, which does not know how long they ran on the GPU; left out");
}

namespace {

// Streams: of each communicator one, of its messages one for each peer and direction.
class Streams {
 public:
  int32_t of(const LoggedCall& call) {
    const std::tuple key(call.member, call.peer, call.peer < 0 ? StringId() : call.operation);
    return numbers_.try_emplace(key, static_cast<int32_t>(numbers_.size())).first->second;
  }
  size_t size() const { return numbers_.size(); }

 private:
  std::map<std::tuple<int32_t, int32_t, StringId>, int32_t> numbers_;
};

// As a library names the kernel.
std::string row_name(const LoggedCall& call, const StringTable& strings) {
  std::string name = "nccl" + std::string(strings.view(call.operation));
  for (const std::string_view detail : {to_string(call.algorithm), to_string(call.protocol)}) {
    if (!detail.empty()) name.append(" ").append(detail);
  }
  return name;
}

// Makes rows of calls, the last first: each ends when it did at the latest, and before the next one of its stream.
class RowMaker {
 public:
  RowMaker(const std::vector<LogMember>& members, const StringTable& strings, RowCollector& rows)
      : members_(members), strings_(strings), rows_(rows) {}

  void add(const LoggedCall& call) {
    const Kind& kind = kind_of(call);
    GpuRow row;
    row.stream = streams_.of(call);
    if (next_start_ns_.size() < streams_.size()) next_start_ns_.resize(streams_.size(), INT64_MAX);
    int64_t& next = next_start_ns_[static_cast<size_t>(row.stream)];
    row.start = LocalNs{std::max<int64_t>(0, std::min(call.latest_end_ns, next) - call.duration_ns)};
    row.duration_ns = call.duration_ns;
    next = row.start.ns;
    row.name = kind.name;
    row.work = GpuWork::communication;
    row.device = 0;
    CommArgs args = kind.args;
    const LogMember& member = members_[static_cast<size_t>(call.member)];
    set_sizes(call, strings_.view(call.operation), member.ranks, args);
    if (call.peer >= 0) {
      args.rank = call.peer;
    } else if (call.number >= 0) {
      args.seq = call.number;
      args.comms_id = id_of_call(kind.key, call.number);
    }
    row.args = rows_.add(args);
    rows_.add(row);
  }

 private:
  // What calls have in common.
  struct Kind {
    CommArgs args;
    StringId name;
    uint64_t key = 0;
  };

  const Kind& kind_of(const LoggedCall& call) {
    const auto [entry, added] = kinds_.try_emplace({call.member, call.operation, call.algorithm, call.protocol});
    Kind& kind = entry->second;
    if (!added) return kind;
    const LogMember& member = members_[static_cast<size_t>(call.member)];
    const std::string_view operation = strings_.view(call.operation);
    kind.name = rows_.intern(row_name(call, strings_));
    kind.key = key_of_calls(member.communicator, operation);
    kind.args.collective_name = rows_.intern(operation_name(operation));
    kind.args.dtype = rows_.intern("bytes");
    kind.args.group_name = rows_.intern(member.communicator);
    kind.args.group_description = rows_.intern(member.communicator_name);
    kind.args.group_size = member.ranks;
    kind.args.algorithm = call.algorithm;
    kind.args.protocol = call.protocol;
    return kind;
  }

  const std::vector<LogMember>& members_;
  const StringTable& strings_;
  RowCollector& rows_;
  Streams streams_;
  std::vector<int64_t> next_start_ns_;  // by stream
  std::map<std::tuple<int32_t, StringId, Algorithm, Protocol>, Kind> kinds_;
};

}  // namespace

Result<FileContent> LogBuilder::content_of(const std::string& part, const std::vector<int32_t>& members) {
  RowCollector rows(file_, part, settings_, budget_);
  std::vector<bool> own(members_.size(), false);
  for (const int32_t m : members) own[static_cast<size_t>(m)] = true;
  const auto is_own = [&](const LoggedCall& call) { return own[static_cast<size_t>(call.member)]; };
  const bool timed =
      std::any_of(calls_.begin(), calls_.end(), [&](const LoggedCall& call) { return call.timed && is_own(call); });
  RowMaker maker(members_, strings_, rows);
  int64_t without_stamp = 0;
  for (auto call = calls_.rbegin(); call != calls_.rend() && !rows.over_budget(); ++call) {
    if (!is_own(*call)) continue;
    if (timed && !call->timed) {
      ++without_stamp;
    } else {
      maker.add(*call);
    }
  }
  if (rows.over_budget()) return rows.error();
  FileContent& content = rows.content();
  const LogMember& first = members_[static_cast<size_t>(members.front())];
  content.host_name = first.host;
  content.process_id = first.process_id;
  content.has_base_time = true;
  content.has_cpu_ops = true;  // its stamps are the host's: no clock of a GPU was converted
  content.resolution_ns = 1000;
  content.calls_only = true;
  content.durations_only = !timed;
  content.one_of = one_of_;
  for (const int32_t m : members) {
    const LogMember& member = members_[static_cast<size_t>(m)];
    ProcessGroup group;
    group.name = member.communicator;
    group.description = member.communicator_name;
    group.size = member.ranks;
    group.own_rank = member.rank;
    content.distributed.groups.push_back(std::move(group));
  }
  report(content, Severity::warning, "log-left-out", without_stamp,
         "calls without the times of their channels; left out");
  if (!timed) {
    report(content, Severity::info, "durations-only", 1,
           "only how long calls took is recorded, not when they ran: waits rest on durations, and no arrival, overlap "
           "or idle time is known (NCCL_INSPECTOR_DUMP_VERBOSE=1 records times)");
  }
  return rows.take(rows.gpu_rows() > 0 ? ContentKind::rank_trace : ContentKind::empty);
}

Result<std::vector<FileContent>> LogBuilder::take(int64_t bytes, const std::string& compression) {
  std::vector<int32_t> unassigned;
  std::vector<FileContent> contents;
  for (const Part& part : parts_of(members_, unassigned)) {
    Result<FileContent> content = content_of(part.name, part.members);
    if (!content.ok()) return content.error();
    contents.push_back(std::move(content).value());
  }
  if (contents.empty()) {
    contents.emplace_back();
    contents.front().file = file_;
    contents.front().kind = events_ == 0 ? ContentKind::empty : ContentKind::not_a_trace;
  }
  FileContent& first = contents.front();
  const std::set<int32_t> left_out(unassigned.begin(), unassigned.end());
  report(first, Severity::warning, "log-left-out",
         std::count_if(calls_.begin(), calls_.end(), [&](const LoggedCall& c) { return left_out.count(c.member) > 0; }),
         "calls of a process with several GPUs whose communicator does not hold all of these: which GPU made them is "
         "not recorded; left out");
  report_losses(first);
  for (Finding& finding : defects_.to_findings(file_)) add_finding(first.findings, std::move(finding));
  first.bytes = bytes;
  first.events = events_;
  for (FileContent& content : contents) {
    content.format = kInspectorLog;
    content.compression = compression;
  }
  return contents;
}

}  // namespace skewscope::ingest
