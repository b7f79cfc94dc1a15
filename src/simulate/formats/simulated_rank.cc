#include "simulated_rank.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "ascend_file.h"
#include "inspector_log.h"
#include "nsys_file.h"
#include "pftrace_file.h"
#include "rocpd_file.h"
#include "rocprof_file.h"
#include "rpd_file.h"
#include "xplane_file.h"

namespace skewscope::simulate {
namespace {

constexpr std::array kNodeFormats = {
    NodeFormat{"nsys", ".sqlite", write_nsys_file, nsys_part},
    NodeFormat{"xplane", ".xplane.pb", write_xplane_file, xplane_part},
    NodeFormat{"ascend", ".db", write_ascend_file, nullptr, ascend_file_name},
    NodeFormat{"rocpd", ".db", write_rocpd_file, nullptr, rocpd_file_name},
    NodeFormat{"rpd", ".rpd", write_rpd_file, nullptr, rpd_file_name},
    NodeFormat{"rocprofv3-json", ".json", write_rocprof_file, nullptr, rocprof_file_name},
    NodeFormat{"pftrace", ".pftrace", write_pftrace_file, nullptr, pftrace_file_name},
    NodeFormat{"nccl-inspector", ".log", write_inspector_log, nullptr, inspector_log_name},
    NodeFormat{"nccl-inspector-durations", ".log", write_inspector_durations, nullptr, inspector_log_name}};

}  // namespace

CallNumbers number_calls(const RankTrace& trace, int64_t first) {
  enum What : uint8_t { launch, record, wait };  // a record follows what it is ahead of
  std::vector<std::tuple<LocalNs, What, size_t>> order;
  for (size_t i = 0; i < trace.launches.size(); ++i) order.emplace_back(trace.launches.start[i], launch, i);
  for (size_t i = 0; i < trace.stream_waits.size(); ++i) {
    order.emplace_back(trace.stream_waits[i].recorded, record, i);
    order.emplace_back(trace.stream_waits[i].start, wait, i);
  }
  std::sort(order.begin(), order.end());
  CallNumbers numbers;
  numbers.launches.resize(trace.launches.size());
  numbers.records.resize(trace.stream_waits.size());
  numbers.waits.resize(trace.stream_waits.size());
  numbers.next = first;
  for (const auto& [at, what, row] : order) {
    (what == launch ? numbers.launches : what == record ? numbers.records : numbers.waits)[row] = numbers.next++;
  }
  return numbers;
}

const NodeFormat* node_format(const std::string& name) {
  for (const NodeFormat& format : kNodeFormats) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

std::string name_of_node_file(const NodeFormat& format, int32_t node) {
  return "node" + std::to_string(node) + format.suffix;
}

bool is_name_of_node_file(const std::string& name) {
  constexpr std::string_view kHead = "node";
  const size_t digits = name.find_first_not_of("0123456789", kHead.size());
  if (!name.starts_with(kHead) || digits == std::string::npos || digits == kHead.size()) return false;
  return std::any_of(kNodeFormats.begin(), kNodeFormats.end(), [&](const NodeFormat& format) {
    const std::string rest = name.substr(digits);
    return format.own_file == nullptr ? rest == format.suffix : rest.ends_with(format.suffix);
  });
}

}  // namespace skewscope::simulate
