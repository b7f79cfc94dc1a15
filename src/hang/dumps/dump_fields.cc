// The flight recorder's document as data. Its fields: PyTorch's torch/csrc/distributed/c10d/FlightRecorder.hpp.
//
// Surprises of the format, all seen in real dumps:
// - A send or receive that was launched in a batch keeps the state "scheduled" for ever; the entry "coalesced" behind
//   them, of the same sequence numbers, has the state of all.
// - `pg_status` goes by a number that entries alone connect with the group's name. A rank whose entries are all
//   completed may have none: numbers and names then go together in order, where there are as many of each.
// - `last_enqueued_collective` counts sends and receives where the group has any.
// - Dumps may hold the calls under way alone.
#include "src/hang/dumps/dump_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

namespace skewscope::hang {
namespace {

constexpr size_t kMostRanks = size_t{1} << 20, kMostShapes = 64, kMostDims = 16;

std::optional<int64_t> number_in(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Numbers before letters, and by size: the order in which groups were made.
bool earlier_name(std::string_view a, std::string_view b) {
  const auto x = number_in(a), y = number_in(b);
  if (x && y) return *x < *y;
  return x.has_value() != y.has_value() ? x.has_value() : a < b;
}

DumpedOp op_of(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (name.starts_with("send")) return DumpedOp::send;
  if (name.starts_with("recv")) return DumpedOp::recv;
  if (has("barrier")) return DumpedOp::barrier;
  if (has("all_reduce") || has("allreduce")) return DumpedOp::all_reduce;
  if (has("reduce_scatter")) return DumpedOp::reduce_scatter;
  if (has("all_gather") || has("allgather")) return DumpedOp::all_gather;
  if (has("all_to_all") || has("alltoall")) return DumpedOp::all_to_all;
  if (has("broadcast")) return DumpedOp::broadcast;
  return DumpedOp::other;
}

// "send 0->3", "recv 3<-0": the number behind the arrow.
int32_t peer_in(std::string_view name) {
  const size_t arrow = std::max(name.rfind('>') + 1, name.rfind('-') + 1);
  if (arrow == 0) return -1;
  const auto peer = number_in(name.substr(arrow));
  return peer && *peer >= 0 && *peer < static_cast<int64_t>(kMostRanks) ? static_cast<int32_t>(*peer) : -1;
}

class Fields {
 public:
  explicit Fields(const Document& document) : document_(document), text_of_value_(document.values.size(), -1) {}

  Result<FlightDump> read() {
    const Value& root = document_.at(document_.root);
    if (root.kind != ValueKind::dict || !find(document_.root, "entries")) {
      return Error{ErrorKind::no_input, "no flight recorder dump: it has no \"entries\""};
    }
    dump_.version = std::string(text_at(document_.root, "version"));
    dump_.rank = static_cast<int32_t>(std::clamp<int64_t>(integer_at(document_.root, "rank", -1), -1, kMostRanks));
    read_groups();
    for (const ValueId entry : document_.list(*find(document_.root, "entries"))) {
      if (document_.at(entry).kind == ValueKind::dict) read_call(entry);
    }
    std::stable_sort(dump_.calls.begin(), dump_.calls.end(),
                     [](const DumpedCall& a, const DumpedCall& b) { return a.record < b.record; });
    settle_batches();
    read_status();
    return std::move(dump_);
  }

 private:
  std::optional<ValueId> find(ValueId dict, std::string_view key) const {
    if (document_.at(dict).kind != ValueKind::dict) return std::nullopt;
    const std::vector<ValueId>& items = document_.list(dict);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      const Value& name = document_.at(items[i]);
      if (name.kind == ValueKind::text && name.text == key) return items[i + 1];
    }
    return std::nullopt;
  }
  std::string_view text_at(ValueId dict, std::string_view key) const {
    const auto found = find(dict, key);
    return found && document_.at(*found).kind == ValueKind::text ? document_.at(*found).text : std::string_view();
  }
  int64_t as_integer(ValueId id, int64_t none) const {
    const Value& value = document_.at(id);
    if (value.kind == ValueKind::integer || value.kind == ValueKind::boolean) return value.integer;
    if (value.kind == ValueKind::real && value.real > -9e18 && value.real < 9e18)
      return static_cast<int64_t>(value.real);
    if (value.kind == ValueKind::text) return number_in(value.text).value_or(none);
    return none;
  }
  int64_t integer_at(ValueId dict, std::string_view key, int64_t none) const {
    const auto found = find(dict, key);
    return found ? as_integer(*found, none) : none;
  }

  int32_t intern(std::string text) {
    const auto [place, added] = number_of_.emplace(std::move(text), static_cast<int32_t>(dump_.texts.size()));
    if (added) dump_.texts.push_back(place->first);
    return place->second;
  }
  // Lists that many entries share are looked at once.
  int32_t intern_value(ValueId id, std::string (Fields::*say)(ValueId) const) {
    if (text_of_value_[id] < 0) text_of_value_[id] = intern((this->*say)(id));
    return text_of_value_[id];
  }

  std::vector<int32_t> ranks_of(ValueId id) const {
    std::vector<int32_t> ranks;
    const auto add = [&](int64_t rank) {
      if (rank >= 0 && rank < static_cast<int64_t>(kMostRanks) && ranks.size() < kMostRanks)
        ranks.push_back(static_cast<int32_t>(rank));
    };
    const Value& value = document_.at(id);
    if (value.kind == ValueKind::list) {
      for (const ValueId one : document_.list(id)) add(as_integer(one, -1));
    } else if (value.kind == ValueKind::text) {
      std::string_view text = value.text;
      while (!text.empty()) {
        const size_t begin = text.find_first_of("0123456789");
        if (begin == std::string_view::npos) break;
        text.remove_prefix(begin);
        const size_t size = std::min(text.find_first_not_of("0123456789"), text.size());
        add(number_in(text.substr(0, size)).value_or(-1));
        text.remove_prefix(size);
      }
    }
    return ranks;
  }

  int32_t group_named(std::string_view name, std::string_view description) {
    const auto [place, added] = group_of_.emplace(std::string(name), static_cast<int32_t>(dump_.groups.size()));
    if (added) dump_.groups.push_back({std::string(name), std::string(description), {}});
    return place->second;
  }

  void read_groups() {
    const auto config = find(document_.root, "pg_config");
    if (!config || document_.at(*config).kind != ValueKind::dict) return;
    const std::vector<ValueId>& items = document_.list(*config);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      std::string_view name = text_at(items[i + 1], "name");
      if (name.empty()) name = document_.at(items[i]).text;
      const auto group = static_cast<size_t>(group_named(name, text_at(items[i + 1], "desc")));
      if (const auto ranks = find(items[i + 1], "ranks")) dump_.groups[group].ranks = ranks_of(*ranks);
    }
  }

