#include "split_lists.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/ingest/text/number_list.h"

namespace skewscope::ingest {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 40;  // of a call; no GPU holds as many

// What the rows of a list are in elements, of which all together are `elements`; -1 each where that cannot be known.
std::vector<int64_t> in_elements(std::vector<int64_t> rows, int64_t elements) {
  int64_t sum = 0;
  bool known = elements >= 0 && elements <= kMostElements;
  for (const int64_t row : rows) {
    known = known && row >= 0 && row <= elements - sum;
    sum += known ? row : 0;
  }
  known = known && (sum == 0 ? elements == 0 : elements % sum == 0);
  for (int64_t& row : rows) row = !known ? -1 : sum == 0 ? 0 : row * (elements / sum);
  return rows;
}

NumberList parsed(StringId list, const StringTable& strings) {
  return list.known() ? parse_number_list(std::string(strings.view(list))) : NumberList();
}

}  // namespace

SplitLists lists_of(const std::vector<SplitLists>& all, int32_t own_args, int32_t op_args) {
  const auto of = [&](int32_t args) {
    const auto at = std::lower_bound(all.begin(), all.end(), args,
                                     [](const SplitLists& lists, int32_t row) { return lists.args < row; });
    return at == all.end() || at->args != args ? SplitLists() : *at;
  };
  SplitLists lists = of(own_args);
  const SplitLists of_op = of(op_args);
  if (!lists.in.known()) lists.in = of_op.in;
  if (!lists.out.known()) lists.out = of_op.out;
  return lists;
}

std::vector<SplitPart> split_parts(const SplitLists& lists, const StringTable& strings, int64_t group_size,
                                   const CollectiveCall& call) {
  const NumberList sent = parsed(lists.in, strings), received = parsed(lists.out, strings);
  const size_t members = std::max(sent.numbers.size(), received.numbers.size());
  if (members == 0) return {};
  const bool whole = !sent.cut && !received.cut && (group_size < 0 || std::cmp_equal(group_size, members));
  if (!whole) return {SplitPart{}};
  std::vector<SplitPart> parts(members);
  const std::vector<int64_t> sends = in_elements(sent.numbers, call.in_elements);
  const std::vector<int64_t> receives = in_elements(received.numbers, call.out_elements);
  for (size_t i = 0; i < members && sends.size() == members; ++i) parts[i].sends = sends[i];
  for (size_t i = 0; i < members && receives.size() == members; ++i) parts[i].receives = receives[i];
  return parts;
}

}  // namespace skewscope::ingest
