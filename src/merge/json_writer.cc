// Chrome's trace JSON, as Kineto writes it: complete events ("X"), arrows ("s", "f"), counters ("C"), names ("M").
// Time stamps are microseconds with three decimals since `baseTimeNanoseconds`, an hour before the job's first event:
// what the host did before that stays positive, and every nanosecond is exact in a double.
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#include <fmt/format.h>

#include "output_file.h"
#include "skewscope/base/printable.h"
#include "trace_writer.h"

namespace skewscope::merge {
namespace {

constexpr int64_t kHour_ns = 3'600'000'000'000;
constexpr size_t kPiece = 1 << 20;

// As a JSON string, with its quotes.
std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : valid_utf8(text)) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string microseconds(int64_t ns) {
  const int64_t size = ns < 0 ? -ns : ns;
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

class JsonWriter : public TraceWriter {
 public:
  JsonWriter(const std::string& path, JobNs zero) : file_(path, true), base_(zero - kHour_ns) {
    text_ = fmt::format(
        "{{\"schemaVersion\": 1, \"displayTimeUnit\": \"ns\", \"baseTimeNanoseconds\": {}, \"traceEvents\": [",
        base_.ns);
  }

  void begin_process(int64_t number, std::string_view name) override {
    process_ = number;
    tracks_ = 0;
    counters_.clear();
    metadata("process_name", 0, "name", json_string(name));
    metadata("process_sort_index", 0, "sort_index", fmt::to_string(number));
  }

  TrackId track(std::string_view name) override {
    const TrackId id{++tracks_};
    metadata("thread_name", id.value, "name", json_string(name));
    metadata("thread_sort_index", id.value, "sort_index", fmt::to_string(id.value));
    return id;
  }

  TrackId counter(std::string_view name) override {
    counters_.push_back(json_string(fmt::format("{} (ns)", name)));
    return {static_cast<int32_t>(counters_.size()) - 1};
  }

  void slice(TrackId track, const Slice& slice) override {
    begin_event('X', slice.name, slice.category, slice.start, track);
    add(", \"dur\": {}", microseconds(slice.duration_ns));
    if (!slice.arguments.empty()) arguments(slice.arguments);
    text_ += '}';
    for (const uint64_t id : slice.arrows_out) arrow('s', id, slice, track);
    for (const uint64_t id : slice.arrows_in) arrow('f', id, slice, track);
  }

  void value(TrackId counter, JobNs at, int64_t value_ns) override {
    next();
    add("{{\"ph\": \"C\", \"name\": {}, \"pid\": {}, \"ts\": {}, \"args\": {{\"ns\": {}}}}}",
        counters_[static_cast<size_t>(counter.value)], process_, microseconds(at - base_), value_ns);
  }

  void end_process() override {}

  Result<Done> close() override {
    text_ += "\n]}\n";
    file_.write(text_);
    return file_.close();
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  void next() {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    if (text_.size() < kPiece) return;
    file_.write(text_);
    text_.clear();
  }

  void begin_event(char phase, std::string_view name, std::string_view category, JobNs at, TrackId track) {
    next();
    add("{{\"ph\": \"{}\", \"cat\": {}, \"name\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {}", phase,
        json_string(category), json_string(name), process_, track.value, microseconds(at - base_));
  }

  void arrow(char phase, uint64_t id, const Slice& slice, TrackId track) {
    begin_event(phase, "arrow", "arrow", slice.start, track);
    add(", \"id\": {}{}}}", id, phase == 'f' ? ", \"bp\": \"e\"" : "");
  }

  void arguments(const std::vector<Argument>& arguments) {
    text_ += ", \"args\": {";
    for (const Argument& argument : arguments) {
      if (&argument != &arguments.front()) text_ += ", ";
      const auto* number = std::get_if<int64_t>(&argument.value);
      add("\"{}\": {}", argument.name,
          number != nullptr ? fmt::to_string(*number) : json_string(std::get<std::string_view>(argument.value)));
    }
    text_ += '}';
  }

  void metadata(std::string_view what, int32_t track, std::string_view key, const std::string& value) {
    next();
    add("{{\"ph\": \"M\", \"name\": \"{}\", \"pid\": {}, \"tid\": {}, \"args\": {{\"{}\": {}}}}}", what, process_,
        track, key, value);
  }

  OutputFile file_;
  JobNs base_;
  std::string text_;
  bool first_ = true;
  int64_t process_ = 0;
  int32_t tracks_ = 0;
  std::vector<std::string> counters_;
};

}  // namespace

std::unique_ptr<TraceWriter> make_json_writer(const std::string& path, JobNs zero) {
  return std::make_unique<JsonWriter>(path, zero);
}

}  // namespace skewscope::merge
