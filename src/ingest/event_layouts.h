// Reads events that are written like one that was read before.
//
// Problem: the events that leave rows are half of the cost of reading, and nearly all are written alike: a tracer
// prints the same keys in the same order for each kernel of a name, and only numbers differ. Idea: an event's skeleton
// (its text with each run of digits as one 0, event_skeleton.h) says how the JSON parser walks it; where the parser
// found the fields of one event, it finds those of every event of equal skeleton. So each skeleton is parsed once, and
// from then on a field's place is that of the digits before it plus a constant. Why right: what the parser does depends
// on structure, keys, category and name alone, and no key, category or name that it knows holds a digit; digits of a
// name are compared where the name is interned. Skeletons are compared whole, so an event that is damaged anywhere has
// another one; the layout that a hint names is tried first, which nearly always is the event's. Cost: one pass over the
// event's bytes, no branch per key.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "event_skeleton.h"
#include "raw_event.h"

namespace skewscope::ingest {

class EventLayouts {
 public:
  explicit EventLayouts(const SkeletonMethods* methods = fastest_skeletons()) : skeleton_(methods) {}

  // Whether asking pays: the processor can, and events here come in few layouts.
  bool useful() const { return skeleton_.available() && unknown_ < kFirstUnknown + known_ / 4; }
  // Finds the fields of an event by the layout learned for it. False: there is none.
  bool read(std::string_view event, RawEvent& raw);
  // How the event that read() did not know is laid out: `raw` points into it and is kept.
  void learn(std::string_view event, const RawEvent& raw);

 private:
  static constexpr int64_t kFirstUnknown = 512;
  static constexpr size_t kMostLayouts = 2048, kSlots = 4 * kMostLayouts;

  // So far behind that run of digits.
  struct Place {
    uint16_t run, distance;
  };
  struct Token {
    Place begin, end;
  };
  struct Layout {
    std::string skeleton;  // and a block behind it
    std::string_view text() const { return {skeleton.data(), skeleton.size() - EventSkeleton::kBlock}; }
    EventClass event_class = EventClass::skip;
    std::array<Token, 5> fields;  // as kFields of the source
    ArgMask present = 0;
    std::vector<Token> args;  // those present, in order
    KnownLayout known;
  };

  int32_t row_of(std::string_view event);
  size_t slot_of_skeleton() const;
  Place place_at(size_t at) const;
  Token token_of(std::string_view event, std::string_view token) const;

  EventSkeleton skeleton_;
  std::vector<Layout> layouts_;
  std::vector<int32_t> slots_ = std::vector<int32_t>(kSlots, -1);   // open addressing by hash; -1: free
  std::vector<int32_t> likely_ = std::vector<int32_t>(kSlots, -1);  // the last layout of each hint; -1: none
  int64_t known_ = 0, unknown_ = 0;
};

}  // namespace skewscope::ingest
