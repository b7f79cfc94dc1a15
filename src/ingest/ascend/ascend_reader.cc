// The problem: what one file says of a rank's collectives another one completes. trace_view.json has kernels, launches
// and collectives to the nanosecond, but names no group; communication.json names groups and has the wait that the
// device measured, but its stamps step by 250 ns; kernel_details.csv has kernels and the exact stamps, but no launches.
// The idea: calls are joined by their names, which tell the group's last digits and the place in it, so that each is
// one row with the best of all. Files that are not there leave out what only they tell, and nothing is made up for it.
#include "ascend_reader.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "communication_json.h"
#include "hccl_calls.h"
#include "hccl_name.h"
#include "kernel_details.h"
#include "profile_files.h"
#include "rank_folder.h"
#include "src/ingest/content/no_trace.h"
#include "src/ingest/text/byte_source.h"
#include "src/ingest/text/characters.h"
#include "trace_view.h"

namespace skewscope::ingest {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTextFormat = "ascend text";
constexpr int64_t kStampStepNs = 250;    // of communication.json: a double of microseconds since 1970
constexpr int64_t kSameStampNs = 1'000;  // two stamps of one call differ by less

std::string file_beside(const std::string& file, const char* name) {
  const fs::path folder = fs::path(place_of(file)).parent_path();
  std::error_code failed;
  for (const char* compression : {"", ".gz", ".zst"}) {
    std::string path = (folder / (std::string(name) + compression)).string();
    if (fs::is_regular_file(path, failed)) return path;
  }
  return "";
}

// Of the text, behind blanks: the timeline is an array, the document of the calls an object.
char first_character(const std::string& file) {
  Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  char c = ' ';
  while (source.ok() && is_space(c) && source.value()->read(&c, 1) == 1) {
  }
  return c;
}

class ProfileReading {
 public:
  ProfileReading(const std::string& file, const ReaderSettings& settings, MemoryBudget& budget)
      : file_(file), settings_(settings), budget_(budget), rows_(file, "", settings, budget), calls_(rows_) {}

  Result<FileContent> read() {
    FileContent& content = rows_.content();
    content.format = kTextFormat;
    read_rank_folder(rank_folder_of(file_), content);
    content.devices.push_back({"Ascend NPU", {}});
    const bool drawn = first_character(file_) == '[';
    const std::string told = drawn ? file_beside(file_, "communication.json") : file_;
    if (!told.empty()) {
      Result<TimedCalls> timed = read_communication_json(told, budget_, defects_);
      if (!timed.ok()) return timed.error();
      timed_ = std::move(timed.value());
    }
    for (size_t i = 0; i < timed_.calls.size(); ++i) {
      by_name_[std::string(read_hccl_name(timed_.calls[i].name).call)].push_back(i);
    }
    seen_.assign(timed_.calls.size(), false);
    const bool ours = drawn ? read_timeline() : read_calls_alone();
    for (size_t i = 0; i < seen_.size(); ++i) {
      if (!seen_[i]) add_timed(timed_.calls[i]);
    }
    if (rows_.over_budget()) return rows_.error();
    content.findings = defects_.to_findings(file_);
    for (Finding& finding : of_details_) add_finding(content.findings, std::move(finding));
    content.has_cpu_ops = drawn;
    const bool empty = content.bytes == 0;
    return rows_.take(empty ? ContentKind::empty : ours ? ContentKind::rank_trace : ContentKind::not_a_trace);
  }

 private:
  bool read_timeline() {
    const TraceViewEnd end = read_trace_view(
        file_, rows_, [&](const DrawnCall& call) { add_drawn(call); }, defects_, settings_.progress);
    FileContent& content = rows_.content();
    content.bytes = end.bytes;
    content.events = end.events;
    content.compression = end.compression;
    return end.is_ours || !timed_.calls.empty();
  }

  bool read_calls_alone() {
    FileContent& content = rows_.content();
    content.bytes = timed_.bytes;
    content.compression = timed_.compression;
    content.events = std::ssize(timed_.calls);
    content.resolution_ns = kStampStepNs;
    const std::string details = file_beside(file_, "kernel_details.csv");
    if (!details.empty()) {
      DefectCounts of_details;
      const bool read = read_kernel_details(
          details, [&](const KernelLine& line) { return add_line(line); }, of_details);
      if (!read) of_details.add(Defect::damaged_head, -1);
      of_details_ = of_details.to_findings(details);
    }
    return timed_.is_ours;
  }

  bool add_line(const KernelLine& line) {
    ++rows_.content().events;
    if (line.core == "COMMUNICATION") {
      make_exact(line);
      return true;
    }
    GpuRow row;
    row.start = line.start;
    row.duration_ns = line.duration_ns;
    row.name = rows_.intern(line.name);
    row.device = 0;
    row.stream = line.stream;
    rows_.add(row);
    return !rows_.over_budget();
  }

