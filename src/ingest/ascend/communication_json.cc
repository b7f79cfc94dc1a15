#include "communication_json.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/ingest/text/byte_source.h"
#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr size_t kJsonBlock = 1 << 20;
constexpr double kNsPerMs = 1e6;
constexpr double kFurthestMs = static_cast<double>(kFurthestNs) / kNsPerMs;

// What the budget was charged with for text goes back with the text.
class ChargedText {
 public:
  explicit ChargedText(MemoryBudget& budget) : budget_(budget) {}
  ~ChargedText() { budget_.give_back(taken_); }
  ChargedText(const ChargedText&) = delete;
  ChargedText& operator=(const ChargedText&) = delete;
  ChargedText(ChargedText&&) = delete;
  ChargedText& operator=(ChargedText&&) = delete;

  // False: more than may be held.
  bool read(ByteSource& source) {
    for (size_t got = kJsonBlock; got == kJsonBlock;) {
      if (std::ssize(text_) > kLargestCommunicationJson) return true;
      const size_t size = text_.size();
      taken_ += kJsonBlock;
      if (!budget_.take(kJsonBlock)) return false;
      text_.resize(size + kJsonBlock);
      got = source.read(text_.data() + size, kJsonBlock);
      text_.resize(size + got);
    }
    return true;
  }
  std::string& text() { return text_; }

 private:
  MemoryBudget& budget_;
  int64_t taken_ = 0;
  std::string text_;
};

// Of a decimal of milliseconds; -1: none.
int64_t ns_of_ms(ondemand::value value) {
  double ms = 0;
  if (value.get_double().get(ms) != simdjson::SUCCESS || !(ms >= 0) || ms > kFurthestMs) return -1;
  return std::llround(ms * kNsPerMs);
}

class CallReading {
 public:
  CallReading(TimedCalls& calls, DefectCounts& defects) : calls_(calls), defects_(defects) {}

  // False: the text ends, or is damaged, before its JSON does.
  bool read(std::string& text) {
    text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
    ondemand::document document;
    ondemand::object steps;
    if (parser_.iterate(text.data(), text.size(), text.capacity()).get(document) != simdjson::SUCCESS) return false;
    if (document.get_object().get(steps) != simdjson::SUCCESS) return false;
    return each(steps, [&](std::string_view, ondemand::value step) { return read_step(step); });
  }

 private:
  // take(key, value) for each field; false: damage.
  template <class Take>
  bool each(ondemand::object object, const Take& take) {
    for (auto result : object) {
      ondemand::field field;
      std::string_view key;
      if (std::move(result).get(field) != simdjson::SUCCESS) return false;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
      if (!take(key, field.value())) return false;
    }
    return true;
  }

  bool read_step(ondemand::value value) {
    ondemand::object kinds;
    if (value.get_object().get(kinds) != simdjson::SUCCESS) return true;
    return each(kinds, [&](std::string_view kind, ondemand::value calls) {
      if (kind != "p2p" && kind != "collective") return true;
      calls_.is_ours = true;
      ondemand::object all;
      if (calls.get_object().get(all) != simdjson::SUCCESS) return true;
      return each(all, [&](std::string_view name, ondemand::value call) {
        return name == "Total Op Info" ? true : read_call(std::string(name), call);
      });
    });
  }

  bool read_call(std::string name, ondemand::value value) {
    ondemand::object parts;
    if (value.get_object().get(parts) != simdjson::SUCCESS) return drop();
    bool timed = false;
    const bool whole = each(parts, [&](std::string_view part, ondemand::value times) {
      if (part != "Communication Time Info") return true;
      timed = true;
      return read_times(std::move(name), times);
    });
    return whole && (timed || drop());
  }

  bool read_times(std::string name, ondemand::value value) {
    TimedCall call;
    call.name = std::move(name);
    call.duration_ns = -1;
    bool started = false;
    ondemand::object times;
    if (value.get_object().get(times) != simdjson::SUCCESS) return drop();
    const bool whole = each(times, [&](std::string_view key, ondemand::value time) {
      if (key == "Start Timestamp(us)") {
        FractionForm form;
        started = read_microseconds(trimmed(time.raw_json_token()), false, call.start.ns, form);
      } else if (key == "Elapse Time(ms)") {
        call.duration_ns = ns_of_ms(time);
      } else if (key == "Wait Time(ms)") {
        call.wait_ns = std::max<int64_t>(ns_of_ms(time), 0);
      }
      return true;
    });
    if (!whole) return false;
    if (!started || call.duration_ns < 0) return drop();
    call.wait_ns = std::min(call.wait_ns, call.duration_ns);
    calls_.calls.push_back(std::move(call));
    return true;
  }

  bool drop() {
    defects_.add(Defect::dropped_event, -1);
    return true;
  }

  TimedCalls& calls_;
  DefectCounts& defects_;
  ondemand::parser parser_;
};

}  // namespace

Result<TimedCalls> read_communication_json(const std::string& file, MemoryBudget& budget, DefectCounts& defects) {
  TimedCalls result;
  Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) {
    defects.add(Defect::unreadable_file, -1);
    return result;
  }
  ChargedText text(budget);
  if (!text.read(*source.value())) return budget.exceeded_by(file);
  result.bytes = std::ssize(text.text());
  result.compression = source.value()->compression();
  count_source_end(source.value()->end(), result.bytes, defects);
  if (result.bytes > kLargestCommunicationJson) {
    defects.add(Defect::oversized_event, -1);
    return result;
  }
  const bool whole = CallReading(result, defects).read(text.text());
  const bool known = defects.count(Defect::truncated_file) > 0;
  if (!whole && result.bytes > 0 && !known) defects.add(Defect::truncated_file, result.bytes);
  return result;
}

}  // namespace skewscope::ingest
