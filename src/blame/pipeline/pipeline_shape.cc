#include "pipeline_shape.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace skewscope::blame {
namespace {

constexpr double kMostMissing = 0.1;  // of what is counted: lost kernels, edges of the recording
constexpr double kMostApart = 0.3;    // of the work in front of messages, where it tells the number of stages
constexpr int32_t kMostVirtualStages = 16;

struct Sent {
  uint32_t from = 0, to = 0;            // traces
  uint32_t sent_row = 0, come_row = 0;  // of table.members

  auto operator<=>(const Sent&) const = default;
};

std::vector<Sent> all_messages(const ReplayPlan& plan, int32_t island) {
  const JobView& view = plan.view;
  std::vector<Sent> messages;
  const auto add = [&](uint32_t from, uint32_t to) {
    if (plan.island_of_row(from) != island || plan.island_of_row(to) != island) return;
    messages.push_back({static_cast<uint32_t>(view.ref(from).trace.index()),
                        static_cast<uint32_t>(view.ref(to).trace.index()), from, to});
  };
  for (const CollectiveInstance& i : view.table.instances) {
    const uint32_t first = i.first_member;
    if (i.kind == CollectiveKind::send && i.member_count == 2 && i.special >= 0) {
      const uint32_t sender = first + static_cast<uint32_t>(i.special);
      add(sender, 2 * first + 1 - sender);
    }
    if (i.kind == CollectiveKind::send_recv && i.member_count == 2) {
      add(first, first + 1);
      add(first + 1, first);
    }
    if (i.kind != CollectiveKind::coalesced) continue;
    for (uint32_t row = first; row < first + i.member_count; ++row) {
      for (const BatchLink& link : links_of(view.table, row)) {
        if (!link.receives) add(row, link.partner);
      }
    }
  }
  std::sort(messages.begin(), messages.end());
  return messages;
}

// Messages per trace whose other end is not there. Where steps were recorded, what was launched in front of them is cut
// off by the recording.
std::vector<int64_t> lone_messages(const JobView& view) {
  std::vector<int64_t> lone(view.job.traces.size(), 0);
  for (const UnmatchedCall& unmatched : view.table.unmatched) {
    const RankTrace& trace = view.job[unmatched.call.trace];
    const CollectiveCall& call = trace.calls[static_cast<size_t>(unmatched.call.call)];
    lone[unmatched.call.trace.index()] +=
        carries_messages(call.kind) && (call.step >= 0 || trace.steps.empty()) ? 1 : 0;
  }
  for (const CollectiveInstance& i : view.table.instances) {
    if (i.complete || !carries_messages(i.kind)) continue;
    for (uint32_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      if (i.kind != CollectiveKind::coalesced || !links_of(view.table, row).empty()) {
        ++lone[view.ref(row).trace.index()];
      }
    }
  }
  return lone;
}

// How many messages go from one trace to another.
class MessageCounts {
 public:
  MessageCounts(const std::vector<Sent>& messages, size_t traces) : neighbours_(traces) {
    for (const Sent& m : messages) {
      if (++counts_[{m.from, m.to}] > 1 || m.from == m.to) continue;
      if (counts_.contains({m.to, m.from})) continue;
      neighbours_[m.from].push_back(m.to);
      neighbours_[m.to].push_back(m.from);
    }
  }
  const std::vector<uint32_t>& neighbours(uint32_t trace) const { return neighbours_[trace]; }
  double of(uint32_t from, uint32_t to) const {
    const auto found = counts_.find({from, to});
    return found == counts_.end() ? 0 : static_cast<double>(found->second);
  }
  double both_ways(uint32_t a, uint32_t b) const { return of(a, b) + of(b, a); }

