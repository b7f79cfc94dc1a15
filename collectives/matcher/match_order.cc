#include "match_order.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "causal_shift.h"

namespace skewscope {
namespace {

class OrderJoin {
 public:
  OrderJoin(const std::vector<MemberCalls>& members, const Cluster& cluster, Rows& rows)
      : members_(members), cluster_(cluster), rows_(rows), column_(members.size(), 0) {
    for (size_t k = 0; k < cluster.members.size(); ++k) {
      column_[static_cast<size_t>(cluster.members[k])] = k;
      row_of_.emplace_back(calls_of(k).size(), -1);
    }
    for (size_t r = 0; r < rows.rows.size(); ++r) put_into(rows.rows[r], static_cast<int32_t>(r));
  }

  void join() {
    std::vector<int32_t> from(row_of_.size(), -1);  // per column: the last call that is settled
    bool head = true;
    for (const size_t fence : fences()) {
      std::vector<int32_t> to(row_of_.size());
      for (const Placed& p : rows_.rows[fence]) to[column_[static_cast<size_t>(p.member)]] = p.call;
      if (head) {
        count_outwards(to, -1);
      } else {
        join_between(from, to);
      }
      from = std::move(to);
      head = false;
    }
    if (!head) count_outwards(from, 1);
    drop_emptied();
  }

  bool is_joined(const Placed& p) const {
    return row_of_[column_[static_cast<size_t>(p.member)]][static_cast<size_t>(p.call)] >= 0;
  }

 private:
  const MemberCalls& calls_of(size_t column) const { return members_[static_cast<size_t>(cluster_.members[column])]; }
  const MatchCall& call_of(const Placed& p) const {
    return members_[static_cast<size_t>(p.member)][static_cast<size_t>(p.call)];
  }
  void put_into(const std::vector<Placed>& row, int32_t number) {
    for (const Placed& p : row) row_of_[column_[static_cast<size_t>(p.member)]][static_cast<size_t>(p.call)] = number;
  }

  // Rows that hold all members, one after the other in each of them.
  std::vector<size_t> fences() const {
    std::vector<size_t> whole;
    for (size_t r = 0; r < rows_.rows.size(); ++r) {
      if (rows_.rows[r].size() == cluster_.members.size()) whole.push_back(r);
    }
    std::sort(whole.begin(), whole.end(),
              [&](size_t a, size_t b) { return rows_.rows[a].front().end_ns < rows_.rows[b].front().end_ns; });
    std::vector<size_t> fences;
    std::vector<int32_t> last(row_of_.size(), -1);
    for (const size_t r : whole) {
      const std::vector<Placed>& row = rows_.rows[r];
      const auto behind = [&](const Placed& p) { return p.call > last[column_[static_cast<size_t>(p.member)]]; };
      if (!std::all_of(row.begin(), row.end(), behind)) continue;
      for (const Placed& p : row) last[column_[static_cast<size_t>(p.member)]] = p.call;
      fences.push_back(r);
    }
    return fences;
  }

  // The calls that lie `distance` from those at `base` (call per column), as one row; nullopt: they are none.
  std::optional<std::vector<Placed>> row_at(const std::vector<int32_t>& base, int32_t distance, bool fenced) const {
    std::vector<Placed> row;
    const MatchCall* told = nullptr;  // one that tells more than its kind
    std::optional<int64_t> steps;     // from `base`, of one that tells
    for (size_t k = 0; k < base.size(); ++k) {
      const int64_t at = int64_t{base[k]} + distance;
      if (at < 0 || at >= static_cast<int64_t>(calls_of(k).size())) continue;
      const MatchCall& call = calls_of(k)[static_cast<size_t>(at)];
      const ClockLine& line = cluster_.lines[k];
      row.push_back({call.signature, line.apply(call.start_ns), line.apply(call.end_ns), cluster_.members[k],
                     static_cast<int32_t>(at)});
      if (told == nullptr || told->bare) told = &call;
      if (!steps) steps = steps_from(row.back(), base);
    }
    if (row.size() < 2 || !can_be_one(row, fenced) || is_contradicted(row)) return std::nullopt;
    const auto fits = [&](const Placed& p) {
      const std::optional<int64_t> own = steps_from(p, base);
      return alike(call_of(p), *told) && (!own || *own == *steps);
    };
    if (!std::all_of(row.begin(), row.end(), fits)) return std::nullopt;
    return row;
  }