  // "[4096, 1, 5120]", several with a blank between them.
  std::string shapes_text(ValueId id) const {
    std::string text;
    size_t shapes = 0;
    for (const ValueId shape : document_.list(id)) {
      if (shapes++ == kMostShapes) break;
      text += text.empty() ? "[" : " [";
      size_t dims = 0;
      for (const ValueId dim : document_.list(shape)) {
        if (dims == kMostDims) break;
        text += fmt::format("{}{}", dims++ == 0 ? "" : ", ", as_integer(dim, 0));
      }
      text += ']';
    }
    return text;
  }
  std::string dtypes_text(ValueId id) const {
    std::string text;
    size_t dtypes = 0;
    for (const ValueId one : document_.list(id)) {
      if (dtypes++ == kMostShapes) break;
      text += (text.empty() ? "" : " ") + std::string(document_.at(one).text.substr(0, 64));
    }
    return text;
  }
  std::string frame_text(ValueId id) const {
    const std::string_view file = text_at(id, "filename");
    return fmt::format("{}:{} in {}", file.substr(file.rfind('/') + 1), integer_at(id, "line", 0), text_at(id, "name"));
  }

  int64_t elements(ValueId id) const {
    double total = 0;
    size_t shapes = 0;
    for (const ValueId shape : document_.list(id)) {
      if (shapes++ == kMostShapes) return -1;
      double size = 1;
      size_t dims = 0;
      for (const ValueId dim : document_.list(shape)) {
        if (dims++ == kMostDims) return -1;
        size *= static_cast<double>(std::max<int64_t>(as_integer(dim, 0), 0));
      }
      total += size;
    }
    return total < 9e18 ? static_cast<int64_t>(total) : -1;
  }

  void read_group_of(ValueId entry, DumpedCall& call) {
    std::string_view name = text_at(entry, "pg_name"), description;
    if (const auto group = find(entry, "process_group")) {
      const std::vector<ValueId>& pair = document_.list(*group);
      if (!pair.empty()) name = document_.at(pair[0]).text;
      if (pair.size() > 1) description = document_.at(pair[1]).text;
    }
    call.group = group_named(name, description);
    const int64_t number = integer_at(entry, "pg_id", -1);
    if (number >= 0) name_of_id_.emplace(number, call.group);
  }

