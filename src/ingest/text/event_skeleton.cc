// The loop over a block is one that compilers make vector instructions of, for AVX-512, for AVX2 and for what any
// processor has; the first of these that this one can is taken.
#include "event_skeleton.h"

#include <cstring>

namespace skewscope::ingest {
namespace {

constexpr size_t kBlockBytes = 32;
static_assert(EventSkeleton::kLargestEvent % kBlockBytes == 0);  // the last block is written whole
using Lanes [[gnu::vector_size(kBlockBytes)]] = uint64_t;

// Writes `size` bytes of a skeleton, and what fills its last block; returns its hash.
using TakeSkeleton = uint64_t (*)(const char* event, size_t size, char* text);

[[gnu::always_inline]] inline void take_block(const char* __restrict event, char* __restrict text) {
  for (size_t i = 0; i < kBlockBytes; ++i) {
    const auto value = static_cast<unsigned char>(event[i] - '0');
    text[i] = value < 10 ? '0' : event[i];
  }
}

[[gnu::always_inline]] inline uint64_t take_blocks(const char* __restrict event, size_t size, char* __restrict text) {
  Lanes mixed = {size};  // lane by lane
  const auto mix = [&](const char* block) {
    Lanes lanes;
    std::memcpy(&lanes, block, kBlockBytes);
    mixed = (mixed << 11 | mixed >> 53) ^ lanes;
  };
  const size_t whole = size - size % kBlockBytes;
  for (size_t at = 0; at < whole; at += kBlockBytes) {
    take_block(event + at, text + at);
    mix(text + at);
  }
  if (whole < size) {
    std::array<char, kBlockBytes> last{};
    std::memcpy(last.data(), event + whole, size - whole);
    take_block(last.data(), text + whole);
    mix(text + whole);
  }
  uint64_t hash = 0;
  for (size_t lane = 0; lane < kBlockBytes / sizeof(uint64_t); ++lane) {
    hash = (hash ^ mixed[lane]) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

uint64_t take_anywhere(const char* event, size_t size, char* text) { return take_blocks(event, size, text); }

#if defined(__x86_64__)

[[gnu::target("avx2")]] uint64_t take_avx2(const char* event, size_t size, char* text) {
  return take_blocks(event, size, text);
}

[[gnu::target("avx512bw")]] uint64_t take_avx512(const char* event, size_t size, char* text) {
  return take_blocks(event, size, text);
}

#endif

TakeSkeleton fastest_way() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw")) return take_avx512;
  if (__builtin_cpu_supports("avx2")) return take_avx2;
#endif
  return take_anywhere;
}

}  // namespace

bool EventSkeleton::take(std::string_view event) {
  static const TakeSkeleton take_it = fastest_way();
  if (event.size() > kLargestEvent) return false;
  hash_ = take_it(event.data(), event.size(), text_.data());
  size_ = event.size();
  return true;
}

}  // namespace skewscope::ingest
