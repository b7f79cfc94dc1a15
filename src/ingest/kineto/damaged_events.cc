// The slow path of EventReader: text that simdjson refused is read event by event. Each is repaired and parsed alone,
// so that one defect costs at most one event; after text that is no event, reading goes on where the next one begins.
#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "event_reader.h"
#include "salvage.h"
#include "src/ingest/text/characters.h"

namespace skewscope::ingest {
namespace {

// Where reading can go on after garbage: an event, or the end of the events.
size_t resume_after(std::string_view text, size_t at) {
  for (size_t i = at; i < text.size(); i++) {
    if (text[i] == '{' && begins_event(text.substr(i))) return i;
    if (text[i] != ']') continue;
    const size_t next = text.find_first_not_of(" \t\r\n", i + 1);
    if (next == kNowhere || text[next] == '}' || text[next] == ',') return i;
  }
  return text.size();
}

// Up to where rows are of the events before.
struct Mark {
  std::array<size_t, std::tuple_size_v<decltype(row_lists(std::declval<ChunkRows&>()))>> sizes;  // of row_lists()
  DetailRows::Mark details;
  int64_t events;
  DefectCounts defects;
};

Mark mark(const ChunkRows& rows) {
  const auto sizes = std::apply([](const auto&... lists) { return std::array{lists.size()...}; }, row_lists(rows));
  return {sizes, rows.details.mark(), rows.events, rows.defects};
}

void roll_back(ChunkRows& rows, const Mark& to) {
  const size_t* size = to.sizes.data();
  std::apply([&](auto&... lists) { (lists.resize(*size++), ...); }, row_lists(rows));
  rows.details.roll_back(to.details);
  rows.events = to.events;
  rows.defects = to.defects;
}

}  // namespace

// Keeps the rows of the repaired text, or none where it is no event even so.
bool EventReader::parse_repaired() {
  repaired_text_.pad();
  const Mark before = mark(*rows_);
  size_t array_end = kNowhere;
  const bool read = parse_array(repaired_text_.text(), repaired_text_.size(), array_end);
  if (read && rows_->defects.count(Defect::dropped_event) == before.defects.count(Defect::dropped_event)) return true;
  roll_back(*rows_, before);
  return false;
}

bool EventReader::repair_one(const DamagedEvent& event, bool backslash_ends, RepairedEvent& repaired) {
  repaired = repair_event(event.text, event.begin, event.limit, backslash_ends, repaired_text_);
  if (repaired.open_string || (!repaired.closed && (event.cut_off || repaired.end < event.limit))) return false;
  return parse_repaired();
}

// Leaves a row of what is whole in an event that could not be repaired.
bool EventReader::salvage_one(std::string_view event) {
  return salvage_event(event, repaired_text_) && parse_repaired();
}

size_t EventReader::read_damaged(std::string_view text, size_t from, int64_t offset, bool last, ChunkRows& rows,
                                 size_t boundary) {
  rows_ = &rows;
  // Text is looked through once however many events it holds: only up to where this call stops, and for the next
  // boundary only behind the last one found.
  const auto stop_at = [&](size_t end) {
    const size_t second = text.substr(0, end).find("\"traceEvents\"", from);
    if (second != kNowhere) rows.defects.add(Defect::interleaved_files, offset + static_cast<int64_t>(second));
    return end;
  };
  // The cutter saw the end of every event before the last comma; the file may end inside one.
  const size_t end_of_events = last ? text.size() : text.find_last_not_of(" \t\r\n,") + 1;
  for (size_t at = from; (at = text.find_first_not_of(" \t\r\n,", at)) < text.size();) {
    const int64_t position = offset + static_cast<int64_t>(at);
    if (text[at] == ']') return stop_at(at + 1);
    if (text[at] != '{') {
      const size_t next = resume_after(text, at);
      rows.defects.add(Defect::skipped_bytes, position, static_cast<int64_t>(next - at));
      at = next;
      continue;
    }
    if (boundary <= at) boundary = next_event_boundary(text, at + 1);
    const DamagedEvent event = {text, at, std::min(boundary, end_of_events), boundary == kNowhere && last};
    builder_.begin(rows, {nullptr, position, false});
    RepairedEvent repaired;
    bool read = repair_one(event, false, repaired);
    if (!read && event.cut_off && !repaired.closed && repaired.end == event.limit) {
      rows.defects.add(Defect::truncated_file, position);
      return stop_at(kNowhere);
    }
    if (!read) read = repair_one(event, true, repaired);
    if (!read) {
      const size_t ends = repaired.closed && boundary != kNowhere ? boundary : std::max(repaired.end, at + 1);
      const bool partly = salvage_one(text.substr(at, std::min(ends, text.size()) - at));
      rows.defects.add(partly ? Defect::partly_read_event : Defect::dropped_event, position);
      at = repaired.closed && boundary != kNowhere ? boundary : repaired.end;
      continue;
    }
    if (repaired.quotes > 0) rows.defects.add(Defect::repaired_quotes, position, repaired.quotes);
    if (repaired.bytes > 0) rows.defects.add(Defect::replaced_bytes, position, repaired.bytes);
    if (repaired.values > 0) rows.defects.add(Defect::absent_value, position, repaired.values);
    if (repaired.brackets > 0) rows.defects.add(Defect::mismatched_braces, position, repaired.brackets);
    at = repaired.end;
  }
  return stop_at(kNowhere);
}

}  // namespace skewscope::ingest
