#include "pipeline_shape.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "chains.h"
#include "two_ranks.h"

namespace skewscope::blame {
namespace {

// How many messages a first stage sends to the second until all have come back, before it sends more: what is posted
// ahead has not come. Steps end what a lost message leaves open.
std::vector<size_t> flushes_of(const JobView& view, const PipelineRank& first, TraceIndex second) {
  std::vector<MessageEvent> events;
  for (const MessageEvent& event : first.events) {
    if (event.peer == second.index()) events.push_back(event);
  }
  const auto call = [&](size_t e) -> const CollectiveCall& { return view.call(events[e].row); };
  std::vector<size_t> flushes;
  int64_t away = 0;
  size_t sent = 0;
  LocalNs come{INT64_MIN};
  for (size_t e = 0; e < events.size(); ++e) {
    if (e > 0 && call(e).step != call(e - 1).step) away = 0;
    if (away == 0) sent = 0;
    away += events[e].sends ? 1 : -1;
    sent += events[e].sends ? 1 : 0;
    if (!events[e].sends) come = std::max(come, call(e).end());
    const bool last = e + 1 == events.size() || call(e + 1).start >= come;
    if (away == 0 && last) flushes.push_back(sent);
    away = std::max<int64_t>(away, 0);
  }
  return flushes;
}

// Most frequent of the numbers; 0: none is half of them.
size_t usual(const std::map<size_t, size_t>& times) {
  size_t all = 0;
  for (const auto& [number, count] : times) all += count;
  for (const auto& [number, count] : times) {
    if (2 * count > all) return number;
  }
  return 0;
}

// The rounds of a rank that hold `length` events, in steps that hold nothing else; without steps, one behind the other.
std::vector<MessageRound> whole_rounds(const JobView& view, const PipelineRank& rank, size_t length) {
  std::vector<MessageRound> rounds;
  const bool in_steps = !view.job[rank.trace].steps.empty();
  const std::vector<MessageEvent>& events = rank.events;
  const auto step_of = [&](size_t e) { return view.call(events[e].row).step; };
  for (size_t first = 0, end = 0; first < events.size(); first = end) {
    while (end < events.size() && (!in_steps || step_of(end) == step_of(first))) ++end;
    if (in_steps && (step_of(first) < 0 || (end - first) % length != 0)) continue;
    for (size_t e = first; e + length <= end; e += length) rounds.push_back({e, e + length});
  }
  return rounds;
}

class ShapeFinder {
 public:
  ShapeFinder(const ReplayPlan& plan, int32_t island)
      : plan_(plan), view_(plan.view), messages_(all_messages(plan, island)) {}

  std::optional<PipelineShape> find() {
    if (messages_.empty()) return std::nullopt;
    events_ = events_by_trace(view_, messages_);
    if (!find_chains()) return std::nullopt;
    const int32_t sends = sends_to_second(), v = shape_.plan.virtual_stages;
    if (sends == 0 || sends % v != 0) return std::nullopt;
    shape_.plan.micro_batches = sends / v;
    set_rounds();
    if (shape_.plan.ranks == 2) shape_.plan = most_plans_of_two(sends);
    if (is_gpipe()) shape_.plan.schedule = PipelineSchedule::gpipe;
    return std::move(shape_);
  }

 private:
  // Those that most ranks which send or receive are in, of equal size; false: there are none.
  bool find_chains() {
    std::map<std::pair<size_t, int32_t>, std::vector<Chain>> chains;  // by ranks and stages per rank
    size_t ranks = 0;
    for (const auto& of_trace : events_) ranks += of_trace.empty() ? 0 : 1;
    for (Chain& chain : pipeline_chains(view_, messages_, events_, lone_messages(view_))) {
      chains[{chain.traces.size(), chain.virtual_stages}].push_back(std::move(chain));
    }
    for (const auto& [shape, of_shape] : chains) {
      if (2 * shape.first * of_shape.size() <= ranks) continue;
      shape_.plan.ranks = static_cast<int32_t>(shape.first);
      shape_.plan.virtual_stages = shape.second;
      if (shape.second > 1) shape_.plan.schedule = PipelineSchedule::interleaved;
      add(of_shape);
    }
    return !shape_.pipelines.empty();
  }

