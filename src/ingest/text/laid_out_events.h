// The events of a chunk whose text is laid out: the braces of an event are at the beginning of a line, behind blanks,
// and all lines inside it deeper (Kineto: two blanks; json.dump with an indent: as many as asked for).
//
// Why an event ends where this says: a JSON string holds no raw line break, so a line break, the indentation and a
// brace are structure wherever they are. The walk goes from an opening brace to a closing one with none of the same
// indentation between (an event that was cut off, with the next one behind it), and goes on only over `,`, line break
// and the next opening brace. At anything else (the end of the events, a cut, another layout) it ends, or a few events
// before. Cost: one pass over the text, for braces (event_ends.h).
#pragma once

#include <cstddef>
#include <string_view>

#include "event_ends.h"

namespace skewscope::ingest {

// Places count from the start of the text.
class LaidOutEvents {
 public:
  explicit LaidOutEvents(std::string_view text) : text_(text), laid_out_(find_layout()) {}

  bool laid_out() const { return laid_out_; }
  // Moves to the next event. False: it is not followed by another one, or the layout ends here.
  bool next() {
    if (following_ == std::string_view::npos) return false;
    begin_ = following_;
    following_ = std::string_view::npos;
    const size_t close = ends_.next();
    if (close == EventEnds::kNone) return false;
    end_ = close + 1;
    following_ = close + ends_.to_opening();
    return true;
  }
  // Opening brace of the event, behind its closing brace, and opening brace of the one that follows it.
  size_t begin() const { return begin_; }
  size_t end() const { return end_; }
  size_t following() const { return following_; }

 private:
  bool find_layout();

  std::string_view text_;
  EventEnds ends_;
  size_t begin_ = 0, end_ = 0, following_ = std::string_view::npos;
  bool laid_out_;
};

}  // namespace skewscope::ingest
