// Problem: waiting is often the largest number and seldom the largest gain. Nine tenths of the time may be waiting that
// no repair of one rank takes away, while transfers that nothing hides, or launches that come late, could be mended.
// Idea: each loss is given as what the job would gain without it, as a share of the job's length, and says whether that
// is the gain itself, at least, or at most so much:
//   straggler        replayed with the rank as fast as its peers; not replayed, at most the exposed wait it causes
//   together, stages the same of several ranks, and of stages of even length
//   pipeline bubble  at most what twice the micro-batches gain; where uneven stages make most of it, what they add
//   late in turn     replayed with every rank as fast as its peers, where that is far more than any one gains
//   slow links       at most the exposed transfer beyond what groups alike take (slow_groups.h)
//   exposed transfer at most what a network that takes no time gains; not replayed, the exposed transfer
//   launch-bound     at most the time in which GPUs idled until a launch arrived
//   exposed copies   at most their time
//   waiting          at most the exposed wait, where nobody can be named and the job was not replayed
// A bound counts half against a gain: the most that can be won is seldom won. Less than 2 % is not listed.
// A rank is named when its replay is far shorter, or it causes a fifth of all wait, beyond what its program takes, and
// half as much again as an equal share; it is a probable straggler unless its replay confirms it.
#include "losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "all_to_all_rows.h"
#include "cause_words.h"
#include "pipeline_words.h"
#include "skewscope/base/human_units.h"
#include "slow_groups.h"

namespace skewscope::report {
namespace {

constexpr double kStandsOutWait = 0.2, kStandsOutFair = 1.5;
constexpr double kFarMore = 1.5;              // all ranks' lateness against the worst one's
constexpr int64_t kSmallMessage = 256 << 10;  // bytes: below, latency outweighs bandwidth on any link of today
constexpr double kSlowForItsLink = 0.5;       // of the link's peak

// Waiting that a rank causes beyond what its program takes.
int64_t own_wait_ns(const JobReport& report, const JobReport::Straggler& s) {
  const auto program = std::find_if(report.causes.begin(), report.causes.end(), [&](const JobReport::CauseRow& row) {
    return row.rank == s.rank && row.cause == LateCause::program;
  });
  return s.wait_originated_ns - (program == report.causes.end() ? 0 : program->wait_originated_ns);
}

bool stands_out(const JobReport& report, const JobReport::Straggler& s, int64_t all_wait_ns) {
  if (s.standing == Standing::cause) return true;
  const double fair = kStandsOutFair / static_cast<double>(std::max<size_t>(report.ranks.size(), 1));
  const double least = std::max(kStandsOutWait, fair);
  if (share(s.wait_originated_ns, all_wait_ns).value_or(0) < least) return false;  // nearly all: their own is no more
  return share(own_wait_ns(report, s), all_wait_ns).value_or(0) >= least;
}

// The node that all of these ranks run on, and no other does; "" where there is none.
std::string own_node(const JobReport& report, const std::vector<int32_t>& ranks) {
  std::string node;
  for (const JobReport::RankRow& row : report.ranks) {
    if (!std::binary_search(ranks.begin(), ranks.end(), row.rank)) continue;
    if (row.host.empty() || (!node.empty() && row.host != node)) return "";
    node = row.host;
  }
  const auto on_node = std::count_if(report.ranks.begin(), report.ranks.end(),
                                     [&](const JobReport::RankRow& row) { return row.host == node; });
  return on_node == std::ssize(ranks) ? node : "";
}

// Without GPU rows the windows represent the time of the ranks, over all sessions.
int64_t recorded_ns(const JobReport& report) {
  int64_t ns = 0;
  for (const JobReport::Component& one : report.components) ns += std::ssize(one.ranks) * one.window_ns;
  return ns > 0 ? ns : std::ssize(report.ranks) * report.job.window_ns;
}

// Of all calls that logs hold: where these are long, they are a sample, and what they take is a part of that time.
double kept_part(const JobReport& report) {
  int64_t left_out = 0;
  for (const Finding& finding : report.diagnostics) left_out += finding.code == "log-thinned" ? finding.count : 0;
  return share(report.matching.calls, report.matching.calls + left_out).value_or(1);
}

class LossList {
  using Loss = JobReport::Loss;

