// Problem: profilers record the same job again and again; the k-th file of one rank need not be the k-th of another.
// Idea: names that count captures decide first. Without them, windows decide: sweep over time, and captures that
// overlap, chained, are one cluster. Clusters are taken for sessions if no rank is in one twice and there are no more
// of them than some rank has captures; otherwise clocks differ too much (or captures follow too closely) and the order
// decides. Cost: O(n log n).
#include "sessions.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace skewscope::ingest {
namespace {

// Clocks of one job's hosts differ by seconds; ten minutes are another run.
constexpr int64_t kAnotherRun_ns = 600'000'000'000;

using CaptureRows = std::vector<size_t>;

class Assigner {
 public:
  explicit Assigner(const std::vector<Capture>& captures) : captures_(captures) {
    result_.of_capture.resize(captures.size());
  }

  AssignedSessions assign() {
    std::map<std::tuple<int64_t, std::string>, CaptureRows> by_label;
    for (size_t i = 0; i < captures_.size(); ++i) by_label[{captures_[i].number, captures_[i].label}].push_back(i);
    for (const auto& [label, rows] : by_label) {
      const CaptureRows kept = without_duplicates(rows);
      const std::map<Rank, CaptureRows> by_rank = by_rank_and_time(kept);
      if (!assign_clusters(kept, by_rank)) assign_in_order(by_rank);
    }
    report_apart();
    return std::move(result_);
  }

 private:
  std::map<Rank, CaptureRows> by_rank_and_time(const CaptureRows& rows) const {
    std::map<Rank, CaptureRows> by_rank;
    for (const size_t i : rows) by_rank[captures_[i].rank].push_back(i);
    for (auto& [rank, of_rank] : by_rank) sort_by_time(of_rank);
    return by_rank;
  }

  void sort_by_time(CaptureRows& rows) const {
    std::stable_sort(rows.begin(), rows.end(), [&](size_t a, size_t b) {
      return std::tie(captures_[a].first_event, captures_[a].last_event) <
             std::tie(captures_[b].first_event, captures_[b].last_event);
    });
  }

  bool overlap(size_t a, size_t b) const {
    const Capture& x = captures_[a];
    const Capture& y = captures_[b];
    const bool same_window = x.first_event == y.first_event && x.last_event == y.last_event;
    return same_window || (x.first_event < y.last_event && y.first_event < x.last_event);
  }

  // Best first; each later one must be apart from all that stay.
  CaptureRows without_duplicates(const CaptureRows& rows) {
    CaptureRows kept;
    for (auto& [rank, of_rank] : by_rank_and_time(rows)) {
      CaptureRows best_first = of_rank;
      std::stable_sort(best_first.begin(), best_first.end(), [&](size_t a, size_t b) {
        return std::tie(captures_[b].calls, captures_[a].file) < std::tie(captures_[a].calls, captures_[b].file);
      });
      CaptureRows stay;
      for (const size_t i : best_first) {
        const auto twin = std::find_if(stay.begin(), stay.end(), [&](size_t other) { return overlap(i, other); });
        if (twin == stay.end()) {
          stay.push_back(i);
          continue;
        }
        add_finding(result_.findings,
                    finding_of_rank(
                        Severity::warning, "duplicate-rank", captures_[i].file, rank,
                        "left out: a second trace of rank " + std::to_string(rank.value) +
                            " over the same time. For two jobs at once, make a report of each; if the rank is wrong, "
                            "use --rank-map or --rank-regex. Used instead, with as many collective calls or more: " +
                            captures_[*twin].file));
      }
      kept.insert(kept.end(), stay.begin(), stay.end());
    }
    return kept;
  }

  bool assign_clusters(CaptureRows rows, const std::map<Rank, CaptureRows>& by_rank) {
    sort_by_time(rows);
    size_t most = 0;
    for (const auto& [rank, of_rank] : by_rank) most = std::max(most, of_rank.size());
    if (most < 2) return false;
    std::vector<CaptureRows> clusters;
    LocalNs end;
    for (const size_t i : rows) {
      if (clusters.empty() || captures_[i].first_event >= end) {
        clusters.emplace_back();
        end = captures_[i].last_event;
      }
      clusters.back().push_back(i);
      end = std::max(end, captures_[i].last_event);
    }
    if (clusters.size() > most) return false;
    for (const CaptureRows& cluster : clusters) {
      std::set<Rank> ranks;
      for (const size_t i : cluster) {
        if (!ranks.insert(captures_[i].rank).second) return false;
      }
    }
    for (const CaptureRows& cluster : clusters) {
      for (const size_t i : cluster) result_.of_capture[i] = SessionId(result_.sessions);
      ++result_.sessions;
    }
    return true;
  }

  void assign_in_order(const std::map<Rank, CaptureRows>& by_rank) {
    size_t most = 0;
    for (const auto& [rank, of_rank] : by_rank) {
      most = std::max(most, of_rank.size());
      for (size_t k = 0; k < of_rank.size(); ++k) {
        result_.of_capture[of_rank[k]] = SessionId(result_.sessions + static_cast<int32_t>(k));
      }
    }
    result_.sessions += static_cast<int32_t>(most);
  }

  // Against the middle one by time: one stray capture is distinguished from the many, not the many from it.
  void report_apart() {
    std::map<SessionId, CaptureRows> by_session;
    for (size_t i = 0; i < captures_.size(); ++i) {
      if (result_.of_capture[i].known()) by_session[result_.of_capture[i]].push_back(i);
    }
    for (auto& [session, rows] : by_session) {
      CaptureRows by_time = rows;
      sort_by_time(by_time);
      const Capture& middle = captures_[by_time[(by_time.size() - 1) / 2]];
      for (const size_t i : rows) {
        const Capture& capture = captures_[i];
        const int64_t gap_ns =
            std::max(capture.first_event - middle.last_event, middle.first_event - capture.last_event);
        if (gap_ns <= kAnotherRun_ns) continue;
        add_finding(result_.findings,
                    finding_of_rank(Severity::warning, "capture-apart", capture.file, capture.rank,
                                    "recorded " + std::to_string(gap_ns / 1'000'000'000) + " s away from " +
                                        middle.file + ", with which it is compared; it may belong to another run"));
      }
    }
  }

  const std::vector<Capture>& captures_;
  AssignedSessions result_;
};

}  // namespace

AssignedSessions assign_sessions(const std::vector<Capture>& captures) { return Assigner(captures).assign(); }

}  // namespace skewscope::ingest
