// The document names things before it uses them: who ran (metadata), what ran it (agents), names of calls (strings) and
// of kernels (kernel_symbols), then rows (buffer_records). Each is read as it comes by, so that memory is that of the
// rows. A kernel whose symbol does not come ahead of it has no name.
#include "rocprof_json.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rccl_calls.h"
#include "rocm_parts.h"
#include "rocprof_record.h"
#include "src/ingest/content/defects.h"
#include "src/ingest/content/no_trace.h"
#include "src/ingest/content/row_names.h"
#include "src/ingest/text/byte_source.h"
#include "src/ingest/text/json_elements.h"

namespace skewscope::ingest {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr const char* kRocprofFormat = "rocprofv3 json";

enum Path : size_t {
  kMetadata,
  kAgent,
  kBufferNames,
  kMarkerName,
  kSymbol,
  kDispatch,
  kHipApi,
  kRcclApi,
  kMarker,
  kCopy
};

std::vector<std::string> paths() {
  const std::string tool = "rocprofiler-sdk-tool/";
  const std::string records = tool + "buffer_records/";
  return {tool + "metadata",           tool + "agents",         tool + "strings/buffer_records",
          tool + "strings/marker_api", tool + "kernel_symbols", records + "kernel_dispatch",
          records + "hip_api",         records + "rccl_api",    records + "marker_api",
          records + "memory_copy"};
}

class RocprofReading {
 public:
  RocprofReading(RocmParts& parts, DefectCounts& defects) : parts_(parts), defects_(defects) {}

  int64_t events() const { return events_; }

  void read(size_t path, std::string_view element) {
    ondemand::document document;
    ondemand::object object;
    const bool whole =
        parser_.iterate(element.data(), element.size(), element.size() + simdjson::SIMDJSON_PADDING).get(document) ==
            simdjson::SUCCESS &&
        document.get_object().get(object) == simdjson::SUCCESS;
    if (!whole || !read_object(path, object)) defects_.add(Defect::dropped_event, -1);
  }

  // After the last element.
  void add_calls() {
    for (const Call& call : calls_) {
      parts_.of_process(call.process, [&](RowCollector& part) {
        if (call.step >= 0) {
          part.content().steps.push_back({call.start, call.duration_ns, call.step, call.thread});
        } else if (!call.collective.empty()) {
          add_rccl_call(call.collective, call.start, call.duration_ns, call.thread, part);
        } else if (call.waits) {
          part.content().syncs.push_back({call.start, call.duration_ns, false, call.of_device, call.thread});
        } else if (call.correlation > 0) {
          LaunchRow row;
          row.start = call.start;
          row.duration_ns = call.duration_ns;
          row.correlation = call.correlation;
          row.thread = call.thread;
          row.role = call.role;
          part.add(row);
        }
      });
    }
    calls_ = {};
  }

 private:
  // False: damaged.
  bool read_object(size_t path, ondemand::object object) {
    switch (path) {
      case kMetadata:
        return read_metadata(object);
      case kAgent:
        return read_agent(object);
      case kBufferNames:
        return read_names(object);
      case kMarkerName:
        return read_marker_name(object);
      case kSymbol:
        return read_symbol(object);
      default:
        RocprofRecord record;
        return read_rocprof_record(object, record) && keep(path, record);
    }
  }

  // One of several processes begins with its metadata.
  bool read_metadata(ondemand::object object) {
    ++process_;
    gpus_.clear();
    kernels_.clear();
    operations_.clear();
    steps_.clear();
    RocmProcess process;
    for (auto field : object) {
      std::string_view key;
      ondemand::value value;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get(value) != simdjson::SUCCESS)
        return false;
      if (key == "pid") process.process = integer_of(value);
      if (key == "node") {
        ondemand::object node;
        std::string_view host;
        if (value.get_object().get(node) == simdjson::SUCCESS &&
            node["hostname"].get_string().get(host) == simdjson::SUCCESS) {
          process.host = host;
        }
      }
      if (key == "environment") {
        ondemand::object environment;
        std::string_view text;
        if (value.get_object().get(environment) == simdjson::SUCCESS &&
            environment.raw_json().get(text) == simdjson::SUCCESS) {
          RocmProcess told = process_of_environment(text);
          process.rank = told.rank;
          process.rank_variable = std::move(told.rank_variable);
          process.world_size = told.world_size;
        }
      }
    }
    parts_.set_process(process_, std::move(process));
    return true;
  }

