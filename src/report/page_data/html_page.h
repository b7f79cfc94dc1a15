// index.html: the prebuilt page of src/report/page with data in it.
#pragma once

#include <string>

namespace skewscope::report {

// One self-contained document of page_data(). Nothing in it comes from a report but text: see escape_for_script.
std::string html_page(const std::string& json);

// JSON that cannot end the script element it is in, nor begin markup: < > & U+2028 U+2029, which valid JSON holds
// in strings only, as \u escapes.
std::string escape_for_script(const std::string& json);

}  // namespace skewscope::report