  // The call that a line of kernel_details.csv is of, with its stamps to the nanosecond.
  void make_exact(const KernelLine& line) {
    if (TimedCall* call = timed_call(line.name, line.start)) {
      call->start = line.start;
      call->duration_ns = line.duration_ns;
    }
  }

  TimedCall* timed_call(std::string_view name, LocalNs start) {
    const auto named = by_name_.find(name);
    if (named == by_name_.end()) return nullptr;
    for (const size_t i : named->second) {
      if (std::abs(timed_.calls[i].start - start) < kSameStampNs) return &timed_.calls[i];
    }
    return nullptr;
  }

  void add_drawn(const DrawnCall& drawn) {
    HcclCall call;
    call.name = drawn.name;
    call.start = drawn.start;
    call.duration_ns = drawn.duration_ns;
    call.correlation = drawn.correlation;
    call.elements = drawn.elements;
    call.dtype = drawn.dtype;
    if (const TimedCall* timed = timed_call(drawn.name, drawn.start)) {
      call.name = timed->name;
      call.wait_ns = timed->wait_ns;
      seen_[static_cast<size_t>(timed - timed_.calls.data())] = true;
    }
    calls_.add(call);
  }

  void add_timed(const TimedCall& timed) {
    HcclCall call;
    call.name = timed.name;
    call.start = timed.start;
    call.duration_ns = timed.duration_ns;
    call.wait_ns = timed.wait_ns;
    calls_.add(call);
  }

  const std::string& file_;
  const ReaderSettings& settings_;
  MemoryBudget& budget_;
  RowCollector rows_;
  HcclCalls calls_;
  DefectCounts defects_;
  TimedCalls timed_;
  Findings of_details_;
  std::map<std::string, std::vector<size_t>, std::less<>> by_name_;  // rows of timed_.calls, without the group
  std::vector<bool> seen_;                                           // row = row of timed_.calls: is a row already
};

class AscendReader : public TraceReader {
 public:
  explicit AscendReader(const ReaderSettings& settings) : settings_(settings) {}

  std::vector<const char*> suffixes() const override { return {".json"}; }
  Recognition recognise(const std::string& file, std::string_view head) const override {
    if (profile_file(file) == ProfileFile::results) return Recognition::yes;
    const size_t first = head.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || (head[first] != '{' && head[first] != '[')) return Recognition::no;
    const bool told = head.find("\"Communication Time Info\"") != head.npos || is_timeline(file, head);
    const ProfileFile place = profile_file(file);
    return told || place == ProfileFile::main || place == ProfileFile::side ? Recognition::yes : Recognition::no;
  }
  Result<std::vector<FileContent>> read(const std::string& file, MemoryBudget& budget) const override {
    const ProfileFile place = profile_file(file);
    if (place == ProfileFile::side || place == ProfileFile::results) return only(no_trace(file, place));
    Result<FileContent> content = ProfileReading(file, settings_, budget).read();
    if (!content.ok()) return content.error();
    return only(std::move(content.value()));
  }
  Result<std::vector<FileContent>> read_heads(const std::string& file) const override {
    Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
    if (!source.ok()) return source.error();
    FileContent content;
    content.file = file;
    content.format = kTextFormat;
    read_rank_folder(rank_folder_of(file), content);
    return only(std::move(content));
  }
  std::optional<std::string> problem(const std::string&, std::string_view) const override { return std::nullopt; }

 private:
  // What they hold is in the traces of ranks, or is read with them.
  static FileContent no_trace(const std::string& file, ProfileFile place) {
    constexpr OtherFormat kSide = {"a part of an Ascend profile", "name its folder, or its main file"};
    constexpr OtherFormat kResults = {"what an analysis made of Ascend profiles", "name the folders of the ranks"};
    FileContent content;
    content.file = file;
    set_other_format(place == ProfileFile::side ? kSide : kResults, content);
    return content;
  }

  // What tells it lies behind the rows of the host.
  static bool is_timeline(const std::string& file, std::string_view head) {
    if (head[head.find_first_not_of(" \t\r\n")] != '[') return false;
    Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
    if (!source.ok()) return false;
    std::string text(kOtherFormatBytes, '\0');
    text.resize(source.value()->read(text.data(), text.size()));
    return text.find("\"Ascend Hardware\"") != text.npos || text.find("\"async_npu\"") != text.npos;
  }

  ReaderSettings settings_;
};

}  // namespace

std::unique_ptr<TraceReader> make_ascend_reader(const ReaderSettings& settings) {
  return std::make_unique<AscendReader>(settings);
}

}  // namespace skewscope::ingest
