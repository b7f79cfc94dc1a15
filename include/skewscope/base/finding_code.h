// The code of a finding. One that is not in the table of codes does not compile.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "skewscope/base/finding_codes.h"

namespace skewscope {

// A row of kFindingMeanings, checked where it is compiled.
class FindingCode {
 public:
  constexpr FindingCode() = default;  // "": of no finding yet
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is a code
  consteval FindingCode(const char* code) : index_(index_of(code)) {
    if (index_ < 0) throw "not in kFindingMeanings";
  }
  // The code that a document holds; none where no finding has it.
  static std::optional<FindingCode> from_text(std::string_view text) {
    FindingCode code;
    code.index_ = index_of(text);
    return code.index_ < 0 && !text.empty() ? std::nullopt : std::optional(code);
  }

  constexpr std::string_view text() const {
    return index_ < 0 ? std::string_view() : kFindingMeanings[static_cast<size_t>(index_)].code;
  }
  const FindingMeaning& meaning() const { return kFindingMeanings[static_cast<size_t>(index_)]; }

  friend constexpr bool operator==(FindingCode, FindingCode) = default;
  // By their text, as documents list them.
  friend constexpr std::strong_ordering operator<=>(FindingCode a, FindingCode b) { return a.text() <=> b.text(); }

 private:
  static constexpr int16_t index_of(std::string_view code) {
    for (size_t i = 0; i < kFindingMeanings.size(); ++i) {
      if (code == kFindingMeanings[i].code) return static_cast<int16_t>(i);
    }
    return -1;
  }

  int16_t index_ = -1;
};

}  // namespace skewscope
