// What is sent of a file: its bytes, or, of plain JSON, gzip members of 16 MiB of it each. Members are independent and
// always come out the same, so that an upload can go on at any offset without anything being kept: the member in which
// it lies is made again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "skewscope/base/result.h"
#include "skewscope/protocol/sha256.h"

namespace skewscope::ship {

inline constexpr uint64_t kMemberInput = uint64_t{16} << 20;

// The body of one request.
struct Piece {
  uint64_t begin = 0, size = 0;  // position in the payload
  std::optional<Digest> sha256;  // where pieces are hashed
  std::string bytes;             // of a gzip member; else they are read from the file
};

class Payload {
 public:
  struct Source {
    int descriptor = -1;  // stays the caller's
    uint64_t size = 0;
    bool compress = false;
    bool hash_pieces = true;  // besides the whole: what TLS carries arrives as it was sent
  };

  // Reads the file once, for size and digests. `go_on` is asked between blocks, here and whenever it is read again.
  // Errors: no_input (cannot be read, became shorter, or stopped).
  static Result<Payload> make(const Source& source, uint64_t piece_bytes, std::function<bool()> go_on);

  uint64_t size() const { return size_; }
  const Digest& sha256() const { return sha256_; }
  // From `offset` < size() on, to the next multiple of piece_bytes; of a member at most 8 MiB and not past its end.
  Result<Piece> piece(uint64_t offset) const;
  // Bytes of the piece from `position` on; fewer than `size` only at its end or when the file cannot be read.
  size_t read(const Piece& piece, uint64_t position, char* out, size_t size) const;
  // The kernel need not keep what was sent.
  void sent(const Piece& piece) const;

 private:
  bool hash_piece(Piece& piece) const;

  Source source_;
  uint64_t piece_bytes_ = 0, size_ = 0;
  Digest sha256_{};
  std::function<bool()> go_on_;
  std::vector<uint64_t> member_ends_;  // in the payload; empty: not compressed
  std::vector<Digest> piece_digests_;  // of what is not compressed, piece by piece from its beginning
};

}  // namespace skewscope::ship
