// Problem: a memory event says how much was allocated and how much is held, not who asked, nor what is still there.
//
// Idea: the operator is the innermost one that ran on the event's thread at that moment. Addresses tell which block a
// free gives back; at the peak there are the blocks that were allocated until then and not freed. The rest of the
// peak was allocated before the recording began: events tell the sum, not the blocks.
//
// Cost: a binary search and a walk up the call tree per event; a map of the live blocks.
#include "memory_sums.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

namespace skewscope::summarize {
namespace {

constexpr int64_t kMemoryBins = 200;

// The innermost operator at that moment of that thread; -1: none.
int32_t operator_at(const OperatorView& view, int32_t thread, LocalNs at) {
  const HostEvents& host = view.host();
  size_t low = 0, high = host.size();  // the first row that begins later, or is of a later thread
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const bool before = std::tie(host.thread[middle], host.start[middle]) <= std::tie(thread, at);
    (before ? low : high) = before ? middle + 1 : middle;
  }
  if (low == 0 || host.thread[low - 1] != thread) return -1;
  int32_t row = static_cast<int32_t>(low) - 1;
  const auto holds = [&](size_t i) { return host.kind[i] == HostKind::op && host.end(i) >= at; };
  while (row >= 0 && !holds(static_cast<size_t>(row))) row = view.tree.parent[static_cast<size_t>(row)];
  return row;
}

std::vector<size_t> events_of(const MemoryEvents& memory, int32_t device) {
  std::vector<size_t> events;
  for (size_t i = 0; i < memory.size(); ++i) {
    if (memory.device[i] == device) events.push_back(i);
  }
  return events;
}

// `peak`: after how many of the events most was held; 0: before the first.
MemoryRow totals_of(const OperatorView& view, int32_t device, const std::vector<size_t>& events, size_t& peak) {
  const MemoryEvents& memory = view.detail.memory;
  MemoryRow row;
  row.device = device;
  row.first_allocated_bytes = memory.allocated[events.front()] - memory.bytes[events.front()];
  row.last_allocated_bytes = memory.allocated[events.back()];
  row.peak_allocated_bytes = row.first_allocated_bytes;
  row.peak_at_ns = memory.at[events.front()] - view.trace.first_event;
  peak = 0;
  for (size_t k = 0; k < events.size(); ++k) {
    const size_t i = events[k];
    ++(memory.bytes[i] >= 0 ? row.allocations : row.frees);
    row.peak_reserved_bytes = std::max(row.peak_reserved_bytes, memory.reserved[i]);
    if (memory.allocated[i] <= row.peak_allocated_bytes) continue;
    row.peak_allocated_bytes = memory.allocated[i];
    row.peak_at_ns = memory.at[i] - view.trace.first_event;
    peak = k + 1;
  }
  return row;
}

void add_memory_bins(const OperatorView& view, const MemoryRow& row, const std::vector<size_t>& events,
                     std::vector<MemoryBin>& bins) {
  const MemoryEvents& memory = view.detail.memory;
  const int64_t first_ns = memory.at[events.front()] - view.trace.first_event;
  const int64_t window_ns = memory.at[events.back()] - memory.at[events.front()];
  const int64_t length_ns = window_ns / kMemoryBins + 1;
  int64_t allocated = row.first_allocated_bytes, reserved = memory.reserved[events.front()];
  size_t next = 0;
  for (int64_t from = 0; from <= window_ns; from += length_ns) {
    MemoryBin bin{row.device, first_ns + from, length_ns, allocated, reserved};
    for (; next < events.size() && memory.at[events[next]] - memory.at[events.front()] < from + length_ns; ++next) {
      allocated = memory.allocated[events[next]];
      reserved = memory.reserved[events[next]];
      bin.allocated_bytes = std::max(bin.allocated_bytes, allocated);
      bin.reserved_bytes = std::max(bin.reserved_bytes, reserved);
    }
    bins.push_back(bin);
  }
}

// `events`: until the peak.
void add_at_peak(const OperatorView& view, const MemoryRow& device, const std::vector<size_t>& events,
                 std::vector<MemoryAtPeakRow>& out) {
  const MemoryEvents& memory = view.detail.memory;
  std::unordered_map<int64_t, size_t> live;  // address -> allocation
  for (const size_t i : events) {
    if (memory.bytes[i] >= 0) {
      live[memory.address[i]] = i;
    } else {
      live.erase(memory.address[i]);
    }
  }
  std::map<std::string, MemoryAtPeakRow> rows;
  int64_t before_bytes = device.peak_allocated_bytes;
  for (const auto& [address, i] : live) {
    const int32_t op = operator_at(view, memory.thread[i], memory.at[i]);
    const std::string name = op < 0 ? std::string() : std::string(view.name(op));
    MemoryAtPeakRow& row = rows[name];
    row.device = device.device;
    row.op = name;
    ++row.blocks;
    row.bytes += memory.bytes[i];
    before_bytes -= memory.bytes[i];
  }
  const size_t first = out.size();
  for (auto& [name, row] : rows) out.push_back(std::move(row));
  if (before_bytes != 0) out.push_back({device.device, "", false, -1, before_bytes});
  std::sort(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(),
            [](const MemoryAtPeakRow& a, const MemoryAtPeakRow& b) {
              return std::tie(b.bytes, a.op, a.recorded) < std::tie(a.bytes, b.op, b.recorded);
            });
}

}  // namespace

MemoryChanges memory_changes(const OperatorView& view) {
  const MemoryEvents& memory = view.detail.memory;
  MemoryChanges changes;
  if (memory.size() == 0) return changes;
  changes.host_self.resize(view.host().size());
  changes.gpu_self.resize(view.host().size());
  for (size_t i = 0; i < memory.size(); ++i) {
    const int32_t op = operator_at(view, memory.thread[i], memory.at[i]);
    if (op < 0) continue;
    (memory.device[i] < 0 ? changes.host_self : changes.gpu_self)[static_cast<size_t>(op)] += memory.bytes[i];
  }
  changes.host_total = subtree_sums(view.tree, changes.host_self);
  changes.gpu_total = subtree_sums(view.tree, changes.gpu_self);
  return changes;
}

void add_memory(const OperatorView& view, OperatorTables& tables) {
  std::vector<int32_t> devices = view.detail.memory.device;
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  for (const int32_t device : devices) {
    std::vector<size_t> events = events_of(view.detail.memory, device);
    size_t peak = 0;
    const MemoryRow row = totals_of(view, device, events, peak);
    tables.memory.devices.push_back(row);
    add_memory_bins(view, row, events, tables.memory.over_time);
    events.resize(peak);
    add_at_peak(view, row, events, tables.memory.at_peaks);
  }
}

}  // namespace skewscope::summarize
