// Reads events that are written like one that was read before.
//
// Problem: the events that leave rows are half of the cost of reading, and nearly all are written alike: a tracer
// prints the same keys in the same order for each kernel of a name, and only numbers differ, mostly not even their
// length. Idea: an event's skeleton (its text with each digit as 0, event_skeleton.h) says how the JSON parser walks
// it; where the parser found the fields of one event, it finds those of every event of equal skeleton, at the same
// places. So each skeleton is parsed once: a few hundred in a trace, 3 to 9 % of the events that leave rows even where
// these are ten thousand. Why right: what the parser does depends on structure, keys, category and name alone, and no
// key, category or name that it knows holds a digit; digits of a name are compared where the name is interned.
// Skeletons are compared whole, so an event that is damaged anywhere has another one. Cost: two passes over the event's
// bytes by vector instructions, no branch per key.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "raw_event.h"
#include "src/ingest/text/event_skeleton.h"

namespace skewscope::ingest {

class EventLayouts {
 public:
  // What was learned stays; whether asking pays is found out again.
  void begin_file() { known_ = unknown_ = 0; }
  // Whether asking pays: events here come in few layouts.
  bool useful() const { return unknown_ < kFirstUnknown + known_ / 4; }
  // Finds the fields of an event by the layout learned for it. False: there is none.
  bool read(std::string_view event, RawEvent& raw);
  // How the event that read() did not know is laid out: `raw` points into it and is kept. Where there are too many
  // layouts all are forgotten: numbers grow longer as a trace goes on, and old layouts do not come again.
  void learn(std::string_view event, const RawEvent& raw);

  static constexpr size_t kMostLayouts = 2048;

 private:
  static constexpr int64_t kFirstUnknown = 512;
  static constexpr size_t kSlots = 4 * kMostLayouts;

  struct Token {
    uint16_t begin = 0, size = 0;
  };
  struct Layout {
    std::string skeleton;
    EventClass event_class = EventClass::skip;
    std::array<Token, 5> fields;  // as kFields of the source
    ArgMask present = 0;
    std::vector<Token> args;  // those present, in order
    KnownLayout known;
  };

  size_t slot_of_skeleton() const;
  static Token token_of(std::string_view event, std::string_view token);

  EventSkeleton skeleton_;  // of the event that was asked for last
  std::vector<Layout> layouts_;
  std::vector<int32_t> slots_ = std::vector<int32_t>(kSlots, -1);  // open addressing by hash; -1: free
  int64_t known_ = 0, unknown_ = 0;
};

}  // namespace skewscope::ingest