  void add(const std::vector<Chain>& chains) {
    for (const Chain& chain : chains) {
      shape_.pipelines.emplace_back();
      for (const uint32_t trace : chain.traces) {
        shape_.pipelines.back().push_back({TraceIndex(int64_t{trace}), std::move(events_[trace]), {}, 0});
      }
    }
  }

  // Between two flushes: by flushes where they part the steps, else by steps. 0: not clear.
  int32_t sends_to_second() const {
    std::map<size_t, size_t> lengths;
    for (const auto& pipeline : shape_.pipelines) {
      for (const size_t sent : flushes_of(view_, pipeline[0], pipeline[1].trace)) ++lengths[sent];
    }
    const size_t by_flush = usual(lengths), by_step = usual(messages_by_step());
    // What comes back to the first of two ranks may be on its way to the next stage.
    const bool parted = shape_.plan.ranks > 2 && by_flush > 0 && by_step % by_flush == 0;
    return static_cast<int32_t>(by_step == 0 || parted ? by_flush : by_step);
  }

  // How often which number of messages goes from a rank to its neighbour within a step; around the circle are fewer.
  std::map<size_t, size_t> messages_by_step() const {
    std::map<std::tuple<uint32_t, uint32_t, int64_t>, size_t> counts;
    std::vector<std::pair<size_t, int64_t>> place(view_.job.traces.size(), {0, -1});
    for (size_t p = 0; p < shape_.pipelines.size(); ++p) {
      for (size_t k = 0; k < shape_.pipelines[p].size(); ++k) {
        place[shape_.pipelines[p][k].trace.index()] = {p, static_cast<int64_t>(k)};
      }
    }
    for (const Message& m : messages_) {
      const auto &from = place[m.from], &to = place[m.to];
      const int64_t step = view_.call(m.sent_row).step;
      const bool inner = from.second >= 0 && from.first == to.first && std::abs(from.second - to.second) == 1;
      if (inner && step >= 0) ++counts[{m.from, m.to, step}];
    }
    std::map<size_t, size_t> times;
    for (const auto& [edge, count] : counts) ++times[count];
    return times;
  }

  void set_rounds() {
    const PipelinePlan& plan = shape_.plan;
    const auto passes = static_cast<size_t>(plan.micro_batches);
    const auto v = static_cast<size_t>(plan.virtual_stages);
    for (auto& pipeline : shape_.pipelines) {
      for (size_t k = 0; k < pipeline.size(); ++k) {
        const bool end = k == 0 || k + 1 == pipeline.size();
        const size_t length = 2 * (end ? 2 * v - 1 : 2 * v) * passes;
        pipeline[k].rounds = whole_rounds(view_, pipeline[k], length);
        pipeline[k].flushes = static_cast<double>(pipeline[k].events.size()) / static_cast<double>(length);
      }
    }
  }

  PipelinePlan most_plans_of_two(int32_t sends) const {
    std::map<int32_t, size_t> times;  // by stages per rank
    PipelinePlan most = shape_.plan;
    for (const auto& pipeline : shape_.pipelines) {
      if (pipeline.back().rounds.empty()) continue;
      const PipelinePlan plan = plan_of_two(plan_, pipeline.back(), sends);
      if (++times[plan.virtual_stages] > times[most.virtual_stages]) most = plan;
    }
    return most;
  }

  // Whether last ranks have all micro-batches before they hand the first back.
  bool is_gpipe() const {
    if (shape_.plan.virtual_stages > 1 || shape_.plan.micro_batches < 2) return false;
    int64_t votes = 0;
    for (const auto& pipeline : shape_.pipelines) {
      for (const MessageRound& round : pipeline.back().rounds) {
        int32_t come = 0;
        const std::vector<MessageEvent>& events = pipeline.back().events;
        for (size_t e = round.first; e < round.end && !events[e].sends; ++e) ++come;
        votes += come == shape_.plan.micro_batches ? 1 : -1;
      }
    }
    return votes > 0;
  }

  const ReplayPlan& plan_;
  const JobView& view_;
  std::vector<Message> messages_;
  std::vector<std::vector<MessageEvent>> events_;  // by trace
  PipelineShape shape_;
};

}  // namespace

std::optional<PipelineShape> pipeline_shape(const ReplayPlan& plan, int32_t island) {
  return ShapeFinder(plan, island).find();
}

}  // namespace skewscope::blame
