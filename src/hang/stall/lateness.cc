#include "src/hang/stall/lateness.h"

#include <algorithm>

namespace skewscope::hang {
namespace {

constexpr int64_t kLeastCalls = 4, kLeastLate_ns = 5'000'000;  // clocks of hosts agree within some ms
constexpr double kNearlyAlways = 0.7;

struct Timed {
  int64_t seq, created_ns;
  int32_t rank;
};

int64_t middle_of(std::vector<int64_t> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::vector<Lateness> lateness_of(const GroupTable& table) {
  std::vector<std::vector<int64_t>> late(static_cast<size_t>(table.ranks()));
  std::vector<int64_t> last(late.size(), 0);
  std::vector<Timed> timed;
  std::vector<int64_t> times;
  for (const Group& group : table.groups) {
    timed.clear();
    for (const Member& member : group.members) {
      for (const DumpedCall* call : member.calls) {
        if (call->created_ns > 0) timed.push_back({call->collective_seq, call->created_ns, member.rank});
      }
    }
    std::sort(timed.begin(), timed.end(), [](const Timed& a, const Timed& b) {
      return a.seq != b.seq                 ? a.seq < b.seq
             : a.created_ns != b.created_ns ? a.created_ns < b.created_ns
                                            : a.rank < b.rank;
    });
    for (size_t begin = 0; begin < timed.size();) {
      size_t end = begin;
      times.clear();
      while (end < timed.size() && timed[end].seq == timed[begin].seq) times.push_back(timed[end++].created_ns);
      if (end - begin > 1) {
        const int64_t middle = end - begin == 2 ? times.front() : middle_of(times);
        for (size_t i = begin; i < end; ++i)
          late[static_cast<size_t>(timed[i].rank)].push_back(timed[i].created_ns - middle);
        ++last[static_cast<size_t>(timed[end - 1].rank)];
      }
      begin = end;
    }
  }
  std::vector<Lateness> out(late.size());
  for (size_t rank = 0; rank < late.size(); ++rank) {
    if (late[rank].empty()) continue;
    Lateness& one = out[rank];
    one.calls = std::ssize(late[rank]);
    one.late_ns = std::max<int64_t>(middle_of(std::move(late[rank])), 0);
    one.last_share = static_cast<double>(last[rank]) / static_cast<double>(one.calls);
    one.always = one.calls >= kLeastCalls && one.last_share >= kNearlyAlways && one.late_ns >= kLeastLate_ns;
  }
  return out;
}

}  // namespace skewscope::hang
