#include "host_collector.h"

#include <algorithm>
#include <charconv>

#include "protobuf.h"
#include "src/ingest/content/row_names.h"

namespace skewscope::ingest {
namespace {

constexpr std::string_view kExecution = ":XLA GPU module";  // "jit_step:XLA GPU module"
constexpr std::string_view kRun = "PjRtLoadedExecutable::Execute (";
constexpr int64_t kTpuLaunch = 12;  // ContextType of xprof's connected_traceme

// "devices=4:[0,1,2,3]; ..." -> the numbers in brackets
std::vector<int64_t> devices_of(std::string_view clique) {
  std::vector<int64_t> devices;
  const size_t open = clique.find('['), close = clique.find(']');
  if (!clique.starts_with("devices=") || close == std::string_view::npos || open > close) return devices;
  for (const char* at = clique.data() + open + 1; at < clique.data() + close;) {
    int64_t device = 0;
    const auto [end, error] = std::from_chars(at, clique.data() + close, device);
    if (error != std::errc()) return {};
    devices.push_back(device);
    at = end + 1;
  }
  return devices;
}

}  // namespace

HostCollector::HostCollector(const Plane& plane, const XTime& time, bool details, HostPlane& host)
    : plane_(plane), time_(time), details_(details), host_(host), roles_(plane) {
  try {
    plane_.each_stat([&](std::string_view name, const XStat& stat) {
      if (name == "process_id") host_.process_id = stat.integer;
    });
  } catch (const protozero::exception&) {  // what could be read was
  }
}

bool HostCollector::begin_line(const XLine& line) {
  line_ = line;
  host_.threads.push_back({line.id, line.name});
  return true;
}

HostCollector::Kind& HostCollector::kind_of(int64_t id) {
  static const std::string kUnnamed = "unknown";
  const auto [known, added] = kinds_.try_emplace(id);
  if (!added) return known->second;
  Kind& kind = known->second;
  kind.name = &kUnnamed;
  const auto found = plane_.events.find(id);
  if (found == plane_.events.end()) return kind;
  kind.name = &found->second.name;
  const std::string_view name = found->second.name;
  if (name.ends_with(kExecution)) kind.meaning = Meaning::execution;
  if (name.find(kRun) != std::string_view::npos) kind.meaning = Meaning::run;
  if (name == "AcquireGpuClique") kind.meaning = Meaning::clique;
  if (synchronizes(name)) kind.meaning = Meaning::sync;
  return kind;
}

void HostCollector::add(const XEvent& event) {
  ++host_.events;
  const Kind& kind = kind_of(event.kind);
  HostRange range;
  range.start = time_.at(line_.timestamp_ns, event.offset_ps);
  range.duration_ns =
      std::max<int64_t>(time_.at(line_.timestamp_ns, event.offset_ps + event.duration_ps) - range.start, 0);
  range.thread = static_cast<int32_t>(host_.threads.size()) - 1;
  range.name = kind.name;
  int64_t correlation = -1, device_id = -1, device = -1, rank = -1, run = -1, step = -1, flow = 0, flow_type = -1;
  bool copies = false;
  std::string_view clique;
  for (const std::string_view message : event.stats) {
    const XStat stat = plane_.stat(message);
    switch (roles_.of(stat.id)) {
      case StatRole::correlation_id:
        correlation = stat.integer;
        break;
      case StatRole::device_id:
        device_id = stat.integer;
        break;
      case StatRole::memcpy_details:
      case StatRole::memset_details:
        copies = true;
        break;
      case StatRole::device:
        device = stat.integer;
        break;
      case StatRole::rank:
        rank = stat.integer;
        break;
      case StatRole::clique_key:
        clique = stat.text;
        break;
      case StatRole::run_id:
        run = stat.integer;
        break;
      case StatRole::step_num:
        step = stat.integer;
        break;
      case StatRole::producer:
        flow = stat.integer;
        break;
      case StatRole::producer_type:
        flow_type = stat.integer;
        break;
      default:
        break;
    }
  }
  if (details_) host_.rows.push_back(range);
  const HostLaunch launch{correlation,
                          range.start,
                          range.duration_ns,
                          range.thread,
                          static_cast<int32_t>(std::clamp<int64_t>(device_id, -1, INT32_MAX)),
                          static_cast<int32_t>(host_.rows.size()) - 1,
                          copies};
  if (kind.meaning == Meaning::sync) {
    host_.syncs.push_back(range);
  } else if (correlation >= 0) {
    host_.launches.push_back(launch);
  } else if (flow_type == kTpuLaunch) {
    host_.enqueued.emplace(flow, launch);
  } else if (step >= 0) {
    range.number = step;
    host_.steps.push_back(range);
  } else if (kind.meaning == Meaning::execution || (kind.meaning == Meaning::run && run >= 0)) {
    range.number = run;
    host_.executions.push_back(range);
  } else if (kind.meaning == Meaning::clique) {
    add_clique(device, rank, clique);
  }
}

// The key lists the clique's devices by their global ids, in the order of its ranks.
void HostCollector::add_clique(int64_t device, int64_t rank, std::string_view key) {
  const std::vector<int64_t> devices = devices_of(key);
  if (device < 0 || rank < 0 || std::cmp_greater_equal(rank, devices.size())) return;
  const int64_t id = devices[static_cast<size_t>(rank)];
  const auto [known, added] = host_.global_ids.emplace(device, id);
  if (!added && known->second != id) known->second = -1;  // they contradict each other
  int64_t& largest = host_.clique_devices[device];
  largest = std::max(largest, std::ssize(devices));
}

}  // namespace skewscope::ingest