 private:
  std::map<std::pair<uint32_t, uint32_t>, int64_t> counts_;
  std::vector<std::vector<uint32_t>> neighbours_;
};

bool about(double value, double expected) { return std::abs(value - expected) <= kMostMissing * expected; }

// From `first` over neighbours not seen yet.
std::vector<uint32_t> walk(const MessageCounts& counts, uint32_t first, uint32_t next, std::vector<bool>& seen) {
  std::vector<uint32_t> way = {first};
  seen[first] = true;
  for (bool more = true; more;) {
    way.push_back(next);
    seen[next] = true;
    more = false;
    for (const uint32_t neighbour : counts.neighbours(way.back())) {
      if (seen[neighbour]) continue;
      next = neighbour;
      more = true;
    }
  }
  return way;
}

struct Chain {
  std::vector<uint32_t> traces;  // neighbours stand side by side
  bool circle = false;
};

// Groups of traces that messages join into a path or a circle. Where two neighbours of a trace were not seen yet,
// walk() takes the one with the higher number, at both ends of a circle's edge that is left out the same.
std::vector<Chain> chains_of(const MessageCounts& counts, size_t traces) {
  std::vector<Chain> chains;
  std::vector<bool> seen(traces, false);
  for (const bool ends : {true, false}) {
    for (uint32_t t = 0; t < traces; ++t) {
      const std::vector<uint32_t>& neighbours = counts.neighbours(t);
      if (seen[t] || neighbours.empty() || (ends && neighbours.size() != 1)) continue;
      Chain chain{walk(counts, t, neighbours.front(), seen), !ends};
      const auto degree = [&](uint32_t trace) { return counts.neighbours(trace).size(); };
      const bool line = std::all_of(chain.traces.begin(), chain.traces.end(), [&](uint32_t trace) {
        const bool end = trace == chain.traces.front() || trace == chain.traces.back();
        return degree(trace) == (end && ends ? 1U : 2U);
      });
      if (line) chains.push_back(std::move(chain));
    }
  }
  return chains;
}

// Turned so that the edge with the fewest messages joins the last to the first.
void open_circle(const MessageCounts& counts, Chain& chain) {
  std::vector<uint32_t>& way = chain.traces;
  size_t least = 0;
  const auto messages = [&](size_t k) { return counts.both_ways(way[k], way[(k + 1) % way.size()]); };
  for (size_t k = 1; k < way.size(); ++k) least = messages(k) < messages(least) ? k : least;
  std::rotate(way.begin(), way.begin() + static_cast<ptrdiff_t>((least + 1) % way.size()), way.end());
}

// Stages per rank; 0: the numbers are not those of a pipeline. Of two ranks: 1, not known yet.
int32_t virtual_stages_of(const MessageCounts& counts, const Chain& chain) {
  const std::vector<uint32_t>& way = chain.traces;
  const double wrap = chain.circle ? counts.both_ways(way.back(), way.front()) / 2 : 0;
  double inner = 0;
  for (size_t k = 0; k + 1 < way.size(); ++k) inner += counts.both_ways(way[k], way[k + 1]) / 2;
  inner /= static_cast<double>(way.size() - 1);
  for (size_t k = 0; k + 1 < way.size(); ++k) {
    if (!about(counts.of(way[k], way[k + 1]), inner) || !about(counts.of(way[k + 1], way[k]), inner)) return 0;
  }
  if (!chain.circle) return 1;
  const double each = inner - wrap;  // between each two stages of the model
  if (each <= 0) return 0;
  const double stages = inner / each;
  const double rounded = std::round(stages);
  if (rounded < 2 || rounded > kMostVirtualStages || std::abs(stages - rounded) > 0.25) return 0;
  const bool both = about(counts.of(way.back(), way.front()), wrap) && about(counts.of(way.front(), way.back()), wrap);
  return both ? static_cast<int32_t>(rounded) : 0;
}

LocalNs launched_at(const CollectiveCall& call) { return call.launched ? call.launch_start : call.start; }

// Events of each trace in the order of its program; of one batch what it sends comes first.
std::vector<std::vector<MessageEvent>> events_by_trace(const JobView& view, const std::vector<Sent>& messages) {
  std::vector<std::vector<MessageEvent>> events(view.job.traces.size());
  for (const Sent& m : messages) {
    events[m.from].push_back({m.sent_row, m.to, true});
    events[m.to].push_back({m.come_row, m.from, false});
  }
  const auto key = [&](const MessageEvent& event) {
    return std::make_tuple(launched_at(view.call(event.row)), event.row, !event.sends);
  };
  for (auto& of_trace : events) {
    std::sort(of_trace.begin(), of_trace.end(),
              [&](const MessageEvent& a, const MessageEvent& b) { return key(a) < key(b); });
  }
  return events;
}

// Whether a trace sends before anything has come, in most steps; nullopt: it does neither.
std::optional<bool> sends_first(const JobView& view, const std::vector<MessageEvent>& events) {
  struct First {
    LocalNs sent{INT64_MAX}, come{INT64_MAX};
  };
  std::map<int64_t, First> by_step;
  for (const MessageEvent& event : events) {
    const CollectiveCall& call = view.call(event.row);
    First& first = by_step[call.step];
    if (event.sends) {
      first.sent = std::min(first.sent, call.start);
    } else {
      first.come = std::min(first.come, call.end());
    }
  }
  int64_t votes = 0;
  for (const auto& [step, first] : by_step) votes += first.sent < first.come ? 1 : -1;
  if (votes == 0) return std::nullopt;
  return votes > 0;
}

// The first stage in front; false: its ends are none of a pipeline.
bool direct(const JobView& view, const std::vector<std::vector<MessageEvent>>& events, Chain& chain) {
  const std::optional<bool> front = sends_first(view, events[chain.traces.front()]);
  const std::optional<bool> back = sends_first(view, events[chain.traces.back()]);
  if (!front || !back || *front == *back) return false;
  if (*back) std::reverse(chain.traces.begin(), chain.traces.end());
  return true;
}

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

// ---- two ranks: how often a micro-batch passes them

// How many forward and backward passes a rank runs in front of each of its messages.
struct PassesBefore {
  double forward = 0, backward = 0;
};
std::vector<PassesBefore> passes_before_sends(const PipelinePlan& plan, int32_t rank) {
  std::vector<PassesBefore> before(1);
  for (const StagePass& pass : passes_of(plan, rank)) {
    (pass.backward ? before.back().backward : before.back().forward) += 1;
    const int32_t stage = pass.chunk * plan.ranks + rank;
    const bool sends = pass.backward ? stage > 0 : stage + 1 < plan.ranks * plan.virtual_stages;
    if (sends) before.emplace_back();
  }
  before.pop_back();
  return before;
}

// The part of the work that no F and B passes of equal lengths explain: least squares.
double unexplained(const std::vector<double>& work, const std::vector<PassesBefore>& passes) {
  if (work.size() != passes.size()) return 1;
  double ff = 0, fb = 0, bb = 0, fw = 0, bw = 0, ww = 0;
  for (size_t k = 0; k < work.size(); ++k) {
    ff += passes[k].forward * passes[k].forward;
    fb += passes[k].forward * passes[k].backward;
    bb += passes[k].backward * passes[k].backward;
    fw += passes[k].forward * work[k];
    bw += passes[k].backward * work[k];
    ww += work[k] * work[k];
  }
  if (ww <= 0) return 1;
  const double determinant = ff * bb - fb * fb;
  double f = 0, b = 0;
  if (determinant > 1e-9 * ff * bb) {
    f = (fw * bb - bw * fb) / determinant;
    b = (bw * ff - fw * fb) / determinant;
  } else if (ff > 0) {  // always together
    f = fw / ff;
  }
  if (f < 0 || b < 0) return 1;
  double rest = 0;
  for (size_t k = 0; k < work.size(); ++k) {
    const double own = work[k] - f * passes[k].forward - b * passes[k].backward;
    rest += own * own;
  }
  return std::sqrt(rest / ww);
}

// Work in front of each message that a rank sends, the mean over its rounds.
std::vector<double> work_before_sends(const ReplayPlan& plan, const PipelineRank& rank) {
  const RankLine& line = plan.lines[rank.trace.index()];
  std::vector<double> until(1, 0);  // by fork
  for (const Fork& fork : line.forks) until.push_back(until.back() + static_cast<double>(fork.work_ns));
  const auto work_at = [&](const MessageEvent& event) {
    return until[static_cast<size_t>(plan.fork_of_row[event.row]) + 1];
  };
  std::vector<double> work;
  for (const MessageRound& round : rank.rounds) {
    double at = work_at(rank.events[round.first]);
    size_t k = 0;
    for (size_t e = round.first; e < round.end; ++e) {
      if (!rank.events[e].sends) continue;
      if (work.size() == k) work.push_back(0);
      work[k++] += std::max(0.0, work_at(rank.events[e]) - at);
      at = std::max(at, work_at(rank.events[e]));
    }
  }
  return work;
}

// `sends`: of either rank between two flushes.
PipelinePlan plan_of_two(const ReplayPlan& plan, const PipelineRank& last, int32_t sends) {
  const std::vector<double> work = work_before_sends(plan, last);
  // Where all micro-batches are under way at once, an interleaved schedule runs them forward first.
  const auto rest_of = [&](PipelinePlan candidate) {
    const double in_turn = unexplained(work, passes_before_sends(candidate, 1));
    candidate.schedule = PipelineSchedule::gpipe;
    return std::min(in_turn, unexplained(work, passes_before_sends(candidate, 1)));
  };
  PipelinePlan best{2, sends, 1, PipelineSchedule::one_f_one_b};
  double rest = std::min(kMostApart, rest_of(best) / 2);
  for (int32_t v = 2; v <= kMostVirtualStages && 2 * v - 1 <= sends; ++v) {
    if (sends % (2 * v - 1) != 0) continue;
    const PipelinePlan candidate{2, sends / (2 * v - 1), v, PipelineSchedule::interleaved};
    const double own = rest_of(candidate);
    if (own >= rest) continue;
    best = candidate;
    rest = own;
  }
  return best;
}

// ---- the whole

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
    const MessageCounts counts(messages_, view_.job.traces.size());
    const std::vector<int64_t> lone = lone_messages(view_);
    std::map<std::pair<size_t, int32_t>, std::vector<Chain>> chains;  // by ranks and stages per rank
    size_t ranks = 0;
    for (const auto& of_trace : events_) ranks += of_trace.empty() ? 0 : 1;
    for (Chain& chain : chains_of(counts, view_.job.traces.size())) {
      const bool whole = std::none_of(chain.traces.begin(), chain.traces.end(), [&](uint32_t trace) {
        return static_cast<double>(lone[trace]) > kMostMissing * static_cast<double>(events_[trace].size());
      });
      if (chain.circle) open_circle(counts, chain);
      const int32_t virtual_stages = whole ? virtual_stages_of(counts, chain) : 0;
      if (virtual_stages == 0 || !direct(view_, events_, chain)) continue;
      chains[{chain.traces.size(), virtual_stages}].push_back(std::move(chain));
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
    // Of two ranks, what comes back may be on its way to the next stage.
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
    for (const Sent& m : messages_) {
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
  std::vector<Sent> messages_;
  std::vector<std::vector<MessageEvent>> events_;  // by trace
  PipelineShape shape_;
};

}  // namespace

std::optional<PipelineShape> pipeline_shape(const ReplayPlan& plan, int32_t island) {
  return ShapeFinder(plan, island).find();
}

}  // namespace skewscope::blame