 public:
  LossList(const JobReport& report, const Figures& f) : report_(report), f_(f) {
    const auto ranks = std::ssize(report.ranks);
    calls_alone_ = has_calls_alone(report);
    all_ranks_ns_ = f.total_ns > 0 ? f.total_ns : recorded_ns(report);
    const int64_t replayed_ns = report.what_if.replayed_ns;
    length_ns_ = replayed_ns > 0 ? replayed_ns : ranks == 0 ? 0 : all_ranks_ns_ / ranks;
    if (calls_alone_) all_ranks_ns_ = static_cast<int64_t>(static_cast<double>(all_ranks_ns_) * kept_part(report));
  }

  std::vector<Loss> found() {
    if (!nothing_complete(report_)) {
      add_stragglers();
      add_together();
      add_late_in_turn();
      add_long_stage();
      add_bubble();
      add_slow_links();
      add_waiting();
    }
    add_exposed_transfer();
    add_launch_bound();
    add_exposed_copies();
    std::stable_sort(losses_.begin(), losses_.end(),
                     [](const Loss& a, const Loss& b) { return a.weight() > b.weight(); });
    return std::move(losses_);
  }

 private:
  void add(LossKind kind, double gain, GainBound bound, std::vector<int32_t> ranks, std::string name, std::string why,
           std::string next) {
    if (gain < kWorthHeadline) return;
    const auto gain_ns = static_cast<int64_t>(gain * static_cast<double>(length_ns_));
    if (calls_alone_) next = record_next(report_, ranks);
    losses_.push_back({kind, std::move(ranks), gain_ns, gain, bound, std::move(name), std::move(why), std::move(next)});
  }
  void add_most(LossKind kind, double gain, std::string name, std::string why, std::string next) {
    add(kind, gain, GainBound::at_most, {}, std::move(name), std::move(why), std::move(next));
  }

  bool replayed() const { return report_.what_if.replayed_ns > 0; }
  double saved_part(int64_t saved_ns) const { return share(saved_ns, report_.what_if.replayed_ns).value_or(0); }
  // What replays say: where peers are held up themselves, at least that.
  GainBound replay_bound() const { return report_.what_if.saved_at_least ? GainBound::at_least : GainBound::exact; }
  double part_of_time(int64_t ns) const { return share(ns, all_ranks_ns_).value_or(0); }
  // Of calls that overlap, as gloo's threads run them, each nanosecond counts once: no rank waits longer than it runs.
  int64_t exposed_wait_ns() const { return f_.exposed_wait_ns; }
  double largest_gain() const {
    double largest = 0;
    for (const Loss& loss : losses_) largest = std::max(largest, loss.gain_share);
    return largest;
  }

  // That a rank which computes longer than others is given more to compute; "": it is not.
  std::string receives_more(const JobReport::Straggler& s) const {
    const bool computes_longer = s.cause == LateCause::slower_kernels || s.cause == LateCause::other_kernels ||
                                 s.cause == LateCause::other_shapes;
    return computes_longer ? receiving_words(report_, s.rank) : "";
  }

  std::string straggler_next(const JobReport::Straggler& s) const {
    if (!receives_more(s).empty()) {
      return fmt::format("Even out the tokens of the experts on rank {}: capacity, balancing loss, placement.", s.rank);
    }
    const CauseWords* words = wording_of(s.cause);
    return words == nullptr ? fmt::format("Look at what rank {} does ahead of its collectives.", s.rank)
                            : fmt::format(fmt::runtime(words->next), fmt::format("rank {}'s", s.rank));
  }

