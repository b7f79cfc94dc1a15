// Names that travel in URLs and become folders: of jobs, hosts, accounts; and what bounds them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace skewscope {

inline constexpr size_t kLongestName = 64;
inline constexpr int kMostRanks = 1 << 20;
inline constexpr int64_t kLongestAge_s = int64_t{100} * 366 * 24 * 3600;  // of a file
inline constexpr int kMostCaptures = 9999;
// A dump of a flight recorder is kept as the file of a rank in a capture of its own kind: the minute since 1970 in
// which the dump was written.
inline constexpr int kMostDumpMinute = 99'999'999;
inline constexpr bool is_dump(int capture) { return capture > kMostCaptures; }
inline constexpr std::chrono::hours kLongestTokenLife{366 * 24};

// [A-Za-z0-9][A-Za-z0-9._-]{0,63} without ".." anywhere. A name is a legal file name and needs no escaping in a URL.
bool is_name(std::string_view text);
// A job as the gatherer keeps it: NAME, or a later run of that name, NAME~2, NAME~3 and so on. Only the gatherer makes
// names of runs: "~" is in no name that a sender may give.
inline constexpr int kMostRunNumber = 999'999;
bool is_job(std::string_view text);                     // a name, or that of a later run
std::string_view name_of_run(std::string_view job);     // NAME of NAME~K; of a name, itself
int number_of_run(std::string_view job);                // K of NAME~K; of a name, 1
std::string run_of(std::string_view name, int number);  // NAME~K; for 1, NAME
bool is_upload_id(std::string_view text);               // 32 lower-case hexadecimal digits

}  // namespace skewscope
