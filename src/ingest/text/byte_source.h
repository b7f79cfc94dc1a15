// The bytes of one file, inflated, as a stream. The compression is known by magic bytes, never by the suffix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "skewscope/base/result.h"

namespace skewscope::ingest {

// How the compressed bytes ended.
enum class SourceEnd : uint8_t {
  whole,
  cut,         // inside a compressed stream: a copy or a writer that did not finish
  no_trailer,  // gzip: all data there, checksum and length missing
  damaged,     // bad block or checksum: what came before it was delivered
  trailing,    // bytes after the last stream that are no stream
  unreadable,  // the operating system refused to read on
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills up to `size` bytes; fewer only at the end, 0 after it.
  virtual size_t read(char* out, size_t size) = 0;
  // "", "gzip", "zstd".
  virtual const char* compression() const = 0;
  // The share of the file's bytes, as compressed, that was read: 0 to 1.
  virtual double share_read() const = 0;
  // Meaningful after read() returned fewer bytes than asked for.
  virtual SourceEnd end() const = 0;

  // A plain file can be read at any offset below this, by several threads at once. 0: this source cannot.
  virtual size_t readable_anywhere() const { return 0; }
  // As read(), from this offset on; read() is not moved by it.
  virtual size_t read_at(size_t /*offset*/, char* /*out*/, size_t /*size*/) { return 0; }
  // read() goes on at this offset, of a source that can be read anywhere.
  virtual void seek(size_t /*offset*/) {}
};

// Errors: no_input, with the reason of the operating system.
Result<std::unique_ptr<ByteSource>> open_byte_source(const std::string& file);

}  // namespace skewscope::ingest
