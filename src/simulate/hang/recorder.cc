#include "src/simulate/hang/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/simulate/hang/plain_writer.h"

namespace skewscope::simulate::hang {
namespace {

const char* name_of(HangOp op) {
  switch (op) {
    case HangOp::all_reduce:
      return "all_reduce";
    case HangOp::reduce_scatter:
      return "_reduce_scatter_base";
    case HangOp::all_gather:
      return "_all_gather_base";
    case HangOp::send:
      return "send";
    case HangOp::recv:
      return "recv";
  }
  return "";
}

struct Counts {
  int64_t collectives = 0, messages = 0, calls = 0, completed = -1;
};

struct Entry {
  const HangCall* call;
  const RanCall* ran;
  Counts counts;  // of its group, with it
  size_t record;
  bool completed;
};

void write_list_of(PlainWriter& out, int64_t elements) {
  out.begin_list().begin_list().number(elements).end_list().end_list();
}

void write_frames(PlainWriter& out, HangOp op) {
  const bool message = op == HangOp::send || op == HangOp::recv;
  out.key("frames").begin_list();
  const std::pair<const char*, int64_t> frames[] = {
      {"distributed_c10d.py", 3068}, {message ? "schedule.py" : "model.py", message ? 210 : 87}, {"train.py", 41}};
  for (const auto& [file, line] : frames) {
    out.begin_dict().key("name").text(line == 41 ? "main" : "step").key("filename").text(fmt::format("/work/{}", file));
    out.key("line").number(line).end_dict();
  }
  out.end_list();
}

void write_entry(PlainWriter& out, const HangJob& job, int32_t rank, const Entry& entry, const RecorderStyle& style,
                 int64_t offset_ns) {
  const HangGroupPlan& group = job.groups[static_cast<size_t>(entry.call->group)];
  const auto& own = job.groups_of[static_cast<size_t>(rank)];
  const bool message = entry.call->peer >= 0;
  std::string name = fmt::format("nccl:{}", name_of(entry.call->op));
  if (message) {
    const auto place = std::find(group.ranks.begin(), group.ranks.end(), rank) - group.ranks.begin();
    name += fmt::format(" {}{}{}", place, entry.call->op == HangOp::send ? "->" : "<-", entry.call->peer);
  }
  const auto on_clock = [&](int64_t ns) { return ns < 0 ? -1 : ns + offset_ns; };
  out.begin_dict();
  if (style.frames) write_frames(out, entry.call->op);
  out.key("record_id").number(static_cast<int64_t>(entry.record));
  out.key("pg_id").number(std::find(own.begin(), own.end(), entry.call->group) - own.begin());
  out.key("process_group").begin_list().text(fmt::format("{}", entry.call->group)).text(group.description).end_list();
  out.key("collective_seq_id").number(entry.counts.collectives).key("p2p_seq_id").number(entry.counts.messages);
  out.key("op_id").number(entry.counts.calls).key("profiling_name").text(name);
  out.key("time_created_ns").number(on_clock(entry.ran->created_ns));
  write_list_of(out.key("input_sizes"), entry.call->elements);
  out.key("input_dtypes").begin_list().text("BFloat16").end_list();
  write_list_of(out.key("output_sizes"), entry.call->elements);
  out.key("output_dtypes").begin_list().text("BFloat16").end_list();
  const bool started = style.starts && entry.ran->started_ns >= 0;
  out.key("state").text(entry.completed ? "completed" : started ? "started" : "scheduled");
  out.key("time_discovered_started_ns").number(started ? on_clock(entry.ran->started_ns) : -1);
  out.key("time_discovered_completed_ns").number(entry.completed ? on_clock(entry.ran->completed_ns) : -1);
  out.key("retired").whether(entry.completed).key("timeout_ms").number(600'000).key("is_p2p").whether(message);
  out.end_dict();
}

void write_groups(PlainWriter& out, const HangJob& job, int32_t rank) {
  out.key("pg_config").begin_dict();
  for (const int32_t number : job.groups_of[static_cast<size_t>(rank)]) {
    const HangGroupPlan& group = job.groups[static_cast<size_t>(number)];
    const std::string name = fmt::format("{}", number);
    out.key(name).begin_dict().key("name").text(name).key("desc").text(group.description);
    out.key("ranks").text(fmt::format("[{}]", fmt::join(group.ranks, ", "))).end_dict();
  }
  out.end_dict();
}

}  // namespace

std::string dump_text(const HangJob& job, const Standstill& still, int32_t rank, const RecorderStyle& style,
                      int64_t clock_offset_ns) {
  const auto at = static_cast<size_t>(rank);
  std::map<int32_t, Counts> counts;
  std::vector<Entry> entries;
  for (size_t i = 0; i < still.calls[at].size(); ++i) {
    const HangCall& call = job.calls[at][i];
    const RanCall& ran = still.calls[at][i];
    Counts& count = counts[call.group];
    ++(call.peer >= 0 ? count.messages : count.collectives);
    ++count.calls;
    const bool completed = ran.completed_ns >= 0 && (style.blind_from == 0 || i < style.blind_from);
    const int64_t number = call.peer >= 0 ? count.messages : count.collectives;
    if (completed) count.completed = number;
    entries.push_back({&call, &ran, count, i, completed});
  }
  PlainWriter out(style.json);
  out.begin_dict().key("version").text("2.10");
  write_groups(out, job, rank);
  out.key("pg_status").begin_dict();
  int64_t id = 0;
  for (const int32_t number : job.groups_of[at]) {
    const Counts& count = counts[number];
    out.key(fmt::format("{}", id++)).begin_dict();
    out.key("last_enqueued_collective").number(std::max(count.messages, count.collectives));
    out.key("last_started_collective").number(-1);
    out.key("last_completed_collective").number(count.completed).end_dict();
  }
  out.end_dict().key("entries").begin_list();
  for (const Entry& entry : entries) {
    const bool kept = entry.record + style.ring >= entries.size() && !(style.active_only && entry.completed);
    if (kept) write_entry(out, job, rank, entry, style, clock_offset_ns);
  }
  out.end_list().end_dict();
  return out.take();
}

}  // namespace skewscope::simulate::hang
