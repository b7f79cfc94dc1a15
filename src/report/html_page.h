// index.html: the prebuilt page of src/report/page with a report's data in it.
#pragma once

#include <string>

#include "skewscope/report.h"

namespace skewscope::report {

// One self-contained document. Nothing in it comes from the report but text: see escape_for_script.
std::string html_page(const JobReport& report, const ReportStamp& stamp);

// JSON that cannot end the script element it stands in, nor begin markup: < > & U+2028 U+2029, which valid JSON holds
// in strings only, as \u escapes.
std::string escape_for_script(const std::string& json);

}  // namespace skewscope::report