  std::string straggler_words(const JobReport::Straggler& s) const {
    std::string text =
        fmt::format("Rank {}{} causes {} of all waiting", s.rank, s.standing == Standing::cause ? "" : " probably",
                    spoken_percent(share(s.wait_originated_ns, f_.wait_ns).value_or(0)));
    // Against peers of which some are missing, a victim may look as if it did other things.
    const bool sure = s.standing == Standing::cause || report_.job.ranks_missing.empty();
    const CauseWords* words = sure ? wording_of(s.cause) : nullptr;
    const std::string receives = receives_more(s);
    if (words != nullptr && !receives.empty()) {
      text += fmt::format(": it {}.", receives);
    } else {
      text += words == nullptr ? "." : fmt::format(": {}.", words->because);
    }
    if (s.standing == Standing::cause) text += " A simulation of the job confirms it.";
    return text;
  }

  void add_straggler(const JobReport::Straggler& s) {
    const bool known = replayed() && s.standing.has_value();
    const double began = share(own_wait_ns(report_, s), f_.wait_ns).value_or(0);
    const double gain = known ? saved_part(s.saved_ns) : began * part_of_time(exposed_wait_ns());
    add(LossKind::straggler, gain, known ? replay_bound() : GainBound::at_most, {s.rank},
        fmt::format("rank {}", s.rank), straggler_words(s), straggler_next(s));
  }

  void add_stragglers() {
    const bool anybody_last = std::any_of(report_.stragglers.begin(), report_.stragglers.end(),
                                          [](const auto& s) { return s.late_count > 0; });
    for (const JobReport::Straggler& s : report_.stragglers) {
      if (s.standing == Standing::cause || (anybody_last && stands_out(report_, s, f_.wait_ns))) add_straggler(s);
    }
  }

  void add_together() {
    const JobReport::WhatIf& w = report_.what_if;
    if (w.together.empty()) return;
    int64_t began_ns = 0;
    std::optional<LateCause> cause;
    bool one_cause = true;
    for (const JobReport::Straggler& s : report_.stragglers) {
      if (!std::binary_search(w.together.begin(), w.together.end(), s.rank)) continue;
      one_cause = one_cause && (began_ns == 0 || s.cause == cause);
      cause = s.cause;
      began_ns += s.wait_originated_ns;
    }
    const CauseWords* words = one_cause ? wording_of(cause) : nullptr;
    const std::string node = own_node(report_, w.together);
    const double gain = saved_part(w.together_saved_ns);
    add(LossKind::stragglers_together, gain, replay_bound(), w.together,
        fmt::format("ranks {}", human_ranks(w.together)),
        fmt::format("Ranks {} together cause {} of all waiting{}. A simulation of the job confirms it.",
                    human_ranks(w.together), spoken_percent(share(began_ns, f_.wait_ns).value_or(0)),
                    words == nullptr ? "" : fmt::format(": {}", words->because_of)),
        node.empty() ? "Look at what these ranks share: input, part of the model, place in the network."
                     : fmt::format("These are the ranks of {}: look at its cooling, power, input and load.", node));
  }

  void add_late_in_turn() {
    const JobReport::WhatIf& w = report_.what_if;
    if (!replayed() || w.balanced_ns < 0 || report_.stragglers.empty()) return;
    const double gain = saved_part(w.replayed_ns - w.balanced_ns);
    if (gain <= kFarMore * largest_gain()) return;
    const CauseWords* words = wording_of(report_.stragglers.front().cause);
    add(LossKind::late_in_turn, gain, replay_bound(), {}, "alternating stragglers",
        fmt::format("Different ranks are late at different times; {}.", most_words(report_, f_)),
        words == nullptr || words->cause == LateCause::program
            ? "See tables/causes.csv: what each rank did for longer than its peers."
            : fmt::format(fmt::runtime(words->next), "each rank's"));
  }

  // What a stage works in a step, the others, and each of them where it is divided evenly.
  std::string stage_words(const JobReport::WhatIf::Program& longest) const {
    const JobReport::WhatIf& w = report_.what_if;
    int64_t all_ns = 0, others_ns = 0, ranks = 0;
    for (const JobReport::WhatIf::Program& program : w.programs) {
      all_ns += program.work_ns * std::ssize(program.ranks);
      ranks += std::ssize(program.ranks);
      if (&program != &longest) others_ns = std::max(others_ns, program.work_ns);
    }
    const auto in_step = [&](int64_t ns) { return human_duration(ns / std::max<int64_t>(1, w.steps)); };
    const bool is_one = longest.ranks.size() == 1;
    return fmt::format(
        "Rank{} {} run{} the longest part of the program: {} of work{}, against at most {} elsewhere and {} if work "
        "were "
        "evenly divided.",
        is_one ? "" : "s", human_ranks(longest.ranks), is_one ? "s" : "", in_step(longest.work_ns),
        w.steps > 0 ? " a step" : "", in_step(others_ns), in_step(all_ns / std::max<int64_t>(1, ranks)));
  }

