// Idea: the places where runs of digits begin and end come from one mask per 64 bytes; what stands between two runs is
// compared, or copied, as it is. Ends of runs are listed eight at a time, mostly without a branch that goes astray.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "event_skeleton.h"
#include "skeleton_methods.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace skewscope::ingest {

#if defined(__x86_64__)
namespace {
namespace avx2 {  // sources are compiled together, and each has a take()

#define SKEWSCOPE_AVX2 gnu::target("avx2,bmi,bmi2,popcnt")

constexpr size_t kWord = 32;  // bytes of a register

// Where runs of digits begin and, next to that, the places behind them.
struct Edges {
  std::array<uint16_t, EventSkeleton::kLargestEvent + 8> places;
  size_t count = 0;
};

[[SKEWSCOPE_AVX2]] inline __m256i load(const char* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

// All ones where a byte is a digit.
[[SKEWSCOPE_AVX2]] inline __m256i are_digits(__m256i bytes) {
  const __m256i value = _mm256_sub_epi8(bytes, _mm256_set1_epi8('0'));
  return _mm256_cmpeq_epi8(_mm256_min_epu8(value, _mm256_set1_epi8(9)), value);
}

[[SKEWSCOPE_AVX2]] inline uint64_t mask_of(__m256i bytes) { return static_cast<uint32_t>(_mm256_movemask_epi8(bytes)); }

[[SKEWSCOPE_AVX2]] void list_edges(std::string_view event, Edges& edges) {
  uint64_t last_was_digit = 0;
  size_t count = 0;
  for (size_t at = 0; at < event.size(); at += 64) {
    const char* block = event.data() + at;
    const uint64_t inside = _bzhi_u64(~uint64_t{0}, static_cast<unsigned>(std::min<size_t>(64, event.size() - at)));
    const uint64_t digits =
        (mask_of(are_digits(load(block))) | mask_of(are_digits(load(block + kWord))) << kWord) & inside;
    uint64_t left = digits ^ (digits << 1 | last_was_digit);
    last_was_digit = digits >> 63;
    const auto more = static_cast<size_t>(std::popcount(left));
    for (size_t listed = 0; listed < more; listed += 8) {
      for (size_t i = 0; i < 8; ++i) {
        edges.places[count + listed + i] = static_cast<uint16_t>(at + _tzcnt_u64(left));
        left = _blsr_u64(left);
      }
    }
    count += more;
  }
  edges.count = count;
}

// Ones where the texts differ.
[[SKEWSCOPE_AVX2]] inline uint32_t difference(const char* one, const char* other, size_t size) {
  uint32_t differ = 0;
  size_t at = 0;
  for (; size - at > kWord; at += kWord) {
    differ |= ~static_cast<uint32_t>(mask_of(_mm256_cmpeq_epi8(load(one + at), load(other + at))));
  }
  const auto last = ~static_cast<uint32_t>(mask_of(_mm256_cmpeq_epi8(load(one + at), load(other + at))));
  return differ | _bzhi_u32(last, static_cast<unsigned>(size - at));
}

[[SKEWSCOPE_AVX2]] size_t take_expected(std::string_view event, std::string_view expected, uint16_t* behind) {
  Edges edges;
  list_edges(event, edges);
  const size_t runs = edges.count / 2;
  size_t from = 0, compared = 0;
  uint32_t differ = 0;
  for (size_t run = 0; run < runs; ++run) {
    const size_t between = edges.places[2 * run] - from;
    if (compared + between >= expected.size()) return SkeletonMethods::kOther;
    differ |= difference(event.data() + from, expected.data() + compared, between);
    compared += between;
    differ |= static_cast<uint32_t>(expected[compared++] ^ '0');
    behind[run] = edges.places[2 * run + 1];
    from = behind[run];
  }
  if (differ != 0 || event.size() - from != expected.size() - compared) return SkeletonMethods::kOther;
  differ = difference(event.data() + from, expected.data() + compared, event.size() - from);
  return differ == 0 ? runs : SkeletonMethods::kOther;
}

[[SKEWSCOPE_AVX2]] inline void copy(const char* from, size_t size, char* to) {
  for (size_t at = 0; at < size; at += kWord) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at), load(from + at));
  }
}

uint64_t hash_words(const char* text, size_t size) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15ULL;
  uint64_t hash = size * kMultiplier;
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text + at, sizeof word);
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 32;
  }
  return hash;
}

[[SKEWSCOPE_AVX2]] TakenSkeleton take(std::string_view event, char* text, uint16_t* behind) {
  Edges edges;
  list_edges(event, edges);
  const size_t runs = edges.count / 2;
  size_t from = 0, size = 0;
  for (size_t run = 0; run < runs; ++run) {
    const size_t between = edges.places[2 * run] - from;
    copy(event.data() + from, between, text + size);
    size += between;
    text[size++] = '0';
    behind[run] = edges.places[2 * run + 1];
    from = behind[run];
  }
  copy(event.data() + from, event.size() - from, text + size);
  size += event.size() - from;
  std::memset(text + size, 0, EventSkeleton::kBlock);
  return {size, runs, hash_words(text, size)};
}

// Digits as zeros, wherever they stand; lanes multiplied by odd numbers and added up.
[[SKEWSCOPE_AVX2]] uint32_t hint(std::string_view event) {
  alignas(kWord) static constexpr auto kPlaces = [] {
    std::array<int8_t, kWord> places{};
    for (int8_t i = 0; i < static_cast<int8_t>(kWord); ++i) places[static_cast<size_t>(i)] = i;
    return places;
  }();
  __m256i mixed = _mm256_setzero_si256();
  for (size_t at = 0; at < std::min(event.size(), 2 * EventSkeleton::kBlock); at += kWord) {
    const auto left = static_cast<char>(std::min(event.size() - at, kWord));
    const __m256i inside = _mm256_cmpgt_epi8(_mm256_set1_epi8(left), load(reinterpret_cast<const char*>(&kPlaces)));
    const __m256i bytes = load(event.data() + at);
    const __m256i plain = _mm256_and_si256(_mm256_blendv_epi8(bytes, _mm256_set1_epi8('0'), are_digits(bytes)), inside);
    const __m256i turned = _mm256_or_si256(_mm256_slli_epi64(mixed, 17), _mm256_srli_epi64(mixed, 47));
    mixed = _mm256_add_epi64(turned, plain);
  }
  const __m256i lanes = _mm256_mullo_epi32(
      mixed, _mm256_setr_epi32(static_cast<int>(0x9e3779b1), static_cast<int>(0x85ebca77), static_cast<int>(0xc2b2ae3d),
                               0x27d4eb2f, 0x165667b1, 0x7feb352d, static_cast<int>(0x846ca68b), 0x1b873593));
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
  const auto two = static_cast<uint64_t>(_mm_cvtsi128_si64(four)) + static_cast<uint64_t>(_mm_extract_epi64(four, 1));
  return static_cast<uint32_t>(two ^ (two >> 32)) >> 16;
}

}  // namespace avx2
}  // namespace

const SkeletonMethods* avx2_skeletons() {
  static constexpr SkeletonMethods kMethods = {"AVX2", avx2::take, avx2::take_expected, avx2::hint};
  static const bool has_them =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  return has_them ? &kMethods : nullptr;
}

#else

const SkeletonMethods* avx2_skeletons() { return nullptr; }

#endif

}  // namespace skewscope::ingest
