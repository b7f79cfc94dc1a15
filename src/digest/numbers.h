// What a digest can hold as a number: integers, enums, booleans, ids, stamps; each as 64 bits and back.
#pragma once

#include <cstdint>
#include <type_traits>

#include "skewscope/base/ids.h"
#include "skewscope/base/time.h"

namespace skewscope::digest {

template <class T>
uint64_t to_number(const T& value) {
  if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  } else if constexpr (requires { value.ns; }) {
    return static_cast<uint64_t>(value.ns);
  } else {
    return static_cast<uint64_t>(int64_t{value.value});
  }
}

template <class T>
void from_number(uint64_t number, T& value) {
  const auto n = static_cast<int64_t>(number);
  if constexpr (std::is_same_v<T, bool>) {
    value = n != 0;
  } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
    value = static_cast<T>(n);
  } else if constexpr (requires { value.ns; }) {
    value.ns = n;
  } else {
    value = T(n);
  }
}

}  // namespace skewscope::digest
