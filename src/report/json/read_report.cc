// A report directory as the JobReport it was written from, as far as runs are compared by it. report.json is what
// scripts rely on, so it is read by name and what is null stays "not determined"; long tables come from their CSV
// files.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "skewscope/base/file_text.h"
#include "skewscope/report.h"
#include "src/report/fields/json_values.h"

namespace skewscope {
namespace fs = std::filesystem;
namespace report {
namespace {

constexpr const char* kSchema = "skewscope.report/1";

Error unusable(const std::string& directory, const std::string& why) {
  return {ErrorKind::no_input, fmt::format("{}: {}", directory, why)};
}

template <class T>
void get(const Json& json, const char* name, T& value) {
  const auto found = json.find(name);
  if (found != json.end() && !found->is_null()) value = found->get<T>();
}

void get(const Json& json, const char* name, Statistics& s) {
  const auto found = json.find(name);
  if (found == json.end() || found->is_null()) return;
  get(*found, "sum", s.sum);
  get(*found, "mean", s.mean);
  get(*found, "median", s.median);
  get(*found, "p99", s.p99);
  get(*found, "min", s.min);
  get(*found, "max", s.max);
  s.count = 1;  // at least: it is determined
}

void read(const Json& json, JobReport::Job& job) {
  get(json, "name", job.name);
  get(json, "world_size", job.world_size);
  get(json, "ranks_present", job.ranks_present);
  get(json, "ranks_missing", job.ranks_missing);
  get(json, "hosts", job.hosts);
  get(json, "steps", job.steps);
  get(json, "step_basis", job.step_basis);
  get(json, "window_start_ns", job.window_start_ns);
  get(json, "window_ns", job.window_ns);
  get(json, "vendor", job.vendor);
}

void read(const Json& json, JobReport::Component& c) {
  get(json, "session", c.session);
  get(json, "ranks", c.ranks);
  get(json, "window_ns", c.window_ns);
}

void read(const Json& json, JobReport::CommunicatorRow& c) {
  get(json, "id", c.id);
  get(json, "name", c.name);
  get(json, "desc", c.desc);
  get(json, "ranks", c.ranks);
  get(json, "size", c.size);
  get(json, "nodes", c.nodes);
  get(json, "collectives", c.collectives);
}

void read(const Json& json, JobReport::RankRow& r) {
  get(json, "rank", r.rank);
  get(json, "host", r.host);
  get(json, "device", r.device);
  get(json, "device_name", r.device_name);
  get(json, "total_ns", r.total_ns);
  get(json, "compute_ns", r.compute_ns);
  get(json, "communication_ns", r.communication_ns);
  get(json, "exposed_communication_ns", r.exposed_communication_ns);
  get(json, "blocking_communication_ns", r.blocking_communication_ns);
  get(json, "coincided_communication_ns", r.coincided_communication_ns);
  get(json, "unknown_communication_ns", r.unknown_communication_ns);
  get(json, "instant_calls_saved_ns", r.instant_calls_saved_ns);
  get(json, "exposed_memcpy_ns", r.exposed_memcpy_ns);
  get(json, "busy_ns", r.busy_ns);
  get(json, "idle_ns", r.idle_ns);
  get(json, "idle_host_wait_ns", r.idle_host_wait_ns);
  get(json, "idle_kernel_wait_ns", r.idle_kernel_wait_ns);
  get(json, "idle_other_ns", r.idle_other_ns);
  get(json, "collectives", r.collectives);
  get(json, "wait_ns", r.wait_ns);
  get(json, "transfer_ns", r.transfer_ns);
  get(json, "exposed_wait_ns", r.exposed_wait_ns);
  get(json, "exposed_transfer_ns", r.exposed_transfer_ns);
  get(json, "late_count", r.late_count);
  get(json, "delay_caused_ns", r.delay_caused_ns);
}

void read(const Json& json, JobReport::CollectiveRow& c) {
  get(json, "communicator", c.communicator);
  get(json, "op", c.op);
  get(json, "dtype", c.dtype);
  get(json, "bytes", c.bytes);
  get(json, "count", c.count);
  get(json, "exposed_wait_ns", c.exposed_wait_ns);
  get(json, "exposed_transfer_ns", c.exposed_transfer_ns);
  get(json, "wait_ns", c.wait_ns);
  get(json, "transfer_ns", c.transfer_ns);
}

void read(const Json& json, JobReport::Straggler& s) {
  get(json, "rank", s.rank);
  get(json, "cause", s.cause);
  get(json, "standing", s.standing);
  get(json, "wait_originated_ns", s.wait_originated_ns);
}

void read(const Json& json, JobReport::StepRow& s) {
  get(json, "session", s.session);
  get(json, "step", s.step);
  get(json, "start_ns", s.start_ns);
  get(json, "duration_ns", s.duration_ns);
  get(json, "ranks", s.ranks);
  get(json, "gpu_rows", s.gpu_rows);
  get(json, "collectives", s.collectives);
  get(json, "host_start_ns", s.host_start_ns);
  get(json, "host_duration_ns", s.host_duration_ns);
  get(json, "blocking_wait_ns", s.blocking_wait_ns);
  get(json, "blocking_transfer_ns", s.blocking_transfer_ns);
  get(json, "blocking_unattributed_ns", s.blocking_unattributed_ns);
  get(json, "blocked_by", s.blocked_by);
}

void read(const Json& json, JobReport::Efficiency& e) {
  get(json, "parallel", e.parallel);
  get(json, "load_balance", e.load_balance);
  get(json, "communication", e.communication);
  get(json, "serialization", e.serialization);
  get(json, "transfer", e.transfer);
  get(json, "gpu_communication", e.gpu_communication);
  get(json, "orchestration", e.orchestration);
  if (json.contains("bubble")) get(json, "bubble", e.bubble);
}

void read(const Json& json, Finding& f) {
  const std::string severity = json.at("severity");
  f.severity = severity == "error" ? Severity::error : severity == "info" ? Severity::info : Severity::warning;
  std::string code;
  get(json, "code", code);
  f.code = FindingCode::from_text(code).value_or(FindingCode());
  get(json, "message", f.message);
}

template <class Row>
void read_rows(const Json& json, const char* name, std::vector<Row>& rows) {
  for (const Json& one : json.at(name)) read(one, rows.emplace_back());
}

// One CSV file (RFC 4180), row by row: fields by the name of their column.
class CsvRows {
 public:
  explicit CsvRows(const fs::path& file) : text_(file_text(file).value_or("")), columns_(next_fields()) {}

