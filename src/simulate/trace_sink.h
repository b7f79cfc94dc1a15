// A trace file being written, plain or compressed, in pieces. Opens the file for each piece only, so that a job may
// have more ranks than a process may have open files.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace skewscope::simulate {

// "" -> "", "gzip" -> ".gz", "zstd" -> ".zst".
std::string compression_suffix(const std::string& compression);

class Compressor;

class TraceSink {
 public:
  // `compression`: "", "gzip" or "zstd". The file is made new.
  TraceSink(std::string path, const std::string& compression);
  ~TraceSink();
  TraceSink(TraceSink&&) noexcept;

  // False when the file cannot be written; every later call is false too.
  bool write(std::string_view text);
  // Ends the compressed stream. Nothing may be written after it.
  bool close();
  const std::string& path() const { return path_; }

 private:
  bool append(std::string_view text, bool last);
  bool store(std::string_view bytes);

  std::string path_;
  std::unique_ptr<Compressor> compressor_;
  bool started_ = false;
  bool failed_ = false;
};

}  // namespace skewscope::simulate
