#include "event_skeleton.h"

#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace skewscope::ingest {
namespace {

struct Taken {
  size_t size, runs;
  uint64_t hash;
};

#if defined(__x86_64__)
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

[[SKEWSCOPE_VBMI2]] Taken take_blocks(std::string_view event, char* text, uint16_t* behind) {
  alignas(64) static constexpr auto kPlaces = [] {
    std::array<uint8_t, 64> places{};
    for (uint8_t i = 0; i < 64; ++i) places[i] = i;
    return places;
  }();
  const __m512i places = _mm512_load_si512(kPlaces.data()), zero = _mm512_set1_epi8('0'), ten = _mm512_set1_epi8(10);
  Taken taken = {};
  uint64_t last_was_digit = 0;  // of the block before
  for (size_t i = 0; i < event.size(); i += 64) {
    const size_t left = event.size() - i;
    const uint64_t inside = left < 64 ? (uint64_t{1} << left) - 1 : ~uint64_t{0};
    const __m512i bytes = _mm512_loadu_si512(event.data() + i);
    const uint64_t digits = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, zero), ten) & inside;
    const uint64_t after_digit = (digits << 1) | last_was_digit;
    last_was_digit = digits >> 63;
    const uint64_t first = digits & ~after_digit, behind_run = after_digit & ~digits;
    const uint64_t kept = inside & (~digits | first);
    const __m512i closed_up = _mm512_maskz_compress_epi8(kept, _mm512_mask_mov_epi8(bytes, first, zero));
    _mm512_storeu_si512(text + taken.size, closed_up);
    taken.size += static_cast<size_t>(std::popcount(kept));
    const __m256i ends = _mm512_maskz_extracti64x4_epi64(0xf, _mm512_maskz_compress_epi8(behind_run, places), 0);
    const __m512i wide =
        _mm512_add_epi16(_mm512_maskz_cvtepu8_epi16(~__mmask32{0}, ends), _mm512_set1_epi16(static_cast<int16_t>(i)));
    _mm512_storeu_si512(behind + taken.runs, wide);
    taken.runs += static_cast<size_t>(std::popcount(behind_run));
  }
  _mm512_storeu_si512(text + taken.size, _mm512_setzero_si512());
  taken.hash = hash_blocks(text, taken.size);
  return taken;
}

#endif

}  // namespace

bool EventSkeleton::available() {
#if defined(__x86_64__)
  static const bool has_it = __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bw") &&
                             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has_it;
#else
  return false;
#endif
}

bool EventSkeleton::take(std::string_view event) {
#if defined(__x86_64__)
  if (event.size() > kLargestEvent) return false;
  behind_[0] = 0;
  const Taken taken = take_blocks(event, text_.data(), behind_.data() + 1);
  size_ = taken.size;
  runs_ = taken.runs;
  hash_ = taken.hash;
  return true;
#else
  return false;
#endif
}

}  // namespace skewscope::ingest
