#include "place_in_file.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace skewscope::ingest {

std::vector<int64_t> ranks_by_place(const std::vector<RankEvidence>& evidence,
                                    const std::function<bool(size_t row)>& open) {
  for (size_t i = 0; i < evidence.size(); ++i) {
    if (!open(i) || evidence[i].distributed.place_in_file < 0) return {};
  }
  std::vector<std::pair<std::string, int64_t>> places;
  for (const RankEvidence& part : evidence) {
    places.emplace_back(part.file.substr(0, part.file.rfind('#')), part.distributed.place_in_file);
  }
  std::vector<size_t> order(places.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return places[a] < places[b]; });
  std::vector<int64_t> ranks(places.size(), -1);
  for (size_t k = 0; k < order.size(); ++k) ranks[order[k]] = static_cast<int64_t>(k);
  return ranks;
}

}  // namespace skewscope::ingest
