// Messages of protobuf that lie in memory, as views.
#pragma once

#include <cstdint>
#include <protozero/config.hpp>
#include <protozero/exception.hpp>
#include <string_view>

namespace skewscope::ingest {

// A field of another type than its number has.
struct WrongFieldType : protozero::exception {};

}  // namespace skewscope::ingest

// protozero asserts that fields are of the types that they are asked for. Here they are whatever the file says.
#undef protozero_assert
#define protozero_assert(holds)                \
  if (!(holds)) {                              \
    throw skewscope::ingest::WrongFieldType{}; \
  }
#include <protozero/pbf_reader.hpp>

namespace skewscope::ingest {

inline std::string_view view_of(const protozero::data_view& bytes) { return {bytes.data(), bytes.size()}; }
inline protozero::pbf_reader message_of(std::string_view bytes) {
  return protozero::pbf_reader(protozero::data_view(bytes.data(), bytes.size()));
}

// Numbers of a repeated field, packed or not.
template <class Visit>
void each_number(protozero::pbf_reader& message, const Visit& visit) {
  if (message.wire_type() != protozero::pbf_wire_type::length_delimited) {
    visit(message.get_int64());
    return;
  }
  for (const int64_t number : message.get_packed_int64()) visit(number);
}

}  // namespace skewscope::ingest
