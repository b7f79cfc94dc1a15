// Values into and out of SQLite statements, in the order of their places.
#pragma once

#include <sqlite3.h>

#include <cstring>
#include <optional>
#include <string>
#include <type_traits>

#include "skewscope/protocol/sha256.h"
#include "src/gather/kept/store.h"

namespace skewscope::gather {

inline int bind(sqlite3_stmt* statement, int place, const std::string& text) {
  // The value outlives the step that reads it: SQLITE_STATIC, which is a null pointer.
  return sqlite3_bind_text64(statement, place, text.data(), text.size(), nullptr, SQLITE_UTF8);
}
inline int bind(sqlite3_stmt* statement, int place, const Digest& digest) {
  return sqlite3_bind_blob(statement, place, digest.data(), static_cast<int>(digest.size()), nullptr);
}
inline int bind(sqlite3_stmt* statement, int place, Time time) {
  return sqlite3_bind_int64(statement, place, time.time_since_epoch().count());
}
inline int bind(sqlite3_stmt* statement, int place, std::chrono::seconds span) {
  return sqlite3_bind_int64(statement, place, span.count());
}
template <class Number>
std::enable_if_t<std::is_integral_v<Number> || std::is_enum_v<Number>, int> bind(sqlite3_stmt* statement, int place,
                                                                                 Number number) {
  return sqlite3_bind_int64(statement, place, static_cast<int64_t>(number));
}
template <class Value>
int bind(sqlite3_stmt* statement, int place, const std::optional<Value>& value) {
  return value ? bind(statement, place, *value) : sqlite3_bind_null(statement, place);
}

// The cells of a row, one after another.
class Cells {
 public:
  explicit Cells(sqlite3_stmt* statement) : statement_(statement) {}

  int64_t number() { return sqlite3_column_int64(statement_, place_++); }
  // Outside the bounds the row makes no sense.
  template <class Number>
  Number number(int64_t least, int64_t most) {
    const int64_t value = number();
    sense_ = sense_ && value >= least && value <= most;
    return static_cast<Number>(value);
  }
  bool flag() { return number() != 0; }
  Time time() { return Time(std::chrono::seconds(number())); }
  std::string text() {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, place_));
    const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, place_++));
    return bytes == nullptr ? std::string() : std::string(bytes, size);
  }
  Digest digest() {
    Digest out{};
    const void* bytes = sqlite3_column_blob(statement_, place_);
    const bool whole = sqlite3_column_bytes(statement_, place_++) == static_cast<int>(out.size());
    sense_ = sense_ && whole;
    if (whole) std::memcpy(out.data(), bytes, out.size());
    return out;
  }
  bool is_null() {
    const bool null = sqlite3_column_type(statement_, place_) == SQLITE_NULL;
    if (null) ++place_;
    return null;
  }
  void require(bool sense) { sense_ = sense_ && sense; }
  bool sense() const { return sense_; }

 private:
  sqlite3_stmt* statement_;
  int place_ = 0;
  bool sense_ = true;
};

}  // namespace skewscope::gather
