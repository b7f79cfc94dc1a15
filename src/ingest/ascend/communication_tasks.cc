// A call runs on several planes at once, each of which waits for one peer: while one plane waits for the last rank, the
// others wait, too, or have moved what they could. The call waits while some plane waits for a signal and none moves
// bytes: what remains is transfer, and what HCCL does itself. Cost: O(n log n) of the tasks of a call.
#include "communication_tasks.h"

#include <algorithm>
#include <string>

namespace skewscope::ingest {
namespace {

constexpr int64_t kMostRanks = 1'000'000;  // larger ones stand for "none"
constexpr int64_t kSeveralPeers = -2;

std::string task_column(const Database& database, const char* name) {
  return database.has_column("COMMUNICATION_TASK_INFO", name) ? name : "NULL";
}

}  // namespace

void CommunicationTasks::read(const Database& database) {
  if (!database.has_table("COMMUNICATION_TASK_INFO")) return;
  Statement rows = database.select("SELECT globalTaskId, opId, (SELECT value FROM STRING_IDS WHERE id = taskType), " +
                                   task_column(database, "size") + ", groupName, " + task_column(database, "srcRank") +
                                   ", " + task_column(database, "dstRank") + " FROM COMMUNICATION_TASK_INFO");
  while (rows.next()) {
    if (!rows.is_integer(0) || !rows.is_integer(1)) continue;
    Task task;
    task.global_task = rows.integer(0);
    task.op = rows.integer(1);
    const std::string_view type = rows.text(2);
    const bool signals = type.starts_with("Notify");
    if (type == "Notify_Wait" || type == "Notify Wait") task.does = Does::waits;
    if (!signals && rows.integer(3) > 0) task.does = Does::moves;
    tasks_.push_back(task);
    for (const int rank : {5, 6}) {
      const int64_t number = rows.is_integer(rank) ? rows.integer(rank) : -1;
      if (number < 0 || number >= kMostRanks || !rows.is_integer(4)) continue;
      int64_t& largest = largest_rank_[rows.integer(4)];
      largest = std::max(largest, number);
    }
    const int64_t own = rows.is_integer(5) ? rows.integer(5) : -1, peer = rows.is_integer(6) ? rows.integer(6) : -1;
    if (peer >= 0 && peer < kMostRanks && peer != own) {
      int64_t& known = peers_.try_emplace(task.op, peer).first->second;
      if (known != peer) known = kSeveralPeers;
    }
  }
  std::sort(tasks_.begin(), tasks_.end(), [](const Task& a, const Task& b) { return a.global_task < b.global_task; });
}

bool CommunicationTasks::add(int64_t global_task, int64_t start_ns, int64_t end_ns) {
  const auto task = std::lower_bound(tasks_.begin(), tasks_.end(), global_task,
                                     [](const Task& each, int64_t id) { return each.global_task < id; });
  if (task == tasks_.end() || task->global_task != global_task) return false;
  if (task->does != Does::other && end_ns > start_ns) {
    spans_[task->op].push_back({start_ns, end_ns, task->does == Does::waits});
  }
  return true;
}

int64_t CommunicationTasks::wait_of(int64_t op) const {
  const auto found = spans_.find(op);
  if (found == spans_.end()) return 0;
  struct Edge {
    int64_t at = 0;
    int32_t waits = 0, moves = 0;
  };
  std::vector<Edge> edges;
  for (const Span& span : found->second) {
    const int32_t waits = span.waits ? 1 : 0, moves = span.waits ? 0 : 1;
    edges.push_back({span.start_ns, waits, moves});
    edges.push_back({span.end_ns, -waits, -moves});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  int64_t wait_ns = 0, before = 0;
  int32_t waits = 0, moves = 0;
  for (const Edge& edge : edges) {
    if (waits > 0 && moves == 0) wait_ns += edge.at - before;
    before = edge.at;
    waits += edge.waits;
    moves += edge.moves;
  }
  return wait_ns;
}

int64_t CommunicationTasks::size_of_group(int64_t group_name) const {
  const auto largest = largest_rank_.find(group_name);
  return largest == largest_rank_.end() ? -1 : largest->second + 1;
}

int64_t CommunicationTasks::peer_of(int64_t op) const {
  const auto known = peers_.find(op);
  return known == peers_.end() ? -1 : std::max<int64_t>(known->second, -1);
}

int64_t CommunicationTasks::bytes() const {
  constexpr size_t kNode = 64;  // of a map
  auto bytes = static_cast<int64_t>(tasks_.size() * sizeof(Task) + peers_.size() * kNode);
  for (const auto& [op, spans] : spans_) bytes += static_cast<int64_t>(spans.size() * sizeof(Span));
  return bytes;
}

}  // namespace skewscope::ingest
