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
  taken_ = 0;
  words_ = std::min(window_.size(), left / 64);
  if (words_ > 0) {
    mark(text_.data() + begin_, indent_ + 1, words_, window_.data());
    end_ = begin_ + 64 * words_;
  } else {
    mark_one_by_one(text_.data() + begin_, indent_ + 1, left, window_.data());
    words_ = 1;
    end_ = text_.size();
  }
  return true;
}

bool LineBraces::begins_line(size_t brace) const {
  for (size_t at = brace - indent_; at < brace; ++at) {
    if (text_[at] != ' ') return false;
  }
  return true;
}

size_t LineBraces::next() {
  while (true) {
    uint64_t word = word_;
    size_t taken = taken_;
    while (word == 0 && taken < words_) word = window_[taken++];
    taken_ = taken;
    if (word == 0) {
      word_ = 0;
      if (!fill()) return kNone;
      continue;
    }
    word_ = word & (word - 1);
    const size_t place = begin_ + 64 * (taken - 1) + static_cast<size_t>(std::countr_zero(word));
    if (begins_line(place)) return place;
  }
}

}  // namespace skewscope::ingest