  void add_long_stage() {
    const auto& programs = report_.what_if.programs;
    const auto longest = std::max_element(programs.begin(), programs.end(),
                                          [](const auto& a, const auto& b) { return a.saved_ns < b.saved_ns; });
    if (longest == programs.end()) return;
    add(LossKind::long_stage, saved_part(longest->saved_ns),
        longest->saved_at_least ? GainBound::at_least : GainBound::exact, longest->ranks,
        fmt::format("the long stage of ranks {}", human_ranks(longest->ranks)), stage_words(*longest),
        "Move work from this stage to the others.");
  }

  // Where the schedule and uneven stages make most of it: late ranks are losses of their own.
  void add_bubble() {
    const std::optional<PipelineWords> words = pipeline_words(report_);
    if (!words || 2 * words->explained < words->share) return;
    const double gain = share(words->gain_ns, length_ns_).value_or(0);
    const bool told = std::any_of(losses_.begin(), losses_.end(), [&](const Loss& loss) {
      return loss.kind == LossKind::long_stage && words->balance && 2 * loss.gain_share >= gain;
    });
    if (!told) add_most(LossKind::pipeline_bubble, gain, "pipeline bubble", words->sentence, words->next);
  }

  void add_slow_links() {
    const std::vector<SlowGroup> slow = slow_groups(report_);
    if (slow.empty() || report_.ranks.empty()) return;
    const SlowGroup& most = slow.front();
    const double lost = share(most.excess_ns, f_.total_ns / std::ssize(report_.ranks)).value_or(0);
    const std::string ranks = human_ranks(most.group->ranks);
    add(LossKind::slow_links, lost, GainBound::at_most, most.group->ranks, fmt::format("the links of ranks {}", ranks),
        fmt::format("Group {} (ranks {}) moves {} GB/s where similar groups move {}: that costs up to {} of GPU "
                    "time.",
                    most.group->id, ranks, human_number(most.gb_per_s), human_number(most.peers_gb_per_s),
                    human_percent(lost)),
        fmt::format("Check the links of ranks {}: NICs, cables, routes, other traffic.", ranks));
  }

  void add_waiting() {
    const bool named = std::any_of(losses_.begin(), losses_.end(), [](const Loss& l) { return !l.ranks.empty(); });
    if (named || report_.stragglers.empty() || (replayed() && report_.what_if.balanced_ns >= 0)) return;
    const bool program = report_.stragglers.front().cause == LateCause::program;
    add_most(LossKind::waiting, part_of_time(exposed_wait_ns()), "waiting",
             fmt::format("No rank is a clear straggler; {}.", most_words(report_, f_)),
             program ? wording_of(LateCause::program)->next
                     : "See tables/causes.csv: what each rank did for longer than its peers.");
  }

  // The operation of one kind of group whose transfer is exposed most.
  struct Exposed {
    const JobReport::CollectiveRow* most = nullptr;  // its row with the most
    int64_t ns = 0;
  };
  Exposed most_exposed() const {
    std::map<std::pair<std::string, int64_t>, Exposed> by_operation;
    Exposed most;
    for (const JobReport::CollectiveRow& row : report_.collectives) {
      Exposed& e = by_operation[{to_string(row.op), row.bytes}];
      if (e.most == nullptr || row.exposed_transfer_ns > e.most->exposed_transfer_ns) e.most = &row;
      e.ns += row.exposed_transfer_ns;
      if (e.ns > most.ns) most = e;
    }
    return most;
  }

