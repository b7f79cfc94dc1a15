// Idea: the bytes of a register that are to stay are closed up by one instruction (VBMI2), 64 at a time.
#include <algorithm>
#include <array>
#include <bit>

#include "event_skeleton.h"
#include "skeleton_methods.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace skewscope::ingest {

#if defined(__x86_64__)
namespace {
namespace avx512 {  // sources are compiled together, and each has a take()

#define SKEWSCOPE_VBMI2 gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2,bmi,bmi2,popcnt")

[[SKEWSCOPE_VBMI2]] uint64_t hash_blocks(const char* text, size_t size) {
  __m512i mixed = _mm512_set1_epi64(static_cast<int64_t>(size));
  for (size_t i = 0; i < size; i += 64) {
    mixed = _mm512_xor_si512(_mm512_maskz_rol_epi64(0xff, mixed, 11), _mm512_load_si512(text + i));
  }
  alignas(64) std::array<uint64_t, 8> lanes;
  _mm512_store_si512(lanes.data(), mixed);
  uint64_t hash = 0;
  for (const uint64_t lane : lanes) hash = (hash ^ lane) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 32);
}

[[SKEWSCOPE_VBMI2]] inline uint64_t low_bits(size_t count) {
  return _bzhi_u64(~uint64_t{0}, static_cast<unsigned>(count));
}

[[SKEWSCOPE_VBMI2]] inline uint64_t digits_of(__m512i bytes) {
  return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, _mm512_set1_epi8('0')), _mm512_set1_epi8(10));
}

// The blocks of an event, one after the other.
class Blocks {
 public:
  [[SKEWSCOPE_VBMI2]] Blocks(std::string_view event, uint16_t* behind) : event_(event), behind_(behind) {}

  bool done() const { return at_ >= event_.size(); }
  size_t runs() const { return runs_; }

  // What the next block adds to the skeleton: `size` bytes, then zeros.
  [[SKEWSCOPE_VBMI2]] inline __m512i take(size_t& size) {
    const uint64_t inside = low_bits(std::min<size_t>(64, event_.size() - at_));
    const __m512i bytes = _mm512_loadu_si512(event_.data() + at_);
    const uint64_t digits = digits_of(bytes) & inside;
    const uint64_t after_digit = (digits << 1) | last_was_digit_;
    last_was_digit_ = digits >> 63;
    const uint64_t first = digits & ~after_digit, kept = inside & (~digits | first);
    keep_places(after_digit & ~digits);
    at_ += 64;
    size = static_cast<size_t>(std::popcount(kept));
    return _mm512_maskz_compress_epi8(kept, _mm512_mask_mov_epi8(bytes, first, _mm512_set1_epi8('0')));
  }

 private:
  [[SKEWSCOPE_VBMI2]] inline void keep_places(uint64_t behind_run) {
    alignas(64) static constexpr auto kPlaces = [] {
      std::array<uint8_t, 64> places{};
      for (uint8_t i = 0; i < 64; ++i) places[i] = i;
      return places;
    }();
    const __m512i places = _mm512_maskz_compress_epi8(behind_run, _mm512_load_si512(kPlaces.data()));
    const __m256i ends = _mm512_maskz_extracti64x4_epi64(0xf, places, 0);  // 32 at most
    const __m512i wide =
        _mm512_add_epi16(_mm512_maskz_cvtepu8_epi16(~__mmask32{0}, ends), _mm512_set1_epi16(static_cast<int16_t>(at_)));
    _mm512_storeu_si512(behind_ + runs_, wide);
    runs_ += static_cast<size_t>(std::popcount(behind_run));
  }

  std::string_view event_;
  uint16_t* behind_;
  uint64_t last_was_digit_ = 0;  // of the block before
  size_t at_ = 0, runs_ = 0;
};

[[SKEWSCOPE_VBMI2]] TakenSkeleton take(std::string_view event, char* text, uint16_t* behind) {
  Blocks blocks(event, behind);
  TakenSkeleton taken = {};
  for (size_t size = 0; !blocks.done(); taken.size += size) _mm512_storeu_si512(text + taken.size, blocks.take(size));
  _mm512_storeu_si512(text + taken.size, _mm512_setzero_si512());
  taken.runs = blocks.runs();
  taken.hash = hash_blocks(text, taken.size);
  return taken;
}

[[SKEWSCOPE_VBMI2]] size_t take_expected(std::string_view event, std::string_view expected, uint16_t* behind) {
  Blocks blocks(event, behind);
  size_t compared = 0;
  for (size_t size = 0; !blocks.done(); compared += size) {
    const __m512i own = blocks.take(size);
    if (compared > expected.size()) return SkeletonMethods::kOther;
    const __m512i other = _mm512_loadu_si512(expected.data() + compared);
    if (_mm512_mask_cmpneq_epi8_mask(low_bits(size), own, other) != 0) return SkeletonMethods::kOther;
  }
  return compared == expected.size() ? blocks.runs() : SkeletonMethods::kOther;
}

// Digits as zeros, wherever they stand; lanes multiplied by odd numbers and added up.
[[SKEWSCOPE_VBMI2]] uint32_t hint(std::string_view event) {
  __m512i mixed = _mm512_setzero_si512();
  for (size_t i = 0; i < 2 * EventSkeleton::kBlock; i += EventSkeleton::kBlock) {
    const size_t left = event.size() > i ? event.size() - i : 0;
    const __m512i bytes = _mm512_maskz_loadu_epi8(low_bits(std::min<size_t>(64, left)), event.data() + i);
    const __m512i plain = _mm512_mask_mov_epi8(bytes, digits_of(bytes), _mm512_set1_epi8('0'));
    mixed = _mm512_add_epi64(_mm512_maskz_rol_epi64(0xff, mixed, 17), plain);
  }
  alignas(64) static constexpr std::array<uint32_t, 16> kOdd = {
      0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1, 0x7feb352d, 0x846ca68b, 0x1b873593,
      0xcc9e2d51, 0xe6546b65, 0x38b34ae5, 0xa1e38b93, 0x5bd1e995, 0x2545f491, 0x4f6cdd1d, 0xb5297a4d};
  const __m512i lanes = _mm512_maskz_mullo_epi32(0xffff, mixed, _mm512_load_si512(kOdd.data()));
  const __m256i half =
      _mm256_add_epi32(_mm512_maskz_extracti64x4_epi64(0xf, lanes, 0), _mm512_maskz_extracti64x4_epi64(0xf, lanes, 1));
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  const auto two = static_cast<uint64_t>(_mm_cvtsi128_si64(four)) + static_cast<uint64_t>(_mm_extract_epi64(four, 1));
  return static_cast<uint32_t>(two ^ (two >> 32)) >> 16;
}

}  // namespace avx512
}  // namespace

const SkeletonMethods* avx512_skeletons() {
  static constexpr SkeletonMethods kMethods = {"AVX-512", avx512::take, avx512::take_expected, avx512::hint};
  static const bool has_them = __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bw") &&
                               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has_them ? &kMethods : nullptr;
}

#else

const SkeletonMethods* avx512_skeletons() { return nullptr; }

#endif

}  // namespace skewscope::ingest
