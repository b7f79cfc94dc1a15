// Plain data as bytes, for a process of the same build on a machine of the same kind: no version, no byte order.
#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace skewscope {

using Bytes = std::string;

template <class T>
concept PlainData = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>;

class ByteWriter {
 public:
  template <PlainData T>
  void put(const T& value) {
    append(&value, sizeof(T));
  }
  template <PlainData T, class Allocator>
  void put(const std::vector<T, Allocator>& rows) {
    put(rows.size());
    append(rows.data(), rows.size() * sizeof(T));
  }
  void put(const std::string& text) {
    put(text.size());
    append(text.data(), text.size());
  }
  Bytes take() { return std::move(bytes_); }

 private:
  void append(const void* from, size_t size) {
    if (size > 0) bytes_.append(static_cast<const char*>(from), size);
  }
  Bytes bytes_;
};

// Reads in the order of writing.
class ByteReader {
 public:
  explicit ByteReader(const Bytes& bytes) : bytes_(bytes) {}

  template <PlainData T>
  void get(T& value) {
    copy(&value, sizeof(T));
  }
  template <PlainData T, class Allocator>
  void get(std::vector<T, Allocator>& rows) {
    rows.resize(get<size_t>());
    copy(rows.data(), rows.size() * sizeof(T));
  }
  void get(std::string& text) {
    text.resize(get<size_t>());
    copy(text.data(), text.size());
  }
  template <class T>
  T get() {
    T value{};
    get(value);
    return value;
  }
  bool done() const { return at_ == bytes_.size(); }

 private:
  void copy(void* to, size_t size) {
    assert(size <= bytes_.size() - at_);
    if (size > 0) std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
  }
  const Bytes& bytes_;
  size_t at_ = 0;
};

}  // namespace skewscope