  std::string transfer_advice(const JobReport::CollectiveRow& row) const {
    if (row.bytes > 0 && row.bytes <= kSmallMessage) {
      return "Messages are small: send fewer, larger ones (buckets, fusion), or overlap them with computing.";
    }
    const auto group = std::find_if(report_.communicators.begin(), report_.communicators.end(),
                                    [&](const auto& c) { return c.id == row.communicator; });
    const double bus = row.bus_bandwidth_gb_per_s.median;
    if (group != report_.communicators.end() && group->link_peak_gb_per_s > 0 && row.bus_bandwidth_gb_per_s.count > 0 &&
        bus < kSlowForItsLink * group->link_peak_gb_per_s) {
      return fmt::format(
          "It moves {} GB/s on a link of {} GB/s: check routes and NCCL's settings, and overlap it with computing.",
          human_number(bus), human_number(group->link_peak_gb_per_s));
    }
    return fmt::format("Overlap {} with computing (prefetch, buckets), move fewer bytes, or use faster links.",
                       to_string(row.op));
  }

  void add_exposed_transfer() {
    const int64_t exposed_ns = f_.exposed_transfer_ns;
    const double taken = part_of_time(exposed_ns);
    const JobReport::WhatIf& w = report_.what_if;
    const double gain = replayed() && w.no_transfer_ns >= 0 ? saved_part(w.replayed_ns - w.no_transfer_ns) : taken;
    const Exposed most = most_exposed();
    // Nobody knows what a CPU job computes meanwhile.
    std::string why = f_.total_ns > 0 ? fmt::format("Exposed transfer takes {} of GPU time", spoken_percent(taken))
                                      : fmt::format("Transfer takes {} of the time", spoken_percent(taken));
    if (most.most != nullptr && most.ns > 0) {
      const std::string size = most.most->bytes > 0 ? fmt::format(" of {}", human_bytes(most.most->bytes)) : "";
      why += fmt::format("; {}{} makes up {} of that", to_string(most.most->op), size,
                         spoken_percent(share(std::min(most.ns, exposed_ns), exposed_ns).value_or(0)));
    }
    const bool known = most.most != nullptr && most.ns > 0;
    add_most(LossKind::exposed_transfer, gain, "exposed transfer", why + ".",
             known ? transfer_advice(*most.most) : "Overlap communication with computing, or move fewer bytes.");
  }

  void add_launch_bound() {
    int64_t idle_ns = 0;
    for (const JobReport::RankRow& row : report_.ranks) idle_ns += row.idle_host_wait_ns;
    const double idle = part_of_time(idle_ns);
    add_most(
        LossKind::launch_bound, idle, "launch-bound GPUs",
        fmt::format("GPUs are idle for {} of the time because the CPU launches kernels too late.",
                    spoken_percent(idle)),
        "Launch fewer, larger kernels (torch.compile, CUDA graphs, larger batches); skewscope rank FILE shows what "
        "one host does.");
  }

  void add_exposed_copies() {
    const double copies = part_of_time(f_.exposed_memcpy_ns);
    add_most(LossKind::exposed_copies, copies, "exposed copies",
             fmt::format("Exposed memory copies take {} of GPU time.", spoken_percent(copies)),
             "Pin host memory, copy on a separate stream, or keep the data on the GPU.");
  }

  const JobReport& report_;
  const Figures& f_;
  int64_t all_ranks_ns_ = 0, length_ns_ = 0;
  bool calls_alone_ = false;
  std::vector<Loss> losses_;
};

}  // namespace

std::vector<JobReport::Loss> losses_of(const JobReport& report, const Figures& f) {
  return LossList(report, f).found();
}

std::string most_words(const JobReport& report, const Figures& f) {
  const auto most =
      std::max_element(report.stragglers.begin(), report.stragglers.end(),
                       [](const auto& a, const auto& b) { return a.wait_originated_ns < b.wait_originated_ns; });
  return fmt::format("rank {} causes most waiting ({})", most->rank, percent_of(most->wait_originated_ns, f.wait_ns));
}

bool nothing_complete(const JobReport& report) {
  const auto& all = report.stragglers;
  return !all.empty() && std::all_of(all.begin(), all.end(), [](const auto& s) { return s.late_candidates == 0; });
}

}  // namespace skewscope::report
