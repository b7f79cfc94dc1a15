// A finding as a row, described once.
#pragma once

#include "field.h"
#include "skewscope/base/finding.h"

namespace skewscope::report {

inline bool has_rank(const Finding& finding) { return finding.rank.known(); }

struct FindingFields {
  using Row = Finding;
  static constexpr About kAbout = {"diagnostics", "diagnostics", "a finding (configs/findings.md)"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::severity>("severity", "how much it matters"), field<&Row::code>("code", "what it is"),
      where<&Row::rank, &has_rank>("rank", "rank that it is about"), text<&Row::file>("file", "file that it is about"),
      known<&Row::byte_offset>("byte_offset", "of the first occurrence, in the uncompressed text", In::tables),
      field<&Row::count>("count", "how often", In::tables),
      field<&Row::message>("message", "what was seen and what follows from it"));
};

}  // namespace skewscope::report
