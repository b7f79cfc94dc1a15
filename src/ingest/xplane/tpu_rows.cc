#include "tpu_rows.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace skewscope::ingest {
namespace {

constexpr int32_t kFirstTransferStream = 100;

bool earlier(const DeviceRow& a, const DeviceRow& b) {
  return std::tuple(a.start, -a.duration_ns) < std::tuple(b.start, -b.duration_ns);
}

LocalNs end_of(const DeviceRow& row) { return row.start + row.duration_ns; }

// "all-reduce-done.3" ends "all-reduce-start.3".
std::string start_of_done(std::string name) {
  const size_t at = name.find("-done");
  if (at != std::string::npos) name.replace(at, 5, "-start");
  return name;
}

}  // namespace

// Where the profile has no line of transfers: a done ends the latest start of its name.
void TpuRows::pair_up(const std::vector<DeviceOp>& ops) {
  std::map<std::string, const DeviceRow*> open;
  for (const Row& one : core_) {
    if (one.row.op < 0) continue;
    const std::string& name = ops[static_cast<size_t>(one.row.op)].name;
    if (is_start(one.opcode)) {
      open[name] = &one.row;
    } else if (is_done(one.opcode)) {
      const auto start = open.find(start_of_done(name));
      if (start == open.end()) continue;
      Row both{*start->second, one.opcode};
      both.row.duration_ns = end_of(one.row) - both.row.start;
      transfers_.push_back(both);
      open.erase(start);
    }
  }
}

void TpuRows::drop_holders() {
  const auto holds = [](std::string_view opcode) {
    return opcode == "while" || opcode == "conditional" || opcode == "call";
  };
  std::vector<bool> dropped(core_.size(), false);
  for (size_t i = 0; i + 1 < core_.size(); ++i) {
    dropped[i] = holds(core_[i].opcode) && end_of(core_[i + 1].row) <= end_of(core_[i].row);
  }
  size_t kept = 0;
  for (size_t i = 0; i < core_.size(); ++i) {
    const bool of_transfer = is_start(core_[i].opcode) || is_done(core_[i].opcode);
    if (!dropped[i] && !of_transfer) core_[kept++] = core_[i];
  }
  core_.resize(kept);
}

void TpuRows::lay_side_by_side() {
  std::vector<LocalNs> free_from;
  for (Row& one : transfers_) {
    size_t stream = 0;
    while (stream < free_from.size() && free_from[stream] > one.row.start) ++stream;
    if (stream == free_from.size()) free_from.push_back(one.row.start);
    free_from[stream] = end_of(one.row);
    one.row.stream = kFirstTransferStream + static_cast<int32_t>(stream);
  }
}

std::vector<DeviceRow> TpuRows::take(const std::vector<DeviceOp>& ops, std::vector<ProgramRun>& runs) {
  const auto before = [](const Row& a, const Row& b) { return earlier(a.row, b.row); };
  std::stable_sort(core_.begin(), core_.end(), before);
  if (transfers_.empty()) pair_up(ops);
  std::stable_sort(transfers_.begin(), transfers_.end(), before);
  drop_holders();
  lay_side_by_side();
  std::stable_sort(runs.begin(), runs.end(),
                   [](const ProgramRun& a, const ProgramRun& b) { return a.start < b.start; });
  std::vector<DeviceRow> rows;
  rows.reserve(core_.size() + transfers_.size());
  for (std::vector<Row>* list : {&core_, &transfers_}) {
    for (Row& one : *list) {
      const auto run = std::upper_bound(runs.begin(), runs.end(), one.row.start,
                                        [](LocalNs t, const ProgramRun& r) { return t < r.start; });
      one.row.correlation = run - runs.begin() - 1;
      const DeviceOp* op = one.row.op < 0 ? nullptr : &ops[static_cast<size_t>(one.row.op)];
      if (op != nullptr && op->told() != nullptr) one.row.work = GpuWork::communication;
      if (one.opcode.starts_with("copy-")) one.row.work = GpuWork::memcpy;
      if (one.row.work == GpuWork::memcpy && op != nullptr) one.row.bytes = op->bytes;
      rows.push_back(one.row);
    }
    std::vector<Row>().swap(*list);
  }
  std::stable_sort(rows.begin(), rows.end(), earlier);
  return rows;
}

}  // namespace skewscope::ingest
