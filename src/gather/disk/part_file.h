// An upload's bytes as they arrive: appended, hashed, flushed. Between two durable points lies a segment, whose digest
// lets a restart know its bytes again without reading the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "file_system.h"
#include "skewscope/protocol/sha256.h"

namespace skewscope::gather {

struct Segment {
  uint64_t start = 0, end = 0;
  Digest digest{};
};

// What returns int returns 0 or an errno.
class PartFile {
 public:
  PartFile(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}
  ~PartFile() { close(); }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  // Reserves `bytes` of disk. ENOSPC, EDQUOT: and it is gone again.
  int create(uint64_t bytes);
  // To append at `durable`; whatever lies behind is cut off. Without the running digest (after a restart) all of it is
  // read once. A part without durable bytes may be missing: then it is made again.
  int open(uint64_t durable, std::optional<uint64_t> length);
  void close();

  // All of `bytes` or, as far as the file system allows, none.
  int append(std::string_view bytes);
  // Makes all durable. `segment`: what came since the last time.
  int sync(Segment& segment);
  // The bytes since the last sync or open go.
  int roll_back();
  int make_immutable() { return files_.make_immutable(file_); }
  int first_bytes(std::string& bytes);  // four, or fewer

  uint64_t written() const { return written_; }
  uint64_t unsynced() const { return written_ - segment_start_; }
  Digest digest() const { return whole_.digest(); }
  Digest segment_digest() const { return segment_ ? segment_->digest() : whole_.digest(); }

 private:
  int cut_to(uint64_t bytes);
  int read_again();
  void begin_segment();

  FileSystem& files_;
  std::string path_;
  int file_ = -1;
  uint64_t reserved_ = 0, written_ = 0, hashed_ = 0, segment_start_ = 0, handed_over_ = 0;
  Sha256 whole_, whole_before_;    // of all bytes; of those before the segment
  std::optional<Sha256> segment_;  // absent: the segment is all there is, or nothing has come since it began
};

// SHA-256 of a file's first `bytes`, from `start` on. EIO when there are fewer.
int digest_of(FileSystem& files, int file, uint64_t start, uint64_t bytes, Sha256& digest);

}  // namespace skewscope::gather