  // Whether cause and effect allow it: where all wait for all, they are in it together for half of what the last one
  // is. A root, and who sends to one, may be gone before others come: between fences alone order tells of those.
  bool can_be_one(const std::vector<Placed>& row, bool fenced) const {
    if (!call_of(row.front()).ends_together) {
      return fenced ? causal(row, members_, cluster_.tolerance_ns) : overlap(row, cluster_.tolerance_ns);
    }
    return meet(row);
  }

  // How many steps lie between it and its member's call at `base`; nullopt where steps do not tell.
  std::optional<int64_t> steps_from(const Placed& p, const std::vector<int32_t>& base) const {
    const size_t k = column_[static_cast<size_t>(p.member)];
    const int64_t own = call_of(p).step, there = calls_of(k)[static_cast<size_t>(base[k])].step;
    return own < 0 || there < 0 ? std::nullopt : std::optional(own - there);
  }

  // Whether ends joined some of it to calls at another place of the order.
  bool is_contradicted(const std::vector<Placed>& row) const {
    std::vector<int32_t> joined;  // of each part: the row that ends made
    for (const Placed& p : row) {
      const int32_t own = row_of_[column_[static_cast<size_t>(p.member)]][static_cast<size_t>(p.call)];
      if (own >= 0) joined.push_back(own);
    }
    std::sort(joined.begin(), joined.end());
    for (size_t low = 0, high = 0; low < joined.size(); low = high) {
      while (high < joined.size() && joined[high] == joined[low]) ++high;
      if (high - low != rows_.rows[static_cast<size_t>(joined[low])].size()) return true;
    }
    return false;
  }

  void take(std::vector<Placed> row) {
    const auto number = static_cast<int32_t>(rows_.rows.size());
    for (const Placed& p : row) {
      const int32_t before = row_of_[column_[static_cast<size_t>(p.member)]][static_cast<size_t>(p.call)];
      if (before >= 0) rows_.rows[static_cast<size_t>(before)].clear();
    }
    put_into(row, number);
    rows_.rows.push_back(std::move(row));
    rows_.method.push_back(cluster_.method);
  }

  void join_between(const std::vector<int32_t>& from, const std::vector<int32_t>& to) {
    const int32_t count = to.front() - from.front() - 1;
    if (count == 0) return;
    for (size_t k = 0; k < from.size(); ++k) {
      if (to[k] - from[k] - 1 != count) return;
    }
    std::vector<std::vector<Placed>> between;
    for (int32_t distance = 1; distance <= count; ++distance) {
      std::optional<std::vector<Placed>> row = row_at(from, distance, true);
      if (!row) return;
      between.push_back(std::move(*row));
    }
    for (std::vector<Placed>& row : between) take(std::move(row));
  }

  void count_outwards(const std::vector<int32_t>& base, int32_t direction) {
    for (int32_t distance = direction;; distance += direction) {
      std::optional<std::vector<Placed>> row = row_at(base, distance, false);
      if (!row) return;
      take(std::move(*row));
    }
  }

  void drop_emptied() {
    size_t kept = 0;
    for (size_t r = 0; r < rows_.rows.size(); ++r) {
      if (rows_.rows[r].empty()) continue;
      if (kept != r) {
        rows_.rows[kept] = std::move(rows_.rows[r]);
        rows_.method[kept] = rows_.method[r];
      }
      ++kept;
    }
    rows_.rows.resize(kept);
    rows_.method.resize(kept);
  }

  const std::vector<MemberCalls>& members_;
  const Cluster& cluster_;
  Rows& rows_;
  std::vector<size_t> column_;                // per member: its entry of the cluster
  std::vector<std::vector<int32_t>> row_of_;  // per column and call; -1: in none
};

}  // namespace

void join_by_order(const std::vector<MemberCalls>& members, const Cluster& cluster, std::vector<Placed>& rest,
                   Rows& rows) {
  const auto whole = [&](const std::vector<Placed>& row) { return row.size() == cluster.members.size(); };
  if (rest.empty() && std::all_of(rows.rows.begin(), rows.rows.end(), whole)) return;
  OrderJoin order(members, cluster, rows);
  order.join();
  std::erase_if(rest, [&](const Placed& p) { return order.is_joined(p); });
}

}  // namespace skewscope
