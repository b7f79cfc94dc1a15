#include "rank_words.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace skewscope::ingest {
namespace {

int64_t busiest_device_of(const ProcessRows& process) {
  const auto& rows = process.rows_of_device;
  const auto most =
      std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == rows.end() ? -1 : most->first;
}

void say(int64_t rank, int64_t world_size, const std::string& from, ProcessRows& process) {
  DistributedInfo& told = process.rows.content().distributed;
  if (told.present || rank < 0) return;
  told.present = true;
  told.rank = rank;
  told.world_size = world_size;
  told.rank_from = from;
}

// By device where each process has one of its own, else by number.
void place(ProcessTable& processes) {
  std::vector<std::pair<int64_t, ProcessRows*>> order;
  std::set<int64_t> devices;
  for (const auto& [key, process] : processes.all()) {
    order.emplace_back(busiest_device_of(*process), process.get());
    devices.insert(order.back().first);
  }
  if (devices.size() == order.size()) std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i)
    order[i].second->rows.content().distributed.place_in_file = static_cast<int64_t>(i);
}

}  // namespace

void tell_ranks(const Session& session, ProcessTable& processes) {
  const bool alone = processes.all().size() == 1;
  for (const auto& [key, process] : processes.all()) {
    if (const auto own = session.of_process.find(key); own != session.of_process.end()) {
      const EnvironmentRank& told = own->second;
      say(told.rank, told.world_size, told.variable + " of the environment", *process);
    }
    const auto machine = session.of_machine.find(machine_number(key));
    if (alone && machine != session.of_machine.end()) {
      const EnvironmentRank& told = machine->second;
      say(told.rank, told.world_size, told.variable + " of the session's environment", *process);
    }
    const bool one_device = process->xla_globals == 1;
    say(one_device ? process->xla_global : process->xla_process, -1, "name of XLA's thread", *process);
    say(process->nccl.largest().rank, -1, "rank in the largest communicator", *process);
  }
  if (!alone) place(processes);
}

}  // namespace skewscope::ingest
