// Numbers as people read them: three significant digits and a unit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skewscope {

std::string human_duration(int64_t ns);   // "850 ns", "12.3 us", "4.56 ms", "1.20 s", "16.7 min", "31.0 h"
std::string human_bytes(int64_t bytes);   // "512 B", "1.05 MB"; 1 MB = 1e6 bytes
std::string size_text(int64_t bytes);     // as options take sizes: "8G", "100M", "1000 bytes"; 1M = 2^20 bytes
std::string human_percent(double ratio);  // "96 %", "<1 %", ">99 %"
std::string human_number(double value);   // "1.23", "12.3", "123", "12345"

std::string human_ranks(const std::vector<int32_t>& ranks);  // "0, 3-5" of sorted, unique ranks

}  // namespace skewscope
