// Slices of one track out of their beginnings and ends, which do not tell of one another: an end is of the innermost
// slice that is open. PyTorch writes all beginnings of a kind, then all their ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace skewscope::ingest {

template <class Facts>
class TrackSlices {
 public:
  void begin(int64_t ns, const Facts& facts) {
    mixed_ |= !ends_.empty();
    note(ns);
    begins_.push_back({ns, facts});
  }
  // visit(start_ns, end_ns, facts) for the slices of which all ends are known now.
  template <class Visit>
  void end(int64_t ns, const Visit& visit) {
    if (begins_.empty()) {
      ++strays_;
      return;
    }
    note(ns);
    ends_.push_back(ns);
    if (ends_.size() == begins_.size()) settle(visit);
  }
  // Whatever has its end, after the last event.
  template <class Visit>
  void finish(const Visit& visit) {
    if (!begins_.empty()) settle(visit);
  }
  // Beginnings and ends that found no other.
  int64_t strays() const { return strays_; }
  size_t open() const { return begins_.size(); }

 private:
  struct Begin {
    int64_t ns = 0;
    Facts facts;
  };

  void note(int64_t ns) {
    ascending_ &= begins_.empty() || ns >= last_ns_;
    last_ns_ = ns;
  }

  template <class Visit>
  void settle(const Visit& visit) {
    if (begins_.size() == 1 && ends_.size() == 1) {
      visit(begins_.front().ns, ends_.front(), begins_.front().facts);
    } else if (ends_are_in_order()) {
      for (size_t i = 0; i < begins_.size(); ++i) visit(begins_[i].ns, ends_[i], begins_[i].facts);
    } else {
      settle_by_time(visit);
    }
    begins_.clear();
    ends_.clear();
    ascending_ = true;
    mixed_ = false;
  }

  // First all beginnings, then all ends, and not as time went on: written as columns, row by row.
  bool ends_are_in_order() const {
    if (mixed_ || ascending_ || begins_.size() != ends_.size()) return false;
    for (size_t i = 0; i < begins_.size(); ++i) {
      if (ends_[i] < begins_[i].ns) return false;
    }
    return true;
  }

  // Of an end and a beginning at one stamp the end comes first, unless what is open began there, too.
  template <class Visit>
  void settle_by_time(const Visit& visit) {
    std::stable_sort(begins_.begin(), begins_.end(), [](const Begin& a, const Begin& b) { return a.ns < b.ns; });
    std::sort(ends_.begin(), ends_.end());
    std::vector<size_t> open;
    size_t next = 0;
    for (const int64_t end_ns : ends_) {
      while (next < begins_.size() &&
             (begins_[next].ns < end_ns ||
              (begins_[next].ns == end_ns && (open.empty() || begins_[open.back()].ns == end_ns)))) {
        open.push_back(next++);
      }
      if (open.empty()) {
        ++strays_;
        continue;
      }
      const Begin& innermost = begins_[open.back()];
      visit(innermost.ns, end_ns, innermost.facts);
      open.pop_back();
    }
    strays_ += static_cast<int64_t>(open.size() + begins_.size() - next);
  }

  std::vector<Begin> begins_;
  std::vector<int64_t> ends_;
  int64_t last_ns_ = 0, strays_ = 0;
  bool ascending_ = true, mixed_ = false;
};

}  // namespace skewscope::ingest
