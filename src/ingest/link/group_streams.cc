// Problem: kernels of collectives ran on several streams, the launches name their groups, and nothing joins the two.
// The k-th kernel over all streams is not the k-th launch: a kernel that comes after another one of its group is
// overtaken by one of another group that was launched later.
// Idea: a group's collectives run on one stream, in the order of their launches. So each way to lay groups on streams
// joins every kernel, and is contradicted by the trace: by a kernel that would begin before its launch (it is out), by
// kernels or launches that are left over, and by a kernel that was launched before another one and yet begins later
// although its own stream was idle. That is none: a collective waits for what was launched before it, so what was
// launched earlier is ready no later. The way with the fewest contradictions is taken where all others have clearly
// more; streams on which several ways agree are joined, the others stay open, and so does one that lacks kernels while
// others went on.
// Where numbers differ, kernels at the head were launched before recording began, and launches at the tail ran after it
// ended. Where launches name no groups, the order over all streams holds as long as no kernel of one stream begins
// while another one runs: none was overtaken. Cost: each set of groups on each stream is laid once; ways are cut off
// where too many are left over.
#include "group_streams.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace skewscope::ingest {
namespace {

constexpr int32_t kMostGroups = 8;          // and streams: sets of them are laid one by one
constexpr size_t kMostWays = 1000;          // that are compared
constexpr int64_t kStreamIdle_ns = 20'000;  // a kernel behind another one of its stream begins within
constexpr int64_t kClearly = 2;             // contradictions more, and the fourth part

using GroupSet = uint32_t;

// The launches of a set of groups laid on a stream: its last kernels are those of the first launches.
struct Lay {
  bool possible = false;
  int64_t left_over = 0;  // kernels or launches
  size_t heads = 0;       // kernels without a launch
  std::vector<int32_t> launches;
};

struct Way {
  std::vector<GroupSet> on_stream;
  int64_t contradictions = 0;
};

class StreamFinder {
 public:
  StreamFinder(const std::vector<GroupLaunch>& launches, const std::vector<StreamKernel>& kernels)
      : launches_(launches), kernels_(kernels), free_from_(kernels.size()) {
    for (size_t i = 0; i < kernels.size(); ++i) {
      const auto stream = static_cast<size_t>(kernels[i].stream);
      if (stream >= streams_.size()) streams_.resize(stream + 1);
      std::vector<int32_t>& rows = streams_[stream];
      free_from_[i] = LocalNs{INT64_MIN};
      if (!rows.empty()) {
        const auto before = static_cast<size_t>(rows.back());
        free_from_[i] = std::max(free_from_[before], kernels[before].end);
      }
      rows.push_back(static_cast<int32_t>(i));
    }
    for (const GroupLaunch& launch : launches) {
      groups_ = std::max(groups_, launch.group + 1);
      all_named_ &= launch.group >= 0;
    }
  }

  KernelLaunches find() {
    KernelLaunches found{std::vector<int32_t>(kernels_.size(), -1), std::vector<bool>(kernels_.size(), false)};
    const bool few = groups_ <= kMostGroups && std::ssize(streams_) <= kMostGroups;
    if (streams_.size() > 1 && all_named_ && few) {
      left_.assign(streams_.size(), 0);
      try_streams(0, (GroupSet{1} << groups_) - 1, 0);
      if (take_ways(found)) return found;
    }
    const bool in_order = !any_may_be_overtaken() && lay_all(found);
    found.is_open.assign(kernels_.size(), !in_order);
    return found;
  }

 private:
  static bool holds(GroupSet set, int32_t group) { return (set >> group & 1) != 0; }

  bool any_may_be_overtaken() const {
    LocalNs busy_until{INT64_MIN};
    int32_t stream = -1;  // that is busy so long
    for (const StreamKernel& kernel : kernels_) {
      if (kernel.stream != stream && kernel.start < busy_until) return true;
      if (kernel.end < busy_until) continue;
      busy_until = kernel.end;
      stream = kernel.stream;
    }
    return false;
  }

  // The k-th kernel is of the k-th launch, over all streams. False: one would begin before its launch.
  bool lay_all(KernelLaunches& found) const {
    const size_t both = std::min(kernels_.size(), launches_.size()), head = kernels_.size() - both;
    for (size_t k = 0; k < both; ++k) {
      if (kernels_[head + k].start < launches_[k].start) return false;
    }
    for (size_t k = 0; k < both; ++k) found.launch[head + k] = static_cast<int32_t>(k);
    return true;
  }

  const Lay& laid(size_t stream, GroupSet set) {
    const auto [known, is_new] = lays_.try_emplace({stream, set});
    Lay& lay = known->second;
    if (!is_new) return lay;
    for (size_t i = 0; i < launches_.size(); ++i) {
      if (holds(set, launches_[i].group)) lay.launches.push_back(static_cast<int32_t>(i));
    }
    const std::vector<int32_t>& rows = streams_[stream];
    const size_t both = std::min(rows.size(), lay.launches.size());
    lay.heads = rows.size() - both;
    lay.left_over = static_cast<int64_t>(rows.size() + lay.launches.size() - 2 * both);
    lay.possible = true;
    for (size_t k = 0; k < both && lay.possible; ++k) {
      const LocalNs begins = kernels_[static_cast<size_t>(rows[lay.heads + k])].start;
      lay.possible = launches_[static_cast<size_t>(lay.launches[k])].start <= begins;
    }
    return lay;
  }

