#include "event_ends.h"

#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace skewscope::ingest {
namespace {

// Sets closing[i] to the closing braces among text[64 i .. 64 i + 63] that are `back` bytes behind a line break;
// returns how many opening ones do. At most 255 words.
using MarkBraces = size_t (*)(const char* text, size_t back, size_t words, uint64_t* closing);

#if defined(__x86_64__)

[[gnu::target("avx512bw")]] size_t mark_avx512(const char* text, size_t back, size_t words, uint64_t* closing) {
  const __m512i one = _mm512_set1_epi8(1);
  __m512i opening = _mm512_setzero_si512();  // per place in a word
  for (size_t i = 0; i < words; ++i) {
    const __m512i bytes = _mm512_loadu_si512(text + 64 * i), before = _mm512_loadu_si512(text + 64 * i - back);
    const __mmask64 line = _mm512_cmpeq_epi8_mask(before, _mm512_set1_epi8('\n'));
    closing[i] = _mm512_mask_cmpeq_epi8_mask(line, bytes, _mm512_set1_epi8('}'));
    opening =
        _mm512_mask_add_epi8(opening, _mm512_mask_cmpeq_epi8_mask(line, bytes, _mm512_set1_epi8('{')), opening, one);
  }
  alignas(64) std::array<uint64_t, 8> sums;
  _mm512_store_si512(sums.data(), _mm512_sad_epu8(opening, _mm512_setzero_si512()));
  size_t count = 0;
  for (const uint64_t sum : sums) count += sum;
  return count;
}

[[gnu::target("avx2,popcnt")]] size_t mark_avx2(const char* text, size_t back, size_t words, uint64_t* closing) {
  size_t opening = 0;
  for (size_t i = 0; i < words; ++i) {
    closing[i] = 0;
    for (size_t k = 0; k < 64; k += 32) {
      const char* at = text + 64 * i + k;
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
      const __m256i before = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at - back));
      const auto line = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(before, _mm256_set1_epi8('\n'))));
      const auto close = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('}'))));
      const auto open = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('{'))));
      closing[i] |= uint64_t{line & close} << k;
      opening += static_cast<size_t>(std::popcount(line & open));
    }
  }
  return opening;
}

#endif

size_t mark_one_by_one(const char* text, size_t back, size_t bytes, uint64_t* closing) {
  size_t opening = 0;
  for (size_t i = 0; i < bytes; ++i) {
    if (i % 64 == 0) closing[i / 64] = 0;
    const char* at = text + i;
    const bool line = *(at - back) == '\n';
    closing[i / 64] |= uint64_t{line && *at == '}'} << (i % 64);
    opening += line && *at == '{';
  }
  return opening;
}

size_t mark_anywhere(const char* text, size_t back, size_t words, uint64_t* closing) {
  return mark_one_by_one(text, back, 64 * words, closing);
}

MarkBraces fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw")) return mark_avx512;
  if (__builtin_cpu_supports("avx2")) return mark_avx2;
#endif
  return mark_anywhere;
}

}  // namespace

bool EventEnds::fill() {
  static const MarkBraces mark = fastest();
  begin_ = end_;
  if (begin_ >= text_.size()) return false;
  const size_t left = text_.size() - begin_;
  std::array<uint64_t, kWindowWords> closing;
  size_t words = std::min(kWindowWords, left / 64), opening = 0;
  if (words > 0) {
    opening = mark(text_.data() + begin_, indent_ + 1, words, closing.data());
    end_ = begin_ + 64 * words;
  } else {
    opening = mark_one_by_one(text_.data() + begin_, indent_ + 1, left, closing.data());
    words = 1;
    end_ = text_.size();
  }
  list_offsets(closing.data(), words);
  if (all_are_ends(opening)) return true;
  listed_ = 0;
  end_ = text_.size();
  return false;
}

// Without a branch per word: most are empty, and the others mostly hold the one brace between two events.
void EventEnds::list_offsets(const uint64_t* closing, size_t words) {
  uint64_t marked = 0;
  for (size_t i = 0; i < words; ++i) marked |= uint64_t{closing[i] != 0} << i;
  taken_ = listed_ = 0;
  for (; marked != 0; marked &= marked - 1) {
    const auto i = static_cast<size_t>(std::countr_zero(marked));
    for (uint64_t left = closing[i]; left != 0; left &= left - 1) {
      offsets_[listed_++] = static_cast<uint16_t>(64 * i + static_cast<size_t>(std::countr_zero(left)));
    }
  }
}

// `opening`: braces in the window, each of which is to follow an end.
bool EventEnds::all_are_ends(size_t opening) {
  for (size_t k = 0; k < listed_; ++k) {
    if (!is_end(begin_ + offsets_[k])) return false;
  }
  const bool straddles = listed_ > 0 && begin_ + offsets_[listed_ - 1] + to_opening() >= end_;
  const bool all = opening + size_t{straddles} == due_ + listed_;
  due_ = straddles;
  return all;
}

bool EventEnds::is_end(size_t brace) const {
  const size_t begin = brace - indent_;
  if (text_.size() - begin < joint_.size()) return false;
  if (joint_.size() != sizeof(uint64_t)) return text_.compare(begin, joint_.size(), joint_) == 0;
  uint64_t here = 0, joint = 0;  // Kineto's two blanks make one word of it
  std::memcpy(&here, text_.data() + begin, sizeof here);
  std::memcpy(&joint, joint_.data(), sizeof joint);
  return here == joint;
}

}  // namespace skewscope::ingest
