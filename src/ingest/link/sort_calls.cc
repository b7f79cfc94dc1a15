#include "sort_calls.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "skewscope/base/sort_runs.h"
#include "src/ingest/content/launched_rows.h"

namespace skewscope::ingest {
namespace {

// Puts rows of calls in the new order and returns where each was; `new_row`: of the calls, by their former rows.
template <class Row>
std::vector<int32_t> follow_calls(const std::vector<int32_t>& new_row, Column<Row>& rows) {
  for (Row& row : rows) row.call = new_row[static_cast<size_t>(row.call)];
  std::vector<int32_t> by_call(rows.size());
  std::iota(by_call.begin(), by_call.end(), 0);
  std::stable_sort(by_call.begin(), by_call.end(), [&](int32_t a, int32_t b) {
    return rows[static_cast<size_t>(a)].call < rows[static_cast<size_t>(b)].call;
  });
  rows = gathered(rows, by_call);
  return by_call;
}

}  // namespace

void sort_calls(LinkedTrace& linked) {
  Column<CollectiveCall>& calls = linked.trace.calls;
  std::vector<int32_t> order(calls.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int32_t row) {
    const CollectiveCall& call = calls[static_cast<size_t>(row)];
    return std::make_tuple(call.start, call.end(), call.stream);
  };
  sort_runs(order, [&](int32_t a, int32_t b) { return key(a) < key(b); });
  if (std::is_sorted(order.begin(), order.end())) return;  // as GPU rows are, mostly
  calls = gathered(calls, order);
  linked.open_calls = gathered(linked.open_calls, order);
  if (linked.detail) {
    for_each_column(linked.detail->calls, [&](auto& column) { column = gathered(column, order); });
  }
  std::vector<int32_t> new_row(order.size());
  for (size_t i = 0; i < order.size(); ++i) new_row[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
  const std::vector<int32_t> by_call = follow_calls(new_row, linked.trace.messages);
  linked.open_peers = gathered(linked.open_peers, by_call);
  follow_calls(new_row, linked.trace.splits);
}

}  // namespace skewscope::ingest
