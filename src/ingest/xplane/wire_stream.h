// The wire format of protobuf, read forward in bounded memory: profiles may be gigabytes, and the names of a plane come
// behind its rows. Messages are walked field by field; only the smallest ones are held as a whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "src/ingest/text/byte_source.h"

namespace skewscope::ingest {

// A field's number and its value; of a message, text or packed list the length, whose bytes come next.
struct WireField {
  uint32_t number = 0;
  bool has_length = false;
  uint64_t value = 0;
};

class WireStream {
 public:
  // The largest piece that bytes() gives.
  static constexpr uint64_t kLargestPiece = 256 << 20;

  explicit WireStream(ByteSource& source) : source_(source), buffer_(kBlock) {}

  uint64_t offset() const { return start_ + at_; }
  bool at_end() { return at_ == end_ && !fill(1); }
  // nullopt: the bytes end, or are none of protobuf (broken()).
  std::optional<WireField> next();
  // Valid until the next call. nullopt: the file ends before, or the piece is larger than kLargestPiece.
  std::optional<std::string_view> bytes(uint64_t size);
  // False: the file ends before.
  bool skip(uint64_t size);

  bool broken() const { return broken_; }
  uint64_t largest_piece() const { return buffer_.size(); }

 private:
  static constexpr size_t kBlock = 1 << 20;

  // Whether `size` bytes lie in the buffer, or as many as there are to come.
  bool fill(size_t size);
  std::optional<uint64_t> varint();

  ByteSource& source_;
  std::vector<char> buffer_;
  size_t at_ = 0, end_ = 0;  // in the buffer
  uint64_t start_ = 0;       // of the buffer, in the file
  bool source_ends_ = false, broken_ = false;
};

}  // namespace skewscope::ingest
