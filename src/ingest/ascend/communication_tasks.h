// What a device did inside of collectives: the tasks that HCCL makes of a call, of which some move bytes and some wait
// for a signal of another rank.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "src/ingest/sqlite/database.h"

namespace skewscope::ingest {

class CommunicationTasks {
 public:
  // COMMUNICATION_TASK_INFO, where it is there.
  void read(const Database& database);
  // A row of TASK. Whether it is a part of a call.
  bool add(int64_t global_task, int64_t start_ns, int64_t end_ns);

  // After all tasks are there: how long the call waited while it moved nothing; 0: none of its tasks waits.
  int64_t wait_of(int64_t op) const;
  // Members of the group, by the largest rank inside it that a task names; -1: none names any.
  int64_t size_of_group(int64_t group_name) const;
  // The only rank inside the group that the call's tasks are with; -1: there are several, or none is told.
  int64_t peer_of(int64_t op) const;
  int64_t bytes() const;

 private:
  enum class Does : uint8_t { other, waits, moves };
  struct Task {
    int64_t global_task = 0;
    int64_t op = 0;
    Does does = Does::other;
  };
  struct Span {
    int64_t start_ns = 0, end_ns = 0;
    bool waits = false;
  };

  std::vector<Task> tasks_;  // by global_task
  std::map<int64_t, std::vector<Span>> spans_;
  std::map<int64_t, int64_t> largest_rank_;
  std::map<int64_t, int64_t> peers_;  // by op
};

}  // namespace skewscope::ingest
