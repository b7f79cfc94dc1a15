#include "payload.h"

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace skewscope::ship {
namespace {

constexpr size_t kBlock = 256 << 10;
constexpr uint64_t kMostHeld = uint64_t{8} << 20;  // of a member, in memory; a larger one is made once per piece

using Sink = std::function<void(std::string_view)>;
using GoOn = std::function<bool()>;

Error unreadable(const char* why) { return {ErrorKind::no_input, why}; }

// False: an error, or the file ends before.
bool read_exactly(int descriptor, uint64_t offset, char* out, size_t size) {
  while (size > 0) {
    const ssize_t got = pread(descriptor, out, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool read_range(int descriptor, uint64_t begin, uint64_t end, const GoOn& go_on, const Sink& sink) {
  std::vector<char> block(kBlock);
  for (uint64_t at = begin; at < end;) {
    if (!go_on()) return false;
    const size_t size = std::min<uint64_t>(block.size(), end - at);
    if (!read_exactly(descriptor, at, block.data(), size)) return false;
    sink({block.data(), size});
    at += size;
  }
  return true;
}

class Deflater {
 public:
  Deflater() : stream_(std::make_unique<isal_zstream>()) {
    isal_deflate_init(stream_.get());
    stream_->level = 1;
    stream_->level_buf = level_buffer_.data();
    stream_->level_buf_size = static_cast<uint32_t>(level_buffer_.size());
    stream_->gzip_flag = IGZIP_GZIP;
  }

  void put(std::string_view bytes, bool last, const Sink& sink) {
    std::string in(bytes);  // ISA-L wants it writable
    stream_->next_in = reinterpret_cast<uint8_t*>(in.data());
    stream_->avail_in = static_cast<uint32_t>(in.size());
    stream_->end_of_stream = last ? 1 : 0;
    do {
      stream_->next_out = out_.data();
      stream_->avail_out = static_cast<uint32_t>(out_.size());
      isal_deflate(stream_.get());
      sink({reinterpret_cast<const char*>(out_.data()), out_.size() - stream_->avail_out});
    } while (stream_->avail_in > 0 || stream_->avail_out == 0);
  }

 private:
  std::unique_ptr<isal_zstream> stream_;
  std::vector<uint8_t> level_buffer_ = std::vector<uint8_t>(ISAL_DEF_LVL1_DEFAULT);
  std::vector<uint8_t> out_ = std::vector<uint8_t>(kBlock);
};

bool deflate_range(int descriptor, uint64_t begin, uint64_t end, const GoOn& go_on, const Sink& sink) {
  Deflater deflater;
  uint64_t at = begin;
  return read_range(descriptor, begin, end, go_on, [&](std::string_view bytes) {
    at += bytes.size();
    deflater.put(bytes, at == end, sink);
  });
}

}  // namespace

Result<Payload> Payload::make(const Source& source, uint64_t piece_bytes, std::function<bool()> go_on) {
  Payload payload;
  payload.source_ = source;
  payload.piece_bytes_ = piece_bytes;
  payload.go_on_ = std::move(go_on);
  Sha256 whole;
  const uint64_t step = source.compress ? kMemberInput : piece_bytes;
  for (uint64_t begin = 0; begin < source.size; begin += step) {
    const uint64_t end = std::min(source.size, begin + step);
    Sha256 piece;
    const Sink count = [&](std::string_view bytes) {
      whole.update(bytes);
      if (!source.compress && source.hash_pieces) piece.update(bytes);
      payload.size_ += bytes.size();
    };
    const bool read = source.compress ? deflate_range(source.descriptor, begin, end, payload.go_on_, count)
                                      : read_range(source.descriptor, begin, end, payload.go_on_, count);
    if (!read) return unreadable("cannot be read to its end");
    if (source.compress) {
      payload.member_ends_.push_back(payload.size_);
    } else if (source.hash_pieces) {
      payload.piece_digests_.push_back(piece.digest());
    }
  }
  payload.sha256_ = whole.digest();
  return payload;
}

Result<Piece> Payload::piece(uint64_t offset) const {
  Piece piece;
  piece.begin = offset;
  if (source_.compress) {
    const auto end = std::upper_bound(member_ends_.begin(), member_ends_.end(), offset);
    const auto member = static_cast<uint64_t>(end - member_ends_.begin());
    const uint64_t member_begin = member == 0 ? 0 : member_ends_[member - 1];
    piece.size = std::min({piece_bytes_, kMostHeld, *end - offset});
    piece.bytes.reserve(piece.size);
    uint64_t at = member_begin;  // what lies outside the piece is made and dropped
    const bool read =
        deflate_range(source_.descriptor, member * kMemberInput, std::min(source_.size, (member + 1) * kMemberInput),
                      go_on_, [&](std::string_view bytes) {
                        const uint64_t skip = offset > at ? std::min(offset - at, bytes.size()) : 0;
                        at += bytes.size();
                        bytes.remove_prefix(skip);
                        piece.bytes += bytes.substr(0, piece.size - piece.bytes.size());
                      });
    if (!read || piece.bytes.size() != piece.size) return unreadable("cannot be read as before");
    if (source_.hash_pieces) piece.sha256 = skewscope::sha256(piece.bytes);
  } else {
    struct stat status {};
    const bool long_enough = fstat(source_.descriptor, &status) == 0 && static_cast<uint64_t>(status.st_size) >= size_;
    if (!long_enough) return unreadable("cannot be read as before");
    piece.size = std::min(piece_bytes_ - offset % piece_bytes_, size_ - offset);
    if (source_.hash_pieces && !hash_piece(piece)) return unreadable("cannot be read as before");
  }
  return piece;
}

bool Payload::hash_piece(Piece& piece) const {
  if (piece.begin % piece_bytes_ == 0) {
    piece.sha256 = piece_digests_[piece.begin / piece_bytes_];
    return true;
  }
  Sha256 hash;
  const bool read = read_range(source_.descriptor, piece.begin, piece.begin + piece.size, go_on_,
                               [&](std::string_view bytes) { hash.update(bytes); });
  piece.sha256 = hash.digest();
  return read;
}

size_t Payload::read(const Piece& piece, uint64_t position, char* out, size_t size) const {
  if (position >= piece.size) return 0;
  size = std::min<uint64_t>(size, piece.size - position);
  if (source_.compress) {
    std::memcpy(out, piece.bytes.data() + position, size);
    return size;
  }
  return read_exactly(source_.descriptor, piece.begin + position, out, size) ? size : 0;
}

void Payload::sent(const Piece& piece) const {
  if (source_.compress) return;
  posix_fadvise(source_.descriptor, static_cast<off_t>(piece.begin), static_cast<off_t>(piece.size),
                POSIX_FADV_DONTNEED);
}

}  // namespace skewscope::ship
