#include "rocprof_record.h"

#include <string_view>

namespace skewscope::ingest {
namespace {

namespace ondemand = simdjson::ondemand;

bool read_correlation(ondemand::value value, RocprofRecord& record) {
  ondemand::object ids;
  ondemand::value id;
  if (value.get_object().get(ids) != simdjson::SUCCESS) return true;
  if (ids["internal"].get(id) == simdjson::SUCCESS) record.correlation = integer_of(id);
  return true;
}

bool read_size(ondemand::value value, DispatchGrids::Size& size) {
  ondemand::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return true;
  for (auto field : object) {
    std::string_view key;
    ondemand::value side;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get(side) != simdjson::SUCCESS)
      return false;
    constexpr std::string_view kSides = "xyz";
    const size_t at = key.size() == 1 ? kSides.find(key) : kSides.npos;
    if (at != kSides.npos) size[at] = integer_of(side);
  }
  return true;
}

bool read_dispatch(ondemand::value value, RocprofRecord& record) {
  ondemand::object info;
  if (value.get_object().get(info) != simdjson::SUCCESS) return true;
  for (auto field : info) {
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
    ondemand::value fact;
    if (field.value().get(fact) != simdjson::SUCCESS) return false;
    if (key == "agent_id") record.agent = handle_of(fact);
    if (key == "kernel_id") record.kernel = integer_of(fact);
    if (key == "grid_size" && !read_size(fact, record.grid)) return false;
    if (key == "workgroup_size" && !read_size(fact, record.group)) return false;
  }
  return true;
}

}  // namespace

int64_t integer_of(ondemand::value value) {
  int64_t number = -1;
  return value.get_int64().get(number) == simdjson::SUCCESS ? number : -1;
}

int64_t handle_of(ondemand::value value) {
  ondemand::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return integer_of(value);
  ondemand::value handle;
  return object["handle"].get(handle) == simdjson::SUCCESS ? integer_of(handle) : -1;
}

bool read_rocprof_record(ondemand::object object, RocprofRecord& record) {
  for (auto field : object) {
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
    ondemand::value value;
    if (field.value().get(value) != simdjson::SUCCESS) return false;
    if (key == "start_timestamp") record.start_ns = integer_of(value);
    if (key == "end_timestamp") record.end_ns = integer_of(value);
    if (key == "kind") record.kind = integer_of(value);
    if (key == "operation") record.operation = integer_of(value);
    if (key == "thread_id") record.thread = integer_of(value);
    if (key == "bytes") record.bytes = integer_of(value);
    if (key == "stream_id") record.stream = handle_of(value);
    if (key == "dst_agent_id") record.agent = handle_of(value);
    if (key == "src_agent_id") record.source_agent = handle_of(value);
    if (key == "correlation_id" && !read_correlation(value, record)) return false;
    if (key == "dispatch_info" && !read_dispatch(value, record)) return false;
  }
  return true;
}

}  // namespace skewscope::ingest
