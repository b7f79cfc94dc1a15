// Problem: a GPU row whose correlation is absent has no launch: it falls out of its step, and a collective has no
// record. Idea: a stream runs in the order of its launches. What runs between two rows of a stream was launched between
// the launches of these, by a call that no other row refers to. Where there are as many such calls as rows, the k-th is
// that of the k-th. What one stream takes is no longer free for another, so streams are asked until none takes more.
// Why right: no row begins before its launch, which is checked. Where calls and rows differ in number nothing is
// joined. Cost: a look at each row where none lacks its id; else a pass over rows and launches for each round.
#include "join_by_neighbours.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace skewscope::ingest {
namespace {

constexpr int kMostRounds = 4;

class NeighbourJoin {
 public:
  explicit NeighbourJoin(FileContent& content) : content_(content), gpu_(content.gpu.events) {}

  int64_t join() {
    for (size_t i = 0; i < gpu_.size(); ++i) any_lost_ |= is_lost(i);
    if (!any_lost_) return 0;
    find_free();
    find_runs();
    int64_t joined = 0;
    for (int round = 0; round < kMostRounds && !free_.empty(); ++round) {
      const int64_t before = joined;
      std::erase_if(runs_, [&](const Run& run) {
        const bool takes = take(run);
        joined += takes ? std::ssize(run.rows) : 0;
        return takes;
      });
      if (joined == before) break;
    }
    return joined;
  }

 private:
  // Rows of a stream without an id, one after the other.
  struct Run {
    std::vector<size_t> rows;
    LocalNs after{INT64_MIN}, before{INT64_MAX};  // launches of the rows around them
  };

  bool is_lost(size_t row) const { return gpu_.launch[row] < 0 && content_.gpu.correlation[row] <= 0; }
  LocalNs launched(int32_t launch) const { return content_.launches.events.start[static_cast<size_t>(launch)]; }

  // Launches that no row refers to, by start.
  void find_free() {
    std::vector<bool> used(content_.launches.size(), false);
    for (const int32_t launch : gpu_.launch) {
      if (launch >= 0) used[static_cast<size_t>(launch)] = true;
    }
    for (size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) free_.push_back(static_cast<int32_t>(i));
    }
    std::stable_sort(free_.begin(), free_.end(), [&](int32_t a, int32_t b) { return launched(a) < launched(b); });
    taken_.resize(free_.size(), false);
  }

  void find_runs() {
    struct Stream {
      LocalNs last{INT64_MIN};  // launch
      Run open;
    };
    std::map<std::pair<int32_t, int32_t>, Stream> streams;
    for (size_t i = 0; i < gpu_.size(); ++i) {
      Stream& stream = streams[{gpu_.device[i], gpu_.stream[i]}];
      if (is_lost(i)) {
        if (stream.open.rows.empty()) stream.open.after = stream.last;
        stream.open.rows.push_back(i);
      } else if (gpu_.launch[i] >= 0) {
        stream.last = launched(gpu_.launch[i]);
        if (stream.open.rows.empty()) continue;
        stream.open.before = stream.last;
        runs_.push_back(std::move(stream.open));
        stream.open = Run();
      }
    }
    for (auto& [name, stream] : streams) {
      const bool behind_another = stream.open.after.ns > INT64_MIN;
      if (!stream.open.rows.empty() && behind_another) runs_.push_back(std::move(stream.open));
    }
  }

  // Free ones between its neighbours' launches; one more than there are rows is enough to know.
  std::vector<size_t> launches_between(const Run& run) const {
    std::vector<size_t> launches;
    const auto first =
        std::partition_point(free_.begin(), free_.end(), [&](int32_t launch) { return launched(launch) <= run.after; });
    for (auto i = static_cast<size_t>(first - free_.begin()); i < free_.size(); ++i) {
      if (launched(free_[i]) >= run.before || launches.size() > run.rows.size()) break;
      if (!taken_[i]) launches.push_back(i);
    }
    return launches;
  }

  bool take(const Run& run) {
    const std::vector<size_t> launches = launches_between(run);
    if (launches.size() != run.rows.size()) return false;
    for (size_t k = 0; k < launches.size(); ++k) {
      if (gpu_.start[run.rows[k]] < launched(free_[launches[k]])) return false;
    }
    for (size_t k = 0; k < launches.size(); ++k) {
      gpu_.launch[run.rows[k]] = free_[launches[k]];
      taken_[launches[k]] = true;
    }
    return true;
  }

  FileContent& content_;
  GpuEvents& gpu_;
  bool any_lost_ = false;
  std::vector<int32_t> free_;
  std::vector<bool> taken_;  // by index in free_
  std::vector<Run> runs_;
};

}  // namespace

void join_by_neighbours(FileContent& content) {
  const int64_t joined = NeighbourJoin(content).join();
  report(
      content, Severity::info, "joined-by-neighbours", joined,
      "GPU rows without correlation id; assigned to the calls between the launches of their neighbours on the stream");
}

}  // namespace skewscope::ingest
