// What the recorder writes is in src/ingest/inspector/README.md. Numbers count per communicator and operation from the
// first call on, so ranks that recorded all of their calls agree.
#include "inspector_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

namespace skewscope::simulate {
namespace {

const char* operation_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::barrier:
      return "AllReduce";
    case CollectiveKind::all_gather:
      return "AllGather";
    case CollectiveKind::reduce_scatter:
      return "ReduceScatter";
    case CollectiveKind::all_to_all:
      return "AlltoAll";
    case CollectiveKind::broadcast:
      return "Broadcast";
    case CollectiveKind::reduce:
      return "Reduce";
    case CollectiveKind::gather:
      return "Gather";
    case CollectiveKind::scatter:
      return "Scatter";
    case CollectiveKind::send:
      return "Send";
    case CollectiveKind::recv:
      return "Recv";
    case CollectiveKind::send_recv:
    case CollectiveKind::coalesced:
    case CollectiveKind::unknown:
      return nullptr;
  }
  return nullptr;
}

uint64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash & 0xffffffffffffff;
}

struct Line {
  int64_t end_ns = 0, communicator = -1;
  std::string call;  // "coll_perf" or "p2p_perf"
};

class LogWriter {
 public:
  LogWriter(const TraceFile& rank, const InspectorLogOptions& options) : rank_(rank), options_(options) {
    for (const GroupMention& mention : rank.linked.groups) groups_.push_back(group_of(mention));
  }

