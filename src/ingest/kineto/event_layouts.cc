#include "event_layouts.h"

#include <algorithm>
#include <bit>

#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

bool are_digits(std::string_view token) { return !token.empty() && std::all_of(token.begin(), token.end(), is_digit); }

// "12" or "12.5".
bool is_digit_time(std::string_view token) {
  const size_t point = token.find('.');
  return are_digits(token.substr(0, point)) && (point == token.npos || are_digits(token.substr(point + 1)));
}

constexpr std::array kFields = {&RawEvent::name, &RawEvent::stamp, &RawEvent::duration, &RawEvent::pid, &RawEvent::tid};

}  // namespace

// The slot of its layout, or the free one where that belongs.
size_t EventLayouts::slot_of_skeleton() const {
  size_t slot = skeleton_.hash() % kSlots;
  const auto differs = [&](int32_t row) { return layouts_[static_cast<size_t>(row)].skeleton != skeleton_.text(); };
  while (slots_[slot] >= 0 && differs(slots_[slot])) slot = (slot + 1) % kSlots;
  return slot;
}

bool EventLayouts::read(std::string_view event, RawEvent& raw) {
  const int32_t row = skeleton_.take(event) ? slots_[slot_of_skeleton()] : -1;
  if (row < 0) {
    ++unknown_;
    return false;
  }
  ++known_;
  Layout& layout = layouts_[static_cast<size_t>(row)];
  const auto text_of = [&](Token token) { return std::string_view(event.data() + token.begin, token.size); };
  raw.event_class = layout.event_class;
  raw.kept = true;
  raw.is_half = false;
  raw.flow = 0;
  raw.layout = &layout.known;
  for (size_t i = 0; i < kFields.size(); ++i) raw.*kFields[i] = text_of(layout.fields[i]);
  raw.present = layout.present;
  ArgMask left = layout.present;
  for (const Token token : layout.args) {
    raw.args[static_cast<size_t>(std::countr_zero(left))] = text_of(token);
    left &= left - 1;
  }
  return true;
}

EventLayouts::Token EventLayouts::token_of(std::string_view event, std::string_view token) {
  token = trimmed(token);
  if (token.empty()) return {};
  return {static_cast<uint16_t>(token.data() - event.data()), static_cast<uint16_t>(token.size())};
}

void EventLayouts::learn(std::string_view event, const RawEvent& raw) {
  if (event.size() > EventSkeleton::kLargestEvent) return;
  if (layouts_.size() == kMostLayouts) {
    layouts_.clear();
    std::fill(slots_.begin(), slots_.end(), -1);
  }
  slots_[slot_of_skeleton()] = static_cast<int32_t>(layouts_.size());
  Layout& layout = layouts_.emplace_back();
  layout.skeleton = skeleton_.text();
  layout.event_class = raw.event_class;
  for (size_t i = 0; i < kFields.size(); ++i) layout.fields[i] = token_of(event, raw.*kFields[i]);
  layout.present = raw.present;
  for (ArgMask left = raw.present; left != 0; left &= left - 1) {
    const std::string_view token = raw.args[static_cast<size_t>(std::countr_zero(left))];
    layout.args.push_back(token_of(event, token));
    if (are_digits(trimmed(token))) layout.known.digits |= left & -left;  // a chunk has room before its text
  }
  layout.known.digit_pid = are_digits(trimmed(raw.pid));
  layout.known.digit_tid = are_digits(trimmed(raw.tid));
  layout.known.digit_times = is_digit_time(trimmed(raw.stamp)) && is_digit_time(trimmed(raw.duration));
}

}  // namespace skewscope::ingest