  // All ways to lay the groups of `rest` on the streams from this one on.
  void try_streams(size_t stream, GroupSet rest, int64_t left_over) {
    if (left_over > fewest_ + kClearly + fewest_ / 4 || ways_.size() >= kMostWays) return;
    if (stream == streams_.size()) {
      if (rest == 0) add_way();
      return;
    }
    const bool is_last = stream + 1 == streams_.size();
    for (GroupSet set = rest;; set = (set - 1) & rest) {
      if (!is_last || set == rest) {
        const Lay& lay = laid(stream, set);
        left_[stream] = set;
        if (lay.possible) try_streams(stream + 1, rest & ~set, left_over + lay.left_over);
      }
      if (set == 0) break;
    }
  }

  void add_way() {
    const std::optional<int64_t> contradictions = contradictions_of(left_);
    if (!contradictions) return;
    ways_.push_back({left_, *contradictions});
    fewest_ = std::min(fewest_, *contradictions);
  }

  bool begins_late(int32_t kernel, LocalNs first_of_later) const {
    const auto row = static_cast<size_t>(kernel);
    const LocalNs start = kernels_[row].start;
    return start.ns - kStreamIdle_ns > first_of_later.ns && start.ns - kStreamIdle_ns > free_from_[row].ns;
  }

  // None: kernels would have been launched before recording began that ran among those launched later.
  std::optional<int64_t> contradictions_of(const std::vector<GroupSet>& on_stream) {
    std::vector<int32_t> kernel_of(launches_.size(), -1);
    std::vector<int32_t> heads;
    int64_t contradictions = 0;
    for (size_t s = 0; s < streams_.size(); ++s) {
      const Lay& lay = laid(s, on_stream[s]);
      contradictions += lay.left_over;
      heads.insert(heads.end(), streams_[s].begin(), streams_[s].begin() + static_cast<std::ptrdiff_t>(lay.heads));
      for (size_t k = lay.heads; k < streams_[s].size(); ++k) {
        kernel_of[static_cast<size_t>(lay.launches[k - lay.heads])] = streams_[s][k];
      }
    }
    LocalNs first_of_later{INT64_MAX};
    for (size_t i = launches_.size(); i-- > 0;) {
      if (kernel_of[i] < 0) {
        contradictions += first_of_later.ns < INT64_MAX ? 1 : 0;
        continue;
      }
      contradictions += begins_late(kernel_of[i], first_of_later) ? 1 : 0;
      first_of_later = std::min(first_of_later, kernels_[static_cast<size_t>(kernel_of[i])].start);
    }
    const auto late =
        std::count_if(heads.begin(), heads.end(), [&](int32_t k) { return begins_late(k, first_of_later); });
    if (8 * late > std::ssize(heads)) return std::nullopt;
    return contradictions + late;
  }

  // Whether launches of this stream have no kernel although a later one of another stream has: any may have lost it.
  bool lacks_kernels(size_t stream, const Lay& lay) {
    const size_t joined = streams_[stream].size() - lay.heads;
    if (joined >= lay.launches.size()) return false;
    const int32_t first_without = lay.launches[joined];
    for (size_t s = 0; s < streams_.size(); ++s) {
      const Lay& other = laid(s, ways_[0].on_stream[s]);
      const size_t others = streams_[s].size() - other.heads;
      if (s != stream && others > 0 && other.launches[others - 1] > first_without) return true;
    }
    return false;
  }

  // False: no way is better than the others on any stream.
  bool take_ways(KernelLaunches& found) {
    if (ways_.empty() || ways_.size() >= kMostWays || 2 * fewest_ > std::ssize(kernels_)) return false;
    std::erase_if(ways_, [&](const Way& way) { return way.contradictions >= fewest_ + kClearly + fewest_ / 4; });
    bool any = false;
    for (size_t s = 0; s < streams_.size(); ++s) {
      const GroupSet set = ways_[0].on_stream[s];
      const Lay& lay = laid(s, set);
      const bool agreed = !lacks_kernels(s, lay) && std::all_of(ways_.begin(), ways_.end(), [&](const Way& way) {
        return way.on_stream[s] == set;
      });
      for (size_t k = 0; k < streams_[s].size(); ++k) {
        const auto row = static_cast<size_t>(streams_[s][k]);
        if (agreed && k >= lay.heads) found.launch[row] = lay.launches[k - lay.heads];
        if (!agreed) found.is_open[row] = true;
      }
      any |= agreed;
    }
    return any;
  }

  const std::vector<GroupLaunch>& launches_;
  const std::vector<StreamKernel>& kernels_;
  std::vector<LocalNs> free_from_;             // by kernel: when those before it on its stream had ended
  std::vector<std::vector<int32_t>> streams_;  // kernels, by start
  int32_t groups_ = 0;
  bool all_named_ = true;
  std::map<std::pair<size_t, GroupSet>, Lay> lays_;
  std::vector<GroupSet> left_;  // by stream, while ways are tried
  std::vector<Way> ways_;
  int64_t fewest_ = INT64_MAX / 4;
};

}  // namespace

KernelLaunches launches_of_streams(const std::vector<GroupLaunch>& launches, const std::vector<StreamKernel>& kernels) {
  return StreamFinder(launches, kernels).find();
}

}  // namespace skewscope::ingest
