#include "wire_stream.h"

#include <algorithm>
#include <cstring>

namespace skewscope::ingest {

bool WireStream::fill(size_t size) {
  if (end_ - at_ >= size) return true;
  std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
  start_ += at_;
  end_ -= at_;
  at_ = 0;
  while (end_ < size && !source_ends_) {
    // What a damaged length claims is believed as far as bytes come.
    if (end_ == buffer_.size()) buffer_.resize(std::min(std::max(size, kBlock), 2 * buffer_.size()));
    const size_t got = source_.read(buffer_.data() + end_, buffer_.size() - end_);
    source_ends_ = got < buffer_.size() - end_;
    end_ += got;
  }
  return end_ >= size;
}

std::optional<uint64_t> WireStream::varint() {
  constexpr size_t kMostBytes = 10;
  fill(kMostBytes);
  uint64_t value = 0;
  for (size_t i = 0; i < kMostBytes && at_ < end_; ++i) {
    const auto byte = static_cast<uint8_t>(buffer_[at_++]);
    value |= uint64_t{byte & 0x7fU} << (7 * i);
    if (byte < 0x80) return value;
  }
  broken_ = at_ < end_;
  return std::nullopt;
}

std::optional<WireField> WireStream::next() {
  constexpr uint64_t kLongest = uint64_t{1} << 60;  // of what a file may hold
  const std::optional<uint64_t> key = varint();
  if (!key) return std::nullopt;
  WireField field;
  field.number = static_cast<uint32_t>(*key >> 3);
  const auto type = static_cast<uint32_t>(*key & 7);
  if (type == 0 || type == 2) {
    const std::optional<uint64_t> value = varint();
    if (!value) return std::nullopt;
    field.value = *value;
    field.has_length = type == 2;
    broken_ = field.has_length && field.value > kLongest;
    return broken_ ? std::nullopt : std::optional(field);
  }
  const uint64_t size = type == 1 ? 8 : type == 5 ? 4 : 0;
  broken_ = size == 0 || field.number == 0;
  if (broken_ || !fill(size)) return std::nullopt;
  std::memcpy(&field.value, buffer_.data() + at_, size);
  at_ += size;
  return field;
}

std::optional<std::string_view> WireStream::bytes(uint64_t size) {
  if (size > kLargestPiece || !fill(size)) return std::nullopt;
  const std::string_view piece(buffer_.data() + at_, size);
  at_ += size;
  return piece;
}

bool WireStream::skip(uint64_t size) {
  const uint64_t held = std::min<uint64_t>(size, end_ - at_);
  at_ += held;
  uint64_t left = size - held;
  if (left == 0) return true;
  if (const uint64_t file = source_.readable_anywhere(); file > 0) {
    const uint64_t to = start_ + at_ + left;
    if (to > file || to < left) return false;
    source_.seek(to);
    start_ = to;
    at_ = end_ = 0;
    return true;
  }
  while (left > 0 && fill(1)) {
    const uint64_t piece = std::min<uint64_t>(left, end_ - at_);
    at_ += piece;
    left -= piece;
  }
  return left == 0;
}

}  // namespace skewscope::ingest
