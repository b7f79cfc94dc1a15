// Sections of a rank's summary on the terminal, each "" where there is nothing to say.
#pragma once

#include <string>
#include <string_view>

#include "skewscope/report.h"

namespace skewscope::report {

constexpr size_t kRankColumns = 80, kRankLabel = 10;

// A label and text next to it, fitted.
std::string labelled(std::string_view label, const std::string& text);
// Words wrapped at the last column, each line after `indent` blanks.
std::string wrapped(const std::string& text, size_t indent);
// "12 %"; "-" where the whole is nothing.
std::string share_of(int64_t part_ns, int64_t whole_ns);
std::string and_more(size_t rows, size_t shown, const char* what);

// What an expert would say.
std::string advice_section(const std::vector<Advice>& advice);
// What the details of GPU rows and calls tell: how full the GPU was, copies, waits of the host.
std::string details_section(const RankTables& tables);
// What the program waited for, by kind, and what took most of it.
std::string path_section(const CriticalPath& path);
// Operators by GPU time, the work they did, modules, compiled code.
std::string operators_section(const OperatorTables& operators);

}  // namespace skewscope::report