  bool read_agent(ondemand::object object) {
    constexpr int64_t kGpu = 2;
    int64_t handle = -1, type = -1, index = -1;
    std::string name;
    for (auto field : object) {
      std::string_view key, text;
      ondemand::value value;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get(value) != simdjson::SUCCESS)
        return false;
      if (key == "id") handle = handle_of(value);
      if (key == "type") type = integer_of(value);
      if (key == "logical_node_type_id") index = integer_of(value);
      if (key == "product_name" && value.get_string().get(text) == simdjson::SUCCESS) name = text;
    }
    if (type != kGpu || index < 0 || index >= kMostGpus) return true;
    gpus_[handle] = static_cast<int32_t>(index);
    parts_.set_gpu(process_, static_cast<int32_t>(index), name);
    return true;
  }

  bool read_names(ondemand::object object) {
    std::vector<std::string> operations;
    for (auto field : object) {
      std::string_view key;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
      ondemand::array list;
      if (key != "operations" || field.value().get_array().get(list) != simdjson::SUCCESS) continue;
      for (auto value : list) {
        std::string_view text;
        if (value.get_string().get(text) != simdjson::SUCCESS) text = {};
        operations.emplace_back(text);
      }
    }
    operations_.push_back(std::move(operations));
    return true;
  }

  // {"key": 7, "value": "ProfilerStep#3"}; of the ranges that are marked only steps are kept.
  bool read_marker_name(ondemand::object object) {
    int64_t correlation = -1, step = -1;
    for (auto field : object) {
      std::string_view key, text;
      ondemand::value value;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get(value) != simdjson::SUCCESS)
        return false;
      if (key == "key") correlation = integer_of(value);
      if (key == "value" && value.get_string().get(text) == simdjson::SUCCESS) step = profiler_step(text);
    }
    if (correlation >= 0 && step >= 0) steps_[correlation] = step;
    return true;
  }

  bool read_symbol(ondemand::object object) {
    int64_t id = -1;
    std::string name;
    for (auto field : object) {
      std::string_view key, text;
      ondemand::value value;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get(value) != simdjson::SUCCESS)
        return false;
      if (key == "kernel_id") id = integer_of(value);
      const bool named = key == "formatted_kernel_name" || (name.empty() && key == "kernel_name");
      if (named && value.get_string().get(text) == simdjson::SUCCESS && !text.empty()) name = text;
    }
    if (id >= 0) kernels_[id] = std::move(name);
    return true;
  }

  bool keep(size_t path, const RocprofRecord& record) {
    if (record.start_ns < 0 || record.start_ns > kFurthestNs || record.end_ns > kFurthestNs) return false;
    if (record.end_ns < record.start_ns) defects_.add(Defect::negative_duration, -1);
    ++events_;
    const LocalNs start = {record.start_ns};
    const int64_t duration_ns = record.end_ns > record.start_ns ? record.end_ns - record.start_ns : 0;
    if (path == kDispatch || path == kCopy) {
      keep_row(path == kCopy, record, start, duration_ns);
    } else if (path == kMarker) {
      keep_step(record, start, duration_ns);
    } else {
      keep_call(record, start, duration_ns);
    }
    return true;
  }

  void keep_row(bool copy, const RocprofRecord& record, LocalNs start, int64_t duration_ns) {
    const auto to = gpus_.find(record.agent), from = gpus_.find(record.source_agent);
    const int32_t gpu = to != gpus_.end() ? to->second : from != gpus_.end() ? from->second : 0;
    RowCollector& part = parts_.part(process_, gpu);
    GpuRow row;
    row.start = start;
    row.duration_ns = duration_ns;
    const auto kernel = kernels_.find(record.kernel);
    row.name = part.intern(copy ? name_of(record) : kernel == kernels_.end() ? "unnamed kernel" : kernel->second);
    row.device = static_cast<int16_t>(gpu);
    row.stream = static_cast<int32_t>(std::clamp<int64_t>(record.stream, -1, INT32_MAX));
    row.correlation = record.correlation > 0 && record.correlation < INT64_MAX / 2 ? record.correlation : -1;
    if (copy) row.work = GpuWork::memcpy;
    if (!copy) row.grid = grids_.number_of(record.grid, record.group);
    GpuDetailRow detail;
    detail.bytes = std::max<int64_t>(record.bytes, -1);
    part.add(row, detail);
  }

  // Calls come behind rows or ahead of them: kept until the rows are there.
  void keep_call(const RocprofRecord& record, LocalNs start, int64_t duration_ns) {
    const std::string_view name = name_of(record);
    const std::string_view collective = collective_of_rccl(name);
    if (collective.empty() && never_launches(name) && !synchronizes(name)) return;
    calls_.push_back({process_, start, duration_ns, record.thread, record.correlation, std::string(collective),
                      synchronizes(name), waits_for_device(name), role_of_launch(name)});
  }

  // A range; a mark (roctxMarkA) is an instant.
  void keep_step(const RocprofRecord& record, LocalNs start, int64_t duration_ns) {
    const auto step = steps_.find(record.correlation);
    if (step == steps_.end() || duration_ns <= 0 || name_of(record).starts_with("roctxMark")) return;
    Call range;
    range.process = process_;
    range.start = start;
    range.duration_ns = duration_ns;
    range.thread = record.thread;
    range.step = step->second;
    calls_.push_back(std::move(range));
  }

  std::string_view name_of(const RocprofRecord& record) const {
    const auto kind = static_cast<size_t>(record.kind), operation = static_cast<size_t>(record.operation);
    const bool known =
        record.kind >= 0 && kind < operations_.size() && record.operation >= 0 && operation < operations_[kind].size();
    return known ? std::string_view(operations_[kind][operation]) : std::string_view("unnamed");
  }

  struct Call {
    int64_t process = 0;
    LocalNs start;
    int64_t duration_ns = 0, thread = 0, correlation = -1;
    std::string collective;
    bool waits = false, of_device = false;
    LaunchRole role = LaunchRole::other;
    int64_t step = -1;  // of a range that is a step
  };

  RocmParts& parts_;
  DefectCounts& defects_;
  ondemand::parser parser_;
  int64_t process_ = -1, events_ = 0;
  std::map<int64_t, int32_t> gpus_;                   // by handle of the agent
  std::map<int64_t, std::string> kernels_;            // by kernel_id
  std::vector<std::vector<std::string>> operations_;  // names, by kind
  std::map<int64_t, int64_t> steps_;                  // by correlation of their range
  std::vector<Call> calls_;
  DispatchGrids grids_;
};