  bool next() {
    if (at_ >= text_.size()) return false;
    fields_ = next_fields();
    return true;
  }
  const std::string& text(const char* column) const {
    const auto at = std::find(columns_.begin(), columns_.end(), column) - columns_.begin();
    return static_cast<size_t>(at) < fields_.size() ? fields_[static_cast<size_t>(at)] : none_;
  }
  template <class Number>
  void get(const char* column, Number& value) const {
    const std::string& digits = text(column);
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
  }

 private:
  std::vector<std::string> next_fields() {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        const bool doubled = quoted && at_ + 1 < text_.size() && text_[at_ + 1] == '"';
        if (doubled) fields.back() += text_[at_++];
        if (!doubled) quoted = !quoted;
      } else if (c == ',' && !quoted) {
        fields.emplace_back();
      } else if (c == '\n' && !quoted) {
        ++at_;
        break;
      } else {
        fields.back() += c;
      }
    }
    for (std::string& field : fields) {  // as csv_file.cc writes what a spreadsheet would take for a formula
      const bool kept_from_formula = field.size() > 1 && field[0] == '\'' && std::strchr("=+-@", field[1]) != nullptr;
      if (kept_from_formula) field.erase(0, 1);
    }
    return fields;
  }

  std::string text_;
  size_t at_ = 0;
  std::vector<std::string> columns_, fields_;
  std::string none_;
};

void read_rank_steps(const fs::path& file, JobReport& report) {
  for (CsvRows rows(file); rows.next();) {
    JobReport::RankStep& r = report.rank_steps.emplace_back();
    rows.get("rank", r.rank);
    rows.get("session", r.session);
    rows.get("step", r.step);
    rows.get("compute_ns", r.compute_ns);
    rows.get("exposed_transfer_ns", r.exposed_transfer_ns);
    rows.get("exposed_wait_ns", r.exposed_wait_ns);
    rows.get("exposed_unattributed_ns", r.exposed_unattributed_ns);
    rows.get("exposed_memcpy_ns", r.exposed_memcpy_ns);
    rows.get("idle_ns", r.idle_ns);
  }
}

void read_collective_steps(const fs::path& file, JobReport& report) {
  for (CsvRows rows(file); rows.next();) {
    JobReport::CollectiveStep& r = report.collective_steps.emplace_back();
    rows.get("communicator", r.communicator);
    r.op = rows.text("op");
    r.dtype = rows.text("dtype");
    rows.get("bytes", r.bytes);
    rows.get("session", r.session);
    rows.get("step", r.step);
    rows.get("calls", r.calls);
    rows.get("wait_ns", r.wait_ns);
    rows.get("transfer_ns", r.transfer_ns);
    rows.get("exposed_wait_ns", r.exposed_wait_ns);
    rows.get("exposed_transfer_ns", r.exposed_transfer_ns);
  }
}

void read_causes(const fs::path& file, JobReport& report) {
  for (CsvRows rows(file); rows.next();) {
    JobReport::CauseRow& r = report.causes.emplace_back();
    rows.get("rank", r.rank);
    r.cause = rows.text("cause");
    rows.get("lateness_ns", r.lateness_ns);
    rows.get("wait_originated_ns", r.wait_originated_ns);
  }
}

void read_rank_statistics(const fs::path& file, JobReport& report) {
  for (CsvRows rows(file); rows.next();) {
    JobReport::RankStatistic& r = report.rank_statistics.emplace_back();
    r.table = rows.text("table");
    r.key = rows.text("key");
    r.metric = rows.text("metric");
    rows.get("component", r.component);
    rows.get("ranks", r.ranks);
    rows.get("min", r.min);
    rows.get("median", r.median);
    rows.get("max", r.max);
    rows.get("min_rank", r.min_rank);
    rows.get("max_rank", r.max_rank);
  }
}

}  // namespace
}  // namespace report