  void read_call(ValueId entry) {
    DumpedCall call;
    read_group_of(entry, call);
    call.record = integer_at(entry, "record_id", integer_at(entry, "id", static_cast<int64_t>(dump_.calls.size())));
    call.collective_seq = integer_at(entry, "collective_seq_id", integer_at(entry, "seq_id", 0));
    call.p2p_seq = integer_at(entry, "p2p_seq_id", 0);
    std::string_view name = text_at(entry, "profiling_name");
    name = name.substr(name.find(':') + 1);  // "nccl:", "gloo:"
    call.name = intern(std::string(name.substr(0, 200)));
    call.op = op_of(name);
    call.p2p = call.op == DumpedOp::send || call.op == DumpedOp::recv;
    if (call.p2p) call.peer = peer_in(name);
    const std::string_view state = text_at(entry, "state");
    call.state = state == "completed" || integer_at(entry, "retired", 0) != 0 ? CallState::completed
                 : state == "started"                                         ? CallState::started
                                                                              : CallState::scheduled;
    if (const auto sizes = find(entry, "input_sizes")) {
      call.input_elements = elements(*sizes);
      call.shape = intern_value(*sizes, &Fields::shapes_text);
    }
    if (const auto sizes = find(entry, "output_sizes")) call.output_elements = elements(*sizes);
    if (const auto dtypes = find(entry, "input_dtypes")) call.dtype = intern_value(*dtypes, &Fields::dtypes_text);
    call.created_ns = integer_at(entry, "time_created_ns", -1);
    call.started_ns = integer_at(entry, "time_discovered_started_ns", -1);
    call.completed_ns = integer_at(entry, "time_discovered_completed_ns", -1);
    if (const auto frames = find(entry, "frames")) {
      for (const ValueId frame : document_.list(*frames)) {
        if (call.frames.size() == kMostFrames) break;
        call.frames.push_back(intern_value(frame, &Fields::frame_text));
      }
    }
    dump_.calls.push_back(std::move(call));
  }

  // Calls ahead of a "coalesced" that have its numbers are of its batch, and have its state.
  void settle_batches() {
    for (size_t i = 0; i < dump_.calls.size(); ++i) {
      if (dump_.text(dump_.calls[i].name) != "coalesced") continue;
      const DumpedCall& whole = dump_.calls[i];
      for (size_t member = i; member-- > 0;) {
        DumpedCall& call = dump_.calls[member];
        const bool of_it = call.group == whole.group && call.collective_seq == whole.collective_seq &&
                           call.p2p_seq == whole.p2p_seq && call.batch < 0 && dump_.text(call.name) != "coalesced";
        if (!of_it) break;
        call.state = whole.state;
        call.batch = whole.record;
      }
    }
    std::erase_if(dump_.calls,
                  [&](const DumpedCall& call) { return call.group < 0 || dump_.text(call.name) == "coalesced"; });
  }

  void read_status() {
    const auto status = find(document_.root, "pg_status");
    if (!status || document_.at(*status).kind != ValueKind::dict) return;
    std::map<int64_t, ValueId> by_id;
    const std::vector<ValueId>& items = document_.list(*status);
    for (size_t i = 0; i + 1 < items.size(); i += 2) by_id.emplace(as_integer(items[i], -1), items[i + 1]);
    std::vector<int32_t> by_name(dump_.groups.size());
    for (size_t i = 0; i < by_name.size(); ++i) by_name[i] = static_cast<int32_t>(i);
    std::sort(by_name.begin(), by_name.end(), [&](int32_t a, int32_t b) {
      return earlier_name(dump_.groups[static_cast<size_t>(a)].name, dump_.groups[static_cast<size_t>(b)].name);
    });
    bool in_order = by_id.size() == by_name.size();
    size_t place = 0;
    for (const auto& [id, values] : by_id) {
      const auto known = name_of_id_.find(id);
      in_order = in_order && (known == name_of_id_.end() || known->second == by_name[place]);
      ++place;
    }
    place = 0;
    for (const auto& [id, values] : by_id) {
      const auto known = name_of_id_.find(id);
      const int32_t group = known != name_of_id_.end() ? known->second : in_order ? by_name[place] : -1;
      ++place;
      if (group < 0) continue;
      dump_.groups[static_cast<size_t>(group)].last_enqueued = integer_at(values, "last_enqueued_collective", -1);
      dump_.groups[static_cast<size_t>(group)].last_completed = integer_at(values, "last_completed_collective", -1);
    }
  }

  const Document& document_;
  FlightDump dump_;
  std::vector<int32_t> text_of_value_;  // by value; -1: not yet
  std::unordered_map<std::string, int32_t> number_of_, group_of_;
  std::unordered_map<int64_t, int32_t> name_of_id_;
};

}  // namespace

Result<FlightDump> dump_of(const Document& document) { return Fields(document).read(); }

}  // namespace skewscope::hang
