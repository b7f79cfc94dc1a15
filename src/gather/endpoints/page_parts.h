// What pages are made of: their frame, style and policy, figures in words, links to reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/gather/kept/store.h"

namespace skewscope::gather {

// A job with what its newest report says first; "": there is none.
struct ShownJob {
  JobState state;
  std::string verdict;
  std::string hang = "";  // the same of its dumps
};

std::string escaped(std::string_view text);  // for HTML text and quoted attributes

// Whether the parts of a page that are live_part() stay current while it is open.
enum class Liveness { still, live };
std::string html_of(const std::string& title, const std::string& body, Liveness liveness);
// Content-Security-Policy of these pages. `form_action`: where their forms may lead.
std::string policy(const char* form_action, Liveness liveness);

std::string bytes_text(uint64_t bytes);
std::string time_text(Time time);
std::string duration_text(int64_t ns);
std::string percent(double share);  // below 0: not known

// As markup.
std::string progress(const JobState& job);
std::string report_links(const ShownJob& shown);

}  // namespace skewscope::gather
