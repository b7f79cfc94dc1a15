// A count of operations, elements or bytes that may not be known: sums and products of what is not known say why, and
// what leaves int64 is not known either (sizes come from files that anyone may have written).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace skewscope::efficiency {

class Amount {
 public:
  Amount(int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor): 2 * elements
  static Amount unknown(std::string why) {
    Amount amount(0);
    amount.value_.reset();
    amount.why_ = std::move(why);
    return amount;
  }

  std::optional<int64_t> value() const { return value_; }
  const std::string& why() const { return why_; }  // "" where the value is known

  friend Amount operator*(const Amount& a, const Amount& b) {
    int64_t product = 0;
    if (!a.value_ || !b.value_) return unknown(a.value_ ? b.why_ : a.why_);
    return __builtin_mul_overflow(*a.value_, *b.value_, &product) ? too_large() : Amount(product);
  }
  friend Amount operator+(const Amount& a, const Amount& b) {
    int64_t sum = 0;
    if (!a.value_ || !b.value_) return unknown(a.value_ ? b.why_ : a.why_);
    return __builtin_add_overflow(*a.value_, *b.value_, &sum) ? too_large() : Amount(sum);
  }
  Amount& operator+=(const Amount& other) { return *this = *this + other; }

 private:
  static Amount too_large() { return unknown("sizes beyond 64 bits"); }

  std::optional<int64_t> value_;
  std::string why_;
};

}  // namespace skewscope::efficiency