bool is_report_directory(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(fs::path(path) / "COMPLETE", error) ||
         fs::is_regular_file(fs::path(path) / "report.json", error);
}

Result<JobReport> load_report(const std::string& directory) {
  using namespace report;
  const fs::path path = directory;
  std::error_code error;
  if (!fs::is_regular_file(path / "COMPLETE", error)) {
    return unusable(directory, "the report in it is not whole: it lacks COMPLETE");
  }
  if (!fs::is_regular_file(path / "report.json", error)) {
    return unusable(directory, "holds no report.json, which skewscope report writes with --format json");
  }
  JobReport out;
  try {
    const Json json = Json::parse(file_text(path / "report.json").value_or(""));
    if (json.at("schema") != kSchema) {
      return unusable(directory, fmt::format("its report.json is not of schema {}", kSchema));
    }
    if (!json.contains("steps")) {
      return unusable(directory, "its report.json has no steps: it was made before they were recorded; make it anew");
    }
    read(json.at("job"), out.job);
    read(json.at("efficiency"), out.efficiency);
    read_rows(json, "components", out.components);
    read_rows(json, "communicators", out.communicators);
    read_rows(json, "ranks", out.ranks);
    read_rows(json, "collectives", out.collectives);
    read_rows(json, "stragglers", out.stragglers);
    read_rows(json, "steps", out.steps);
    read_rows(json, "diagnostics", out.diagnostics);
  } catch (const Json::exception& problem) {
    return unusable(directory, fmt::format("its report.json cannot be read: {}", problem.what()));
  }
  read_rank_steps(path / "tables/rank_steps.csv", out);
  read_collective_steps(path / "tables/collective_steps.csv", out);
  read_causes(path / "tables/causes.csv", out);
  read_rank_statistics(path / "tables/rank_statistics.csv", out);
  return out;
}

}  // namespace skewscope
