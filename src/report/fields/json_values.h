// Values of the JSON documents: "not determined" is null.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "skewscope/base/ids.h"

namespace skewscope::report {

using Json = nlohmann::ordered_json;

inline Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }
inline Json rank_or_null(Rank rank) { return rank.known() ? Json(rank.value) : Json(); }
inline Json count_or_null(int64_t count) { return count < 0 ? Json() : Json(count); }
inline Json ratio_or_null(double ratio) { return ratio < 0 ? Json() : Json(ratio); }
// Whole nanoseconds, also where a mean is not.
inline Json time_or_null(double ns) { return ns < 0 ? Json() : Json(std::llround(ns)); }

// Bytes that are not UTF-8 in names from traces become U+FFFD.
inline std::string text_of(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace skewscope::report
