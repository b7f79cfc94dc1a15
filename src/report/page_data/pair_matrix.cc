// Problem: a slow link, an uneven exchange or a rank that others wait for shows between two places; sums over a rank
// hide it. Idea: what the calls themselves tell. A call of two ranks, a message or a collective of a group of two,
// moved its bytes between them; all-to-alls say what each sent to each. Waiting in a collective is held against who
// arrived last. What a larger ring moved from whom to whom is its algorithm's affair, and nothing is said of it. A job
// of more ranks than rows is shown by node, where hosts are known; where rows do not suffice, neighbours share one.
// Cost: O(calls); at most kMostMatrixRows^2 cells.
#include "pair_matrix.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "collectives/synchronization.h"

namespace skewscope::report {
namespace {

using Call = JobReport::CallRow;

// Which row each rank is in.
struct RowOfRank {
  std::vector<int32_t> of;  // row = rank; -1: none

  int32_t at(int32_t rank) const {
    return rank < 0 || static_cast<size_t>(rank) >= of.size() ? -1 : of[static_cast<size_t>(rank)];
  }
};

std::string joined_name(const std::vector<std::string>& names, size_t first, size_t behind) {
  return behind - first == 1 ? names[first] : names[first] + " \u2013 " + names[behind - 1];
}

RowOfRank matrix_rows(const JobReport& report, PairMatrix& matrix) {
  const bool hosts_known = !report.ranks.empty() && std::none_of(report.ranks.begin(), report.ranks.end(),
                                                                 [](const auto& row) { return row.host.empty(); });
  std::vector<std::string> names;
  std::unordered_map<int32_t, size_t> unit_of;
  if (report.ranks.size() > kMostMatrixRows && hosts_known) {
    matrix.unit = PairMatrix::Unit::node;
    std::map<std::string, int32_t> first_rank;  // hosts are in order of their ranks
    for (const JobReport::RankRow& row : report.ranks) {
      const auto [at, is_new] = first_rank.emplace(row.host, row.rank);
      if (!is_new) at->second = std::min(at->second, row.rank);
    }
    std::vector<std::pair<int32_t, std::string>> order;
    for (const auto& [host, rank] : first_rank) order.emplace_back(rank, host);
    std::sort(order.begin(), order.end());
    std::unordered_map<std::string, size_t> place;
    for (const auto& [rank, host] : order) {
      place.emplace(host, names.size());
      names.push_back(host);
    }
    for (const JobReport::RankRow& row : report.ranks) unit_of.emplace(row.rank, place.at(row.host));
  } else {
    for (const JobReport::RankRow& row : report.ranks) {
      unit_of.emplace(row.rank, names.size());
      names.push_back(std::to_string(row.rank));
    }
  }
  matrix.joined = std::max<size_t>(1, (names.size() + kMostMatrixRows - 1) / kMostMatrixRows);
  for (size_t first = 0; first < names.size(); first += matrix.joined) {
    matrix.names.push_back(joined_name(names, first, std::min(names.size(), first + matrix.joined)));
  }
  RowOfRank rows;
  for (const auto& [rank, unit] : unit_of) {
    const auto place = static_cast<size_t>(rank);
    if (rows.of.size() <= place) rows.of.resize(place + 1, -1);
    rows.of[place] = static_cast<int32_t>(unit / matrix.joined);
  }
  return rows;
}

class CellBook {
 public:
  CellBook(const RowOfRank& rows, size_t count) : rows_(rows), count_(count), cells_(count * count) {}
  // Null where a rank is not there.
  PairMatrix::Cell* of(int32_t from, int32_t to) {
    const int32_t a = rows_.at(from), b = rows_.at(to);
    if (a < 0 || b < 0) return nullptr;
    PairMatrix::Cell& cell = cells_[static_cast<size_t>(a) * count_ + static_cast<size_t>(b)];
    cell.from = a;
    cell.to = b;
    return &cell;
  }
  std::vector<PairMatrix::Cell> take() const {
    std::vector<PairMatrix::Cell> all;
    for (const PairMatrix::Cell& cell : cells_) {
      if (cell.wait_ns > 0 || cell.bytes > 0) all.push_back(cell);
    }
    return all;
  }

 private:
  const RowOfRank& rows_;
  size_t count_;
  std::vector<PairMatrix::Cell> cells_;  // row = from * count + to
};

void add_waits(std::span<const Call> members, CellBook& cells) {
  const auto wait = longest_wait(members);
  if (!wait) return;
  for (const Call& call : members) {
    if (call.wait_ns <= 0 || call.rank == wait->late->rank) continue;
    if (PairMatrix::Cell* const cell = cells.of(wait->late->rank, call.rank)) cell->wait_ns += call.wait_ns;
  }
}

void add_sent(const Call& from, const Call& to, CellBook& cells) {
  PairMatrix::Cell* const cell = cells.of(from.rank, to.rank);
  if (cell == nullptr) return;
  cell->bytes += from.bytes;
  const int64_t transfer_ns = std::min(from.transfer_ns, to.transfer_ns);
  if (transfer_ns <= 0) return;
  cell->timed_bytes += from.bytes;
  cell->transfer_ns += transfer_ns;
}

// A message goes one way; a collective of two, both.
void add_bytes(std::span<const Call> members, CellBook& cells) {
  if (has_root(members.front().op)) return;  // it goes one way, and the rows do not say which
  if (members.size() != 2 || !members.front().complete || members.front().bytes <= 0) return;
  const Call &a = members.front(), &b = members.back();
  if (a.op != CollectiveKind::recv) add_sent(a, b, cells);
  if (b.op != CollectiveKind::recv && a.op != CollectiveKind::send) add_sent(b, a, cells);
}

}  // namespace

PairMatrix pair_matrix(const JobReport& report) {
  PairMatrix matrix;
  const RowOfRank rows = matrix_rows(report, matrix);
  CellBook cells(rows, matrix.names.size());
  std::set<int32_t> listed;  // groups whose all-to-alls say what each sent to each
  for (const JobReport::AllToAll& group : report.all_to_all) {
    for (const JobReport::AllToAll::Pair& pair : group.pairs) {
      listed.insert(pair.communicator);
      PairMatrix::Cell* const cell = cells.of(pair.sender, pair.receiver);
      if (cell != nullptr) cell->bytes += pair.bytes;
    }
  }
  for (const std::span<const Call> members : calls_by_instance(report.calls)) {
    add_waits(members, cells);
    const Call& first = members.front();
    if (first.op != CollectiveKind::all_to_all || !listed.contains(first.communicator)) add_bytes(members, cells);
  }
  matrix.cells = cells.take();
  return matrix;
}

}  // namespace skewscope::report
