#include <cctype>

#include "history.h"
#include "skewscope/protocol/names.h"

namespace skewscope::gather {
namespace {

bool counts_runs(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool separates(char c) { return c == '-' || c == '_' || c == '.'; }

}  // namespace

// The number of a run, then words of digits at the end, and the letter T of a time, are taken off with what separates
// them.
std::string series_of(const std::string& job) {
  size_t end = name_of_run(job).size();
  while (end > 0) {
    size_t begin = end;
    while (begin > 0 && (counts_runs(job[begin - 1]) ||
                         (job[begin - 1] == 'T' && begin < end && begin > 1 && counts_runs(job[begin - 2]))))
      --begin;
    if (begin == end || begin == 0 || !separates(job[begin - 1])) break;
    end = begin - 1;
    while (end > 0 && separates(job[end - 1])) --end;
  }
  return end == 0 ? std::string(name_of_run(job)) : job.substr(0, end);
}

}  // namespace skewscope::gather
