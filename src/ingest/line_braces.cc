#include "line_braces.h"

#include <algorithm>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace skewscope::ingest {
namespace {

// Sets marks[i] to the braces among text[64 i .. 64 i + 63] that stand `back` bytes behind a line break.
using MarkBraces = void (*)(const char* text, size_t back, size_t words, uint64_t* marks);

#if defined(__x86_64__)

[[gnu::target("avx512bw")]] void mark_avx512(const char* text, size_t back, size_t words, uint64_t* marks) {
  for (size_t i = 0; i < words; ++i) {
    const __m512i bytes = _mm512_loadu_si512(text + 64 * i), before = _mm512_loadu_si512(text + 64 * i - back);
    const uint64_t braces =
        _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('{')) | _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('}'));
    marks[i] = braces & _mm512_cmpeq_epi8_mask(before, _mm512_set1_epi8('\n'));
  }
}

[[gnu::target("avx2")]] void mark_avx2(const char* text, size_t back, size_t words, uint64_t* marks) {
  for (size_t i = 0; i < words; ++i) {
    marks[i] = 0;
    for (size_t k = 0; k < 64; k += 32) {
      const char* at = text + 64 * i + k;
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
      const __m256i before = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at - back));
      const __m256i braces = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('{')),
                                             _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('}')));
      const __m256i found = _mm256_and_si256(braces, _mm256_cmpeq_epi8(before, _mm256_set1_epi8('\n')));
      marks[i] |= uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(found))} << k;
    }
  }
}

#endif

void mark_one_by_one(const char* text, size_t back, size_t bytes, uint64_t* marks) {
  for (size_t i = 0; i < bytes; ++i) {
    if (i % 64 == 0) marks[i / 64] = 0;
    const char* at = text + i;
    marks[i / 64] |= uint64_t{(*at == '{' || *at == '}') && *(at - back) == '\n'} << (i % 64);
  }
}

void mark_anywhere(const char* text, size_t back, size_t words, uint64_t* marks) {
  mark_one_by_one(text, back, 64 * words, marks);
}

MarkBraces fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw")) return mark_avx512;
  if (__builtin_cpu_supports("avx2")) return mark_avx2;
#endif
  return mark_anywhere;
}

}  // namespace

bool LineBraces::fill() {
  static const MarkBraces mark = fastest();
  begin_ = end_;
  if (begin_ >= text_.size()) return false;
  const size_t left = text_.size() - begin_;
  std::array<uint64_t, kWindowWords> marks;
  size_t words = std::min(kWindowWords, left / 64);
  if (words > 0) {
    mark(text_.data() + begin_, indent_ + 1, words, marks.data());
    end_ = begin_ + 64 * words;
  } else {
    mark_one_by_one(text_.data() + begin_, indent_ + 1, left, marks.data());
    words = 1;
    end_ = text_.size();
  }
  list_places(marks.data(), words);
  return true;
}

// Without a branch per word: most are empty, and the others mostly hold the two braces between two events.
void LineBraces::list_places(const uint64_t* marks, size_t words) {
  uint64_t marked = 0;
  for (size_t i = 0; i < words; ++i) marked |= uint64_t{marks[i] != 0} << i;
  taken_ = listed_ = 0;
  for (; marked != 0; marked &= marked - 1) {
    const auto i = static_cast<size_t>(std::countr_zero(marked));
    const auto place = [&](uint64_t bits) { return static_cast<uint16_t>(64 * i + std::countr_zero(bits)); };
    uint64_t left = marks[i];
    places_[listed_++] = place(left);
    left &= left - 1;
    places_[listed_] = place(left);
    listed_ += left != 0;
    for (left &= left - 1; left != 0; left &= left - 1) places_[listed_++] = place(left);
  }
}

}  // namespace skewscope::ingest
