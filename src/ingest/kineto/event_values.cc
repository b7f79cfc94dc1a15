// What the tokens of an event say: texts, numbers and stamps, with what is wrong about them counted.
#include "row_builder.h"
#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

int64_t id_number(std::string_view token, bool digits) {
  if (!digits || token.size() > kMostDigits) return number_of_id(token);
  return static_cast<int64_t>(value_of_digits(token));
}

}  // namespace

StringId RowBuilder::intern(std::string_view token) {
  const StringId id = rows_->strings.intern(bare(token), tokens_.live_on);
  const int64_t bad_escapes = rows_->strings.bad_escapes(id);
  if (bad_escapes > 0) rows_->defects.add(Defect::bad_escape, tokens_.offset_of(token), bad_escapes);
  return id;
}

// `last`: an id that it may have.
StringId RowBuilder::intern_after(std::string_view token, StringId& last) {
  if (!rows_->strings.is_id_of(last, bare(token))) last = intern(token);
  return last;
}

StringId RowBuilder::intern_name(const RawEvent& event) {
  return event.layout == nullptr ? intern(event.name) : intern_after(event.name, event.layout->last_name);
}

StringId RowBuilder::intern_arg(std::string_view token, Arg arg, const RawEvent& event) {
  if (event.layout == nullptr) return intern(token);
  return intern_after(token, event.layout->last_args[static_cast<size_t>(arg)]);
}

StringId RowBuilder::text(const RawEvent& event, Arg arg) {
  if ((event.present & mask_of(arg)) == 0) return {};
  return intern_arg(event.args[static_cast<size_t>(arg)], arg, event);
}

int64_t RowBuilder::integer(const RawEvent& event, Arg arg) {
  if ((event.present & mask_of(arg)) == 0) return -1;
  const std::string_view token = event.args[static_cast<size_t>(arg)];
  if (event.layout != nullptr && (event.layout->digits & mask_of(arg)) && token.size() <= kMostDigits) {
    return static_cast<int64_t>(value_of_digits(token));
  }
  int64_t value = -1;
  const bool is_number = read_integer(token, value);
  if (token.front() == '"' && is_number) rows_->defects.add(Defect::number_as_string, tokens_.offset_of(token));
  if (!is_number && token.front() != '"' && !is_null(token)) {
    rows_->defects.add(Defect::bare_nan, tokens_.offset_of(token));
  }
  return is_number ? value : -1;
}

int64_t RowBuilder::thread_of(const RawEvent& event) {
  return id_number(event.tid, event.layout != nullptr && event.layout->digit_tid);
}

int64_t RowBuilder::process_of(const RawEvent& event) {
  return id_number(event.pid, event.layout != nullptr && event.layout->digit_pid);
}

bool RowBuilder::read_times(const RawEvent& event, LocalNs& start, int64_t& duration_ns) {
  return read_times(event, rows_->stamps, rows_->defects, start, duration_ns);
}

bool RowBuilder::read_times(const RawEvent& event, StampForms& stamps, DefectCounts& defects, LocalNs& start,
                            int64_t& duration_ns) const {
  const auto read = [&](std::string_view token, int64_t& ns) {
    FractionForm form;
    const bool done = event.layout != nullptr && event.layout->digit_times && read_digit_microseconds(token, ns, form);
    if (!done && (token.empty() || !read_microseconds(token, unpadded_fractions_, ns, form))) return false;
    if (form.digits > 0) {
      // Zero is written the same way in every form (".0" by Python): it tells nothing.
      stamps.fractions += form.nonzero;
      stamps.short_fractions += form.nonzero && form.digits < 3;
      stamps.starting_with_0 += form.starts_with_0;
      if (form.digits > 3) defects.add(Defect::long_fraction, tokens_.offset_of(token));
    }
    if (token.front() == '"') defects.add(Defect::number_as_string, tokens_.offset_of(token));
    return true;
  };
  if (!read(event.stamp, start.ns)) {
    if (!event.stamp.empty()) defects.add(Defect::bare_nan, tokens_.offset_of(event.stamp));
    defects.add(Defect::dropped_event, tokens_.offset_of(event.stamp.empty() ? event.name : event.stamp));
    return false;
  }
  duration_ns = 0;
  if (event.duration.empty() || !read(event.duration, duration_ns)) {
    const bool absent = event.duration.empty() || is_null(event.duration);
    const bool has_none = event.is_half || event.flow != 0 || is_told_by_phase(event.event_class);
    if (!absent) defects.add(Defect::bare_nan, tokens_.offset_of(event.duration));
    if (absent && !has_none) defects.add(Defect::no_duration, tokens_.offset_of(event.stamp));
  }
  if (duration_ns < 0) {
    defects.add(Defect::negative_duration, tokens_.offset_of(event.duration));
    duration_ns = 0;
  }
  return true;
}

}  // namespace skewscope::ingest
