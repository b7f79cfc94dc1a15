#include "same_groups.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "skewscope/base/disjoint_sets.h"

namespace skewscope::ingest {
namespace {

constexpr double kAlikeBytes = 1.1;

bool is_whole(const TracerGroup& group) { return std::cmp_equal(group.members.size(), group.size); }

bool disjoint(const std::set<int64_t>& a, const std::set<int64_t>& b) {
  return std::none_of(a.begin(), a.end(), [&](int64_t rank) { return b.count(rank) > 0; });
}

// Callers of `other` lie in the whole list at the places that their traces say.
bool fits_positions(const TracerGroup& whole, const TracerGroup& other) {
  return std::all_of(other.position.begin(), other.position.end(), [&](const auto& caller) {
    const auto& [rank, position] = caller;
    return std::distance(whole.members.begin(), whole.members.find(rank)) == position;
  });
}

bool may_have_members_of(const TracerGroup& a, const TracerGroup& b) {
  std::set<int64_t> both = a.members;
  both.insert(b.members.begin(), b.members.end());
  if (std::cmp_greater(both.size(), a.size)) return false;
  if (is_whole(a) && !fits_positions(a, b)) return false;
  if (is_whole(b) && !fits_positions(b, a)) return false;
  std::set<int64_t> taken;
  for (const TracerGroup* group : {&a, &b}) {
    for (const auto& [rank, position] : group->position) {
      if (!taken.insert(position).second) return false;
    }
  }
  return true;
}

bool may_be_one(const TracerGroup& a, const TracerGroup& b) {
  return a.tracer != b.tracer && a.size == b.size && a.size > 0 && (a.use.kinds & b.use.kinds) != 0 &&
         disjoint(a.callers, b.callers) && may_have_members_of(a, b);
}

bool are_used_alike(const TracerGroup& a, const TracerGroup& b) {
  if (a.use.kinds != b.use.kinds) return false;
  const auto [less, more] = std::minmax(a.use.mean_bytes, b.use.mean_bytes);
  return static_cast<double>(more) <= kAlikeBytes * static_cast<double>(less) || less < 0;
}

// The groups of one tracer that have no partner yet, found by what another's must have in common with them.
class Side {
 public:
  Side(const std::vector<TracerGroup>& groups, const std::string& tracer) : groups_(groups) {
    for (size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].tracer != tracer) continue;
      rows_.insert(i);
      if (!is_whole(groups[i])) {
        partial_.push_back(i);
        continue;
      }
      for (const int64_t rank : groups[i].members) whole_with_[rank].push_back(i);
    }
    for (const size_t i : rows_) {
      for (const int64_t rank : groups[i].callers) called_by_[rank].push_back(i);
    }
  }

  const std::set<size_t>& rows() const { return rows_; }
  void remove(size_t row) { rows_.erase(row); }

  // The only one that `row` may be and that `fits`.
  template <class Fits>
  std::optional<size_t> only_one(size_t row, const Fits& fits) const {
    std::optional<size_t> found;
    const auto is_second = [&](const std::vector<size_t>& among) {
      for (const size_t i : among) {
        if (found == i || rows_.count(i) == 0 || !may_be_one(groups_[row], groups_[i]) ||
            !fits(groups_[row], groups_[i]))
          continue;
        if (found) return true;
        found = i;
      }
      return false;
    };
    const TracerGroup& group = groups_[row];
    if (is_whole(group)) {
      for (const int64_t rank : group.members) {
        if (is_second(rows_with(called_by_, rank))) return std::nullopt;
      }
      return found;
    }
    const bool several =
        (!group.callers.empty() && is_second(rows_with(whole_with_, *group.callers.begin()))) || is_second(partial_);
    return several ? std::nullopt : found;
  }

 private:
  using RowsOfRank = std::map<int64_t, std::vector<size_t>>;

  static const std::vector<size_t>& rows_with(const RowsOfRank& rows, int64_t rank) {
    static const std::vector<size_t> kNone;
    const auto found = rows.find(rank);
    return found == rows.end() ? kNone : found->second;
  }

  const std::vector<TracerGroup>& groups_;
  std::set<size_t> rows_;
  std::vector<size_t> partial_;
  RowsOfRank whole_with_, called_by_;
};

template <class Fits>
void pair(Side& a, Side& b, const Fits& fits, DisjointSets& sets) {
  std::vector<std::pair<size_t, size_t>> pairs;
  for (const size_t i : a.rows()) {
    const std::optional<size_t> partner = b.only_one(i, fits);
    if (partner && a.only_one(*partner, fits) == i) pairs.emplace_back(i, *partner);
  }
  for (const auto& [i, partner] : pairs) {
    sets.unite(i, partner);
    a.remove(i);
    b.remove(partner);
  }
}

}  // namespace

std::vector<size_t> same_groups(const std::vector<TracerGroup>& groups) {
  std::set<std::string> tracers;
  for (const TracerGroup& group : groups) tracers.insert(group.tracer);
  DisjointSets sets(groups.size());
  for (auto one = tracers.begin(); one != tracers.end(); ++one) {
    for (auto other = std::next(one); other != tracers.end(); ++other) {
      Side a(groups, *one), b(groups, *other);
      pair(a, b, are_used_alike, sets);
      pair(
          a, b, [](const TracerGroup&, const TracerGroup&) { return true; }, sets);
    }
  }
  std::vector<size_t> first(groups.size());
  for (size_t i = 0; i < groups.size(); ++i) first[i] = sets.root(i);
  return first;
}

}  // namespace skewscope::ingest