class RocprofReader : public TraceReader {
 public:
  explicit RocprofReader(const ReaderSettings& settings) : settings_(settings) {}

  std::vector<const char*> suffixes() const override { return {".json"}; }
  Recognition recognise(const std::string&, std::string_view head) const override {
    const size_t first = head.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || head[first] != '{') return Recognition::no;
    return head.substr(first, 256).find("\"rocprofiler-sdk-tool\"") != head.npos ? Recognition::yes : Recognition::no;
  }
  Result<std::vector<FileContent>> read(const std::string& file, MemoryBudget& budget) const override {
    return read_with(file, settings_, budget);
  }
  // The GPUs are those of its rows, which are all behind the head.
  Result<std::vector<FileContent>> read_heads(const std::string& file) const override {
    MemoryBudget unlimited(0);
    ReaderSettings settings = settings_;
    settings.details = false;
    return read_with(file, settings, unlimited);
  }
  std::optional<std::string> problem(const std::string&, std::string_view) const override { return std::nullopt; }

 private:
  static Result<std::vector<FileContent>> read_with(const std::string& file, const ReaderSettings& settings,
                                                    MemoryBudget& budget) {
    Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
    if (!source.ok()) return only(unreadable_content(file, source.error().message));
    RocmParts parts(file, settings, budget);
    DefectCounts defects;
    RocprofReading reading(parts, defects);
    JsonElements elements(*source.value(), paths());
    size_t path = 0;
    for (std::string_view element; !parts.over_budget() && elements.next(path, element);) {
      reading.read(path, element);
      if (settings.progress != nullptr) settings.progress->read_to(file, source.value()->share_read());
    }
    reading.add_calls();
    if (parts.over_budget()) return parts.error();
    count_source_end(source.value()->end(), elements.bytes(), defects);
    const bool known = defects.count(Defect::truncated_file) > 0;
    if (!elements.closed() && !known) defects.add(Defect::truncated_file, elements.bytes());
    if (elements.left_out() > 0) defects.add(Defect::oversized_event, -1, elements.left_out());
    std::vector<FileContent> contents = parts.take(kRocprofFormat, reading.events(), defects.to_findings(file));
    contents.front().bytes = elements.bytes();
    for (FileContent& content : contents) content.compression = source.value()->compression();
    return contents;
  }

  ReaderSettings settings_;
};

}  // namespace

std::unique_ptr<TraceReader> make_rocprof_reader(const ReaderSettings& settings) {
  return std::make_unique<RocprofReader>(settings);
}

}  // namespace skewscope::ingest
