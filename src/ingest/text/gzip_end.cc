// Problem: a cut gzip file must be distinguished from a whole one without inflating gigabytes: nothing in its last
// bytes looks like an end. Idea: deflate is a chain of blocks, each with its own codes; from the first bit of any block
// on, it can be inflated, whatever comes before it: what is copied from there is unknown, the lengths are not. So every
// bit of the tail is tried as the beginning of a block, until one inflates to an end of the stream that is exactly
// where it has to be. Why it is right: blocks with codes of their own say three times what they are (their counts, the
// code of their code lengths, the lengths must each be complete); of random bits one position in a million passes, and
// goes on to miss the end. A file that is cut by even a byte has no end there. Cost: some 50 KB are searched, 20 ms.
#include "gzip_end.h"

#include <isa-l/igzip_lib.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace skewscope::ingest {
namespace {

constexpr size_t kTrailer = 8;
constexpr size_t kHeaderBytes = 16;  // of a block, as far as is_block() looks
constexpr size_t kOut = 256 << 10;

class BitReader {
 public:
  BitReader(const unsigned char* bytes, size_t bit) : bytes_(bytes), bit_(bit) {}
  unsigned take(unsigned count) {
    unsigned value = 0;
    for (unsigned i = 0; i < count; ++i, ++bit_) value |= (bytes_[bit_ / 8] >> (bit_ % 8) & 1U) << i;
    return value;
  }

 private:
  const unsigned char* bytes_;
  size_t bit_;
};

// RFC 1951, 3.2.7: a block with codes of its own; the code of its code lengths uses each of its bits.
bool is_block(const unsigned char* bytes, size_t bit) {
  constexpr unsigned kOwnCodes = 2, kMostLiterals = 29, kMostDistances = 29, kLongest = 7, kFull = 1U << kLongest;
  BitReader bits(bytes, bit + 1);
  if (bits.take(2) != kOwnCodes || bits.take(5) > kMostLiterals || bits.take(5) > kMostDistances) return false;
  const unsigned lengths = bits.take(4) + 4;
  unsigned used = 0;
  for (unsigned i = 0; i < lengths; ++i) {
    const unsigned length = bits.take(3);
    if (length > 0) used += kFull >> length;
  }
  return used == kFull;
}

class TailInflater {
 public:
  enum class End {
    here,     // the stream's, within the last byte
    further,  // all of it is blocks, and none is the last
    none,     // it is no stream
  };

  explicit TailInflater(std::string_view tail) : in_(tail.begin(), tail.end()) {}  // ISA-L wants it writable

  End end_from(size_t bit) {
    isal_inflate_init(state_.get());
    isal_inflate_set_dict(state_.get(), window_.data(), static_cast<uint32_t>(window_.size()));
    state_->read_in = in_[bit / 8] >> (bit % 8);
    state_->read_in_length = static_cast<int32_t>(8 - bit % 8);
    state_->next_in = in_.data() + bit / 8 + 1;
    state_->avail_in = static_cast<uint32_t>(in_.size() - bit / 8 - 1);
    while (true) {
      state_->next_out = out_.data();
      state_->avail_out = static_cast<uint32_t>(out_.size());
      const int error = isal_inflate(state_.get());
      if (error < ISAL_DECOMP_OK) return End::none;
      if (state_->block_state == ISAL_BLOCK_FINISH) {
        return state_->avail_in == 0 && state_->read_in_length < 8 ? End::here : End::none;
      }
      if (error == ISAL_END_INPUT || state_->avail_out == out_.size()) return End::further;
    }
  }

 private:
  std::vector<uint8_t> in_, window_ = std::vector<uint8_t>(32 << 10), out_ = std::vector<uint8_t>(kOut);
  std::unique_ptr<inflate_state> state_ = std::make_unique<inflate_state>();
};

}  // namespace

bool ends_with_its_stream(std::string_view tail) {
  if (tail.size() < kTrailer + kHeaderBytes) return false;
  tail.remove_suffix(kTrailer);
  const auto* bytes = reinterpret_cast<const unsigned char*>(tail.data());
  TailInflater inflater(tail);
  // A chain through half of the tail is no accident.
  for (size_t bit = 0; bit < 4 * (tail.size() - kHeaderBytes); ++bit) {
    if (!is_block(bytes, bit)) continue;
    const TailInflater::End end = inflater.end_from(bit);
    if (end != TailInflater::End::none) return end == TailInflater::End::here;
  }
  return false;
}

}  // namespace skewscope::ingest