  std::string write() {
    const Column<CollectiveCall>& calls = rank_.linked.trace.calls;
    for (size_t i = 0; i < calls.size(); ++i) add(calls[i], i);
    std::stable_sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) {
      return std::pair(a.end_ns, a.communicator) < std::pair(b.end_ns, b.communicator);
    });
    std::string text;
    for (size_t begin = 0, end = 0; begin < lines_.size(); begin = end) {
      const int64_t dump = lines_[begin].end_ns / options_.dump_every_ns;
      while (end < lines_.size() && lines_[end].end_ns / options_.dump_every_ns == dump) ++end;
      write_dump(begin, end, (dump + 1) * options_.dump_every_ns, text);
    }
    return text;
  }

 private:
  struct Group {
    std::string header;
    std::vector<int64_t> ranks;
    int64_t own = -1;  // its place in them
  };

  Group group_of(const GroupMention& mention) const {
    Group group;
    for (const ProcessGroup& listed : rank_.evidence.distributed.groups) {
      if (listed.name == mention.name) group.ranks = listed.ranks.ranks();
    }
    const auto at = std::find(group.ranks.begin(), group.ranks.end(), rank_.evidence.distributed.rank);
    if (at == group.ranks.end()) return group;
    group.own = at - group.ranks.begin();
    std::string identity = mention.name;
    for (const int64_t member : group.ranks) identity += fmt::format(",{}", member);
    group.header = fmt::format(R"("header":{{"id":"0x{:x}","comm_name":"{}","rank":{},"n_ranks":{},"nnodes":1}})",
                               hash_of(identity), mention.description, group.own, group.ranks.size());
    return group;
  }

  std::string times_of(const CollectiveCall& call, const char* what) const {
    if (!options_.verbose) return "";
    const int64_t start = call.start.ns / 1000, stop = call.end().ns / 1000;
    return fmt::format(
        R"(,"event_trace_sn":{{"{0}_start_sn":1,"{0}_stop_sn":2,"kernel_events":[{{"channel_id":0,"kernel_start_sn":3,)"
        R"("kernel_stop_sn":5,"kernel_record_sn":4}}]}},"event_trace_ts":{{"{0}_start_ts":{1},"{0}_stop_ts":{1},)"
        R"("kernel_events":[{{"channel_id":0,"kernel_start_ts":{1},"kernel_stop_ts":{2},"kernel_record_ts":{2}}}]}})",
        what, start, stop);
  }

  void add(const CollectiveCall& call, size_t row) {
    const OpenCall& open = rank_.linked.open_calls[row];
    const char* operation = operation_of(call.kind);
    if (operation == nullptr || open.group < 0 || groups_[static_cast<size_t>(open.group)].own < 0) return;
    const Group& group = groups_[static_cast<size_t>(open.group)];
    const int64_t elements = call.kind == CollectiveKind::reduce_scatter ? call.out_elements : call.in_elements;
    const int64_t bytes = std::max<int64_t>(0, elements) * element_bytes(call.dtype), us = call.duration_ns / 1000;
    std::string text;
    if (is_point_to_point(call.kind)) {
      const auto peer = std::find(group.ranks.begin(), group.ranks.end(), int64_t{call.peer.value});
      const int64_t place = open.peer_in_group >= 0 ? open.peer_in_group : peer - group.ranks.begin();
      text = fmt::format(R"("p2p_perf":{{"p2p":"{}","p2p_sn":{},"p2p_peer":{},"p2p_msg_size_bytes":{},)"
                         R"("p2p_exec_time_us":{},"p2p_timing_source":"kernel_gpu"{}}})",
                         operation, ++numbers_[{open.group, "p2p"}], place, bytes, us, times_of(call, "p2p"));
    } else {
      text = fmt::format(R"("coll_perf":{{"coll":"{}","coll_algo":"{}","coll_proto":"{}","coll_sn":{},)"
                         R"("coll_msg_size_bytes":{},"coll_exec_time_us":{},"coll_timing_source":"kernel_gpu"{}}})",
                         operation, options_.algorithm, options_.protocol, numbers_[{open.group, operation}]++, bytes,
                         us, times_of(call, "coll"));
    }
    lines_.push_back({call.end().ns, open.group, std::move(text)});
  }

  std::string metadata(int64_t dumped_ns) const {
    return fmt::format(R"("metadata":{{"inspector_output_format_version":"{}","git_rev":"","rec_mechanism":)"
                       R"("nccl_profiler_interface","dump_timestamp_us":{},"hostname":"{}","pid":{}}})",
                       options_.markers ? "v4.4" : "v4.2", dumped_ns / 1000, rank_.evidence.host, options_.process_id);
  }

  // Communicator by communicator.
  void write_dump(size_t begin, size_t end, int64_t dumped_ns, std::string& text) {
    std::map<int64_t, std::vector<const Line*>> by_communicator;
    for (size_t i = begin; i < end; ++i) by_communicator[lines_[i].communicator].push_back(&lines_[i]);
    for (const auto& [communicator, lines] : by_communicator) {
      const std::string& header = groups_[static_cast<size_t>(communicator)].header;
      if (options_.markers) {
        text += fmt::format(R"({{{},{},"dump_stats":{{"coll_records":{},"coll_dropped_total":0,)"
                            R"("coll_dropped_since_last_dump":0,"p2p_records":0,"p2p_dropped_total":0,)"
                            R"("p2p_dropped_since_last_dump":0}}}})",
                            header, metadata(dumped_ns), lines.size());
        text += '\n';
      }
      for (const Line* line : lines) {
        text += options_.markers ? fmt::format("{{{}}}\n", line->call)
                                 : fmt::format("{{{},{},{}}}\n", header, metadata(dumped_ns), line->call);
      }
    }
  }

  const TraceFile& rank_;
  const InspectorLogOptions& options_;
  std::vector<Group> groups_;  // row = row of LinkedTrace::groups
  std::map<std::pair<int32_t, std::string>, int64_t> numbers_;
  std::vector<Line> lines_;
};

bool write_log(const SimulatedRank& rank, bool verbose, const std::string& path) {
  InspectorLogOptions options;
  options.process_id = rank.process;
  options.verbose = options.markers = verbose;
  std::ofstream out(path, std::ios::binary);
  out << inspector_log(rank.file, options);
  out.close();
  return !out.fail();
}

}  // namespace

std::string inspector_log(const TraceFile& rank, const InspectorLogOptions& options) {
  return LogWriter(rank, options).write();
}

std::string inspector_log_name(const TraceFile& rank, int64_t process_id) {
  return fmt::format("{}-pid{}.log", rank.evidence.host, process_id);
}

bool write_inspector_log(const std::vector<SimulatedRank>& ranks, const std::string& path) {
  return write_log(ranks.front(), true, path);
}

bool write_inspector_durations(const std::vector<SimulatedRank>& ranks, const std::string& path) {
  return write_log(ranks.front(), false, path);
}

}  // namespace skewscope::simulate
