#include "top_level.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "repair.h"
#include "src/ingest/text/characters.h"
#include "src/ingest/text/number_text.h"
#include "src/ingest/text/unescape.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

// Behind the string at text[at] == '"'; text.size() where it has no end.
size_t behind_string(std::string_view text, size_t at) {
  for (at++; at < text.size(); at++) {
    if (text[at] == '\\') {
      at++;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

// Behind the value at text[at].
size_t behind_value(std::string_view text, size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = behind_string(text, at);
    } else if (c == '{' || c == '[') {
      depth++;
      at++;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;
      depth--;
      at++;
    } else if (depth == 0 && c == ',') {
      return at;
    } else {
      at++;
      continue;
    }
    if (depth == 0) return at;
  }
  return at;
}

std::string text_of(std::string_view value) {
  value = trimmed(value);
  if (value.size() < 2 || value.front() != '"') return std::string(value);
  std::string text;
  int64_t bad_escapes = 0;
  unescape(value.substr(1, value.size() - 2), text, bad_escapes);
  return text;
}

namespace dom = simdjson::dom;

int64_t integer_of(const dom::element& element) {
  int64_t value = -1;
  std::string_view text;
  if (element.get_string().get(text) == simdjson::SUCCESS) return read_integer(text, value) ? value : -1;
  return element.get_int64().get(value) == simdjson::SUCCESS ? value : -1;
}

int64_t integer_at(const dom::object& object, std::string_view key) {
  dom::element element;
  return object[key].get(element) == simdjson::SUCCESS ? integer_of(element) : -1;
}

std::string string_at(const dom::object& object, std::string_view key) {
  dom::element element;
  if (object[key].get(element)) return {};
  std::string_view text;
  if (element.get_string().get(text) == simdjson::SUCCESS) return std::string(text);
  const int64_t number = integer_of(element);
  return number >= 0 ? std::to_string(number) : std::string();
}

ProcessGroup group_of(const dom::object& object) {
  ProcessGroup group;
  group.name = string_at(object, "pg_name");
  group.description = string_at(object, "pg_desc");
  group.size = integer_at(object, "pg_size");
  dom::array ranks;
  if (object["ranks"].get_array().get(ranks) == simdjson::SUCCESS) {
    std::vector<int64_t> listed;
    for (const dom::element rank : ranks) listed.push_back(integer_of(rank));
    group.ranks = RankRuns(listed);
  } else {
    group.ranks_text = string_at(object, "ranks");
  }
  return group;
}

void read_distributed(const dom::object& object, bool after_events, DistributedInfo& info) {
  info = {};
  info.present = true;
  info.after_events = after_events;
  info.rank = integer_at(object, "rank");
  info.world_size = integer_at(object, "world_size");
  info.backend = string_at(object, "backend");
  dom::array groups;
  if (object["pg_config"].get_array().get(groups)) return;
  for (const dom::element group : groups) {
    dom::object members;
    if (group.get_object().get(members) == simdjson::SUCCESS) info.groups.push_back(group_of(members));
  }
}

int32_t small_integer_at(const dom::object& object, std::string_view key) {
  const int64_t value = integer_at(object, key);
  return value <= std::numeric_limits<int32_t>::max() ? static_cast<int32_t>(std::max<int64_t>(value, -1)) : -1;
}

DeviceProperties properties_of(const dom::object& object) {
  DeviceProperties device;
  device.name = string_at(object, "name");
  device.memory_bytes = integer_at(object, "totalGlobalMem");
  device.sms = small_integer_at(object, "numSms");
  device.threads_per_sm = small_integer_at(object, "maxThreadsPerMultiprocessor");
  device.warp_size = small_integer_at(object, "warpSize");
  device.compute_major = small_integer_at(object, "computeMajor");
  device.compute_minor = small_integer_at(object, "computeMinor");
  return device;
}

void read_devices(const dom::array& list, std::vector<DeviceProperties>& devices) {
  constexpr int64_t kMostDevices = 1024;
  for (const dom::element device : list) {
    dom::object properties;
    if (device.get_object().get(properties)) continue;
    const int64_t id = integer_at(properties, "id");
    if (id < 0 || id >= kMostDevices) continue;
    if (devices.size() <= static_cast<size_t>(id)) devices.resize(static_cast<size_t>(id) + 1);
    devices[static_cast<size_t>(id)] = properties_of(properties);
  }
}

// As repair_event() reads it. What it takes is an object: the value is its only member.
bool parse_repaired(std::string_view value, dom::parser& parser, dom::element& element) {
  const std::string text = "{\"value\": " + std::string(value) + "}";
  TextBuffer clean;
  const RepairedEvent repaired = repair_event(text, 0, text.size(), false, clean);
  dom::element whole;
  return repaired.closed && repaired.end == text.size() &&
         parser.parse(simdjson::padded_string(clean.view())).get(whole) == simdjson::SUCCESS &&
         whole["value"].get(element) == simdjson::SUCCESS;
}

// CUDA's number of a version: 12080 is 12.8.
std::string cuda_version(int64_t number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

// HIP's: 60443483 is 6.4.43483.
std::string hip_version(int64_t number) {
  return fmt::format("{}.{}.{}", number / 10'000'000, number / 100'000 % 100, number % 100'000);
}

void add_software(std::string named, FileContent& content) {
  std::vector<std::string>& software = content.software;
  if (std::find(software.begin(), software.end(), named) == software.end()) software.push_back(std::move(named));
}

void read_version(std::string_view key, std::string_view value, FileContent& content) {
  struct Library {
    std::string_view key;
    const char* name;
    int64_t least;  // number of a version
    std::string (*words)(int64_t);
  };
  static constexpr Library kLibraries[] = {{"cuda_runtime_version", "CUDA", 1000, cuda_version},
                                           {"cuda_driver_version", "CUDA-driver", 1000, cuda_version},
                                           {"hip_runtime_version", "HIP", 10'000'000, hip_version},
                                           {"hip_driver_version", "HIP-driver", 10'000'000, hip_version}};
  for (const Library& library : kLibraries) {
    int64_t number = 0;
    if (key != library.key || !read_integer(value, number) || number < library.least) continue;
    add_software(fmt::format("{}/{}", library.name, library.words(number)), content);
  }
}

// "2.28.9"; on demand, traces say "unknown".
bool is_version(std::string_view text) {
  constexpr size_t kLongest = 32;
  return !text.empty() && text.size() <= kLongest && text.front() >= '0' && text.front() <= '9' &&
         text.find_first_not_of("0123456789.+-abcdefghijklmnopqrstuvwxyz") == std::string_view::npos;
}

// One member of the top level. False: its value is no JSON. `repaired`: it was none.
bool read_member(std::string_view key, std::string_view value, bool after_events, FileContent& content, TopLevel& top,
                 bool& repaired) {
  if (key == "baseTimeNanoseconds"sv) {
    top.is_kineto = true;
    constexpr int64_t kMostBase_ns = 3'000'000'000'000'000'000;  // the year 2065
    top.has_base_time = read_integer(value, top.base_time_ns) && std::llabs(top.base_time_ns) <= kMostBase_ns;
    return top.has_base_time;
  }
  if (key == "host_name"sv) content.host_name = text_of(value);
  if (key == "PT_PROFILER_JOB_NAME"sv) content.job_name = text_of(value);
  read_version(key, value, content);
  if (key == "roctracer_version"sv || key.starts_with("hip_"sv)) content.hip_properties = true;
  top.is_torch |=
      key == "schemaVersion"sv || key == "traceName"sv || key == "distributedInfo"sv || key == "deviceProperties"sv;
  top.is_kineto |= top.is_torch || key == "displayTimeUnit"sv;
  if (key != "distributedInfo"sv && key != "deviceProperties"sv) return true;
  dom::parser parser;
  dom::element element;
  if (parser.parse(simdjson::padded_string(value)).get(element)) {
    repaired = parse_repaired(value, parser, element);
    if (!repaired) return false;
  }
  dom::object info;
  dom::array list;
  if (key == "deviceProperties"sv) {
    if (element.get_array().get(list) == simdjson::SUCCESS) read_devices(list, content.devices);
    return true;
  }
  if (element.get_array().get(list) == simdjson::SUCCESS) top.several_jobs |= list.size() > 1;
  if (element.get_object().get(info) == simdjson::SUCCESS) {
    top.several_jobs |= top.distributed_seen;
    top.distributed_seen = true;
    read_distributed(info, after_events, content.distributed);
    const std::string nccl = string_at(info, "nccl_version");
    if (is_version(nccl)) add_software("NCCL/" + nccl, content);
  }
  return true;
}

}  // namespace

bool read_top_level(std::string_view text, bool after_events, int64_t offset, FileContent& content, TopLevel& top,
                    DefectCounts& defects) {
  size_t at = skip_space(text, 0);
  if (at < text.size() && text[at] == '{') at++;
  while (true) {
    at = skip_space(text, at);
    if (at < text.size() && text[at] == ',') {
      at++;
      continue;
    }
    if (at >= text.size()) return false;
    if (text[at] == '}') return true;
    const size_t key_end = text[at] == '"' ? behind_string(text, at) : at;
    const size_t colon = skip_space(text, key_end);
    if (key_end == at || colon >= text.size() || text[colon] != ':') {
      if (colon < text.size()) defects.add(Defect::damaged_head, offset + static_cast<int64_t>(at));
      const size_t next = text.find(",", at + 1);
      if (next == std::string_view::npos) return false;
      at = next;
      continue;
    }
    const std::string_view key = text.substr(at + 1, key_end - at - 2);
    const size_t value_at = skip_space(text, colon + 1);
    const size_t end = behind_value(text, value_at);
    if (end >= text.size()) return false;
    bool repaired = false;
    const std::string_view value = trimmed(text.substr(value_at, end - value_at));
    if (!read_member(key, value, after_events, content, top, repaired)) {
      defects.add(Defect::damaged_head, offset + static_cast<int64_t>(value_at));
    }
    if (repaired) defects.add(Defect::absent_value, offset + static_cast<int64_t>(value_at));
    at = end;
  }
}

}  // namespace skewscope::ingest
