#include "programs.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace skewscope::blame {
namespace {

// The shape of a group: size, distance between its first members, and which of the rank's groups of that shape it is
// (names tell groups apart, and differ between ranks that do the same).
using Shape = std::tuple<int32_t, int32_t, int32_t>;

constexpr size_t kMostCompared = 64;  // programs, each with each

// What a call is in its program: operation, shape of the group, role.
using Word = std::tuple<int32_t, Shape, int32_t>;

// Position of a rank in its group, plus one; 0: not known.
int32_t position(const Communicator& group, Rank rank) {
  const auto at = std::lower_bound(group.members.begin(), group.members.end(), rank);
  return at == group.members.end() || *at != rank ? 0 : static_cast<int32_t>(at - group.members.begin()) + 1;
}

// Shapes of all groups, as each of their members sees them.
std::map<std::pair<CommunicatorId, Rank>, Shape> shapes_of(const CommunicatorTable& table) {
  std::map<std::pair<CommunicatorId, Rank>, Shape> shapes;
  std::map<std::tuple<Rank, int32_t, int32_t>, int32_t> next;
  for (size_t c = 0; c < table.size(); ++c) {
    const CommunicatorId id(static_cast<int64_t>(c));
    const Communicator& group = table[id];
    const int32_t distance = group.members.size() < 2 ? 0 : group.members[1].value - group.members[0].value;
    for (const Rank rank : group.members) {
      shapes[{id, rank}] = Shape(group.size, distance, next[{rank, group.size, distance}]++);
    }
  }
  return shapes;
}

class Vocabulary {
 public:
  explicit Vocabulary(const JobView& view) : view_(view), shapes_(shapes_of(view.table.communicators)) {}

  int32_t number_of(size_t row) {
    const CollectiveInstance& i = view_.instance(static_cast<size_t>(view_.instance_of_row[row]));
    const CollectiveCall& call = view_.call(row);
    const Rank own = view_.job[view_.ref(row).trace].rank;
    const auto shape = shapes_.find({i.communicator, own});
    int32_t role = call.root.known() && call.root == own ? 1 : 0;
    if (i.communicator.known() && is_point_to_point(call.kind)) {
      const Communicator& group = view_.table.communicators[i.communicator];
      role = position(group, own) * 65'536 + position(group, call.peer);
    }
    const Word word(static_cast<int32_t>(call.kind), shape == shapes_.end() ? Shape() : shape->second, role);
    return numbers_.emplace(word, static_cast<int32_t>(numbers_.size())).first->second;
  }

 private:
  const JobView& view_;
  std::map<std::pair<CommunicatorId, Rank>, Shape> shapes_;
  std::map<Word, int32_t> numbers_;
};

int64_t step_of(const JobView& view, size_t id) {
  const CollectiveInstance& i = view.instance(id);
  int64_t step = -1;
  for (size_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
    step = std::max(step, view.call(row).step);
  }
  return step;
}

// Per row of the members: the number of its instance among those of its group, session, step, operation and pair; of a
// batch, whose members do not all do the same, that of the call among its trace's.
std::vector<int32_t> numbers_in_step(const JobView& view, const std::vector<int32_t>& words,
                                     const std::vector<int64_t>& steps) {
  std::map<std::tuple<int32_t, CommunicatorId, int64_t, int32_t>, int32_t> next;
  std::map<std::tuple<TraceIndex, CommunicatorId, int64_t, int32_t>, int32_t> next_of_trace;
  std::vector<int32_t> numbers;
  for (size_t id = 0; id < steps.size(); ++id) {
    const CollectiveInstance& i = view.instance(id);
    if (i.kind != CollectiveKind::coalesced) {
      const int32_t number = next[{i.session.value, i.communicator, steps[id], words[i.first_member]}]++;
      numbers.insert(numbers.end(), i.member_count, number);
      continue;
    }
    for (size_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      numbers.push_back(next_of_trace[{view.ref(row).trace, i.communicator, steps[id], words[row]}]++);
    }
  }
  return numbers;
}

void number_programs(ReplayPlan& plan, const std::vector<int32_t>& words) {
  std::vector<std::set<int32_t>> used(plan.lines.size());
  for (size_t row = 0; row < words.size(); ++row) used[plan.view.ref(row).trace.index()].insert(words[row]);
  using Peers = std::pair<int32_t, int32_t>;  // session and island
  const auto peers_of = [&](size_t t) { return Peers(plan.view.job.traces[t].session.value, plan.island_of_trace[t]); };
  std::map<std::pair<Peers, std::set<int32_t>>, int32_t> numbers;
  for (size_t t = 0; t < used.size(); ++t) {
    const auto next = static_cast<int32_t>(numbers.size());
    plan.program.push_back(numbers.emplace(std::make_pair(peers_of(t), used[t]), next).first->second);
  }
  plan.lost_part.assign(used.size(), false);
  for (size_t t = 0; t < used.size() && numbers.size() <= kMostCompared; ++t) {
    for (const auto& [program, number] : numbers) {
      const bool other = number != plan.program[t] && program.first == peers_of(t);
      if (other && std::includes(program.second.begin(), program.second.end(), used[t].begin(), used[t].end())) {
        plan.lost_part[t] = true;
      }
    }
  }
}

}  // namespace

void find_places(ReplayPlan& plan) {
  const JobView& view = plan.view;
  Vocabulary vocabulary(view);
  std::vector<int32_t> words;
  for (size_t row = 0; row < view.table.members.size(); ++row) words.push_back(vocabulary.number_of(row));
  number_programs(plan, words);
  std::vector<int64_t> steps(view.table.instances.size());
  tbb::parallel_for(size_t{0}, steps.size(), [&](size_t id) { steps[id] = step_of(view, id); });
  const std::vector<int32_t> numbers = numbers_in_step(view, words, steps);

  // Rows sorted by place: program, step, word, number.
  std::vector<int32_t> order(words.size());
  for (size_t row = 0; row < order.size(); ++row) order[row] = static_cast<int32_t>(row);
  const auto key = [&](int32_t row) {
    const auto r = static_cast<size_t>(row);
    const auto id = static_cast<size_t>(view.instance_of_row[r]);
    return std::make_tuple(plan.program[view.ref(r).trace.index()], steps[id], words[r], numbers[r]);
  };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return key(a) < key(b); });
  plan.paces.place_of_row.assign(words.size(), -1);
  for (size_t low = 0, high = 0; low < order.size(); low = high) {
    while (high < order.size() && key(order[high]) == key(order[low])) ++high;
    const auto trace_of = [&](size_t k) { return view.ref(static_cast<size_t>(order[k])).trace; };
    size_t others = low + 1;  // a rank is no peer of itself
    while (others < high && trace_of(others) == trace_of(low)) ++others;
    if (others == high) continue;
    for (size_t k = low; k < high; ++k) {
      plan.paces.place_of_row[static_cast<size_t>(order[k])] = static_cast<int32_t>(plan.places.size());
    }
    plan.places.push_back({std::vector<int32_t>(order.begin() + static_cast<ptrdiff_t>(low),
                                                order.begin() + static_cast<ptrdiff_t>(high))});
  }
}

}  // namespace skewscope::blame
