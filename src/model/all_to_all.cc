#include "skewscope/model/all_to_all.h"

#include <algorithm>
#include <numeric>

namespace skewscope {
namespace {

// `part`, in means of all members.
double in_means(int64_t part, const std::vector<int64_t>& bytes) {
  const auto sum = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  return sum <= 0 ? -1 : static_cast<double>(part) * static_cast<double>(bytes.size()) / sum;
}

}  // namespace

int32_t AllToAllTotals::busiest() const {
  const auto most = std::max_element(dispatched_bytes.begin(), dispatched_bytes.end());
  if (most == dispatched_bytes.end() || *most <= 0) return -1;
  return static_cast<int32_t>(most - dispatched_bytes.begin());
}

double AllToAllTotals::imbalance() const {
  const int32_t most = busiest();
  return most < 0 ? -1 : in_means(dispatched_bytes[static_cast<size_t>(most)], dispatched_bytes);
}

double AllToAllTotals::imbalance_per_call() const { return in_means(most_dispatched_bytes, dispatched_bytes); }

}  // namespace skewscope
