#include "clock_job.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include "tests/job_builder.h"

namespace skewscope {
namespace {

constexpr double kPi = 3.14159265358979323846;

struct Group {
  CommunicatorId id;
  std::vector<int32_t> ranks;
  std::vector<double> bias_us;
  double transfer_us, transfer_cv, noise_us, hop_us;
};

double uniform(std::mt19937_64& random, double low, double high) {
  return low + (high - low) * std::generate_canonical<double, 53>(random);
}
double exponential(std::mt19937_64& random, double mean) { return -mean * std::log1p(-uniform(random, 0, 1)); }
double normal(std::mt19937_64& random) { return std::normal_distribution<double>()(random); }
bool chance(std::mt19937_64& random, double probability) { return uniform(random, 0, 1) < probability; }

// A call before it is written to a trace.
struct Raw {
  int32_t instance, rank, communicator, sequence;
  int64_t elements;
  double start_us, end_us;
};

struct World {
  const ClockJobOptions& o;
  std::mt19937_64 random;
  std::vector<double> now;
  std::vector<Group> tp, dp;
  std::vector<Raw> raw;
  ClockJob& out;
  std::map<int32_t, int32_t> calls_of_group;

  size_t ranks() const { return now.size(); }

  Group make_group(const std::string& name, std::vector<int32_t> members, bool across) {
    Communicator c;
    c.name = name;
    for (const int32_t r : members) c.members.push_back(Rank(r));
    c.size = static_cast<int32_t>(members.size());
    c.source = MembersSource::process_group_config;
    std::vector<Communicator>& all = out.job.communicators.communicators;
    all.push_back(c);
    Group g{CommunicatorId(static_cast<int64_t>(all.size() - 1)), std::move(members), {}, 0, 0, 0, 0};
    for (size_t i = 0; i < g.ranks.size(); ++i) {
      g.bias_us.push_back(uniform(random, 0, across ? o.dp_bias_us : o.tp_bias_us));
    }
    g.transfer_us = across ? o.dp_transfer_us : o.tp_transfer_us;
    g.transfer_cv = across ? 0.2 : 0.1;
    g.noise_us = across ? o.dp_noise_us : o.tp_noise_us;
    g.hop_us = across ? o.hop_us : 0;
    return g;
  }

  void make_groups() {
    for (int n = 0; n < o.nodes; ++n) {
      std::vector<int32_t> members(static_cast<size_t>(o.gpus_per_node));
      std::iota(members.begin(), members.end(), n * o.gpus_per_node);
      tp.push_back(make_group("tp", members, false));
    }
    const int parts = o.halves ? 2 : 1;
    for (int part = 0; part < parts; ++part) {
      for (int g = 0; g < o.gpus_per_node; ++g) {
        std::vector<int32_t> members;
        for (int n = part * o.nodes / parts; n < (part + 1) * o.nodes / parts; ++n) {
          members.push_back(n * o.gpus_per_node + g);
        }
        dp.push_back(make_group("dp", members, true));
      }
    }
  }

  void meet(const Group& g, int64_t elements) {
    const size_t n = g.ranks.size();
    std::vector<double> start, ends;
    for (const int32_t r : g.ranks) start.push_back(now[static_cast<size_t>(r)]);
    const size_t last = static_cast<size_t>(std::max_element(start.begin(), start.end()) - start.begin());
    std::vector<double> sorted = start;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<int64_t>(n / 2), sorted.end());
    const double late = std::min(1.0, (start[last] - sorted[n / 2]) / 200);
    const double done = start[last] + g.transfer_us * (1 + exponential(random, g.transfer_cv));
    const auto instance = static_cast<int32_t>(out.truth.size());
    const int32_t sequence = calls_of_group[g.id.value]++;
    for (size_t i = 0; i < n; ++i) {
      double end = done + std::min(20.0, g.bias_us[i] + exponential(random, g.noise_us));
      end += g.hop_us * static_cast<double>((i + n - last) % n) * late;
      if (chance(random, o.late_exit_probability)) end += uniform(random, 0, o.late_exit_us);
      raw.push_back({instance, g.ranks[i], g.id.value, sequence, elements, start[i], end});
      now[static_cast<size_t>(g.ranks[i])] = end;
      ends.push_back(end);
    }
    std::sort(ends.begin(), ends.end());
    out.truth.push_back({start[last], (ends[n / 2] + ends[(n - 1) / 2]) / 2, static_cast<int32_t>(n), 0});
  }

  void compute(double mean_us, const std::vector<double>& factor) {
    for (size_t r = 0; r < ranks(); ++r) now[r] += mean_us * factor[r] * std::exp(o.compute_cv * normal(random));
  }

  void run() {
    make_groups();
    for (double& t : now) t = uniform(random, 0, 2000);
    std::vector<double> factor(ranks(), 1), even(ranks(), 1);
    factor[random() % ranks()] = o.slow_factor;
    const auto stalling = static_cast<size_t>(random() % static_cast<uint64_t>(o.nodes));
    for (int step = 0; step < o.steps; ++step) {
      for (int layer = 0; layer < o.layers; ++layer) {
        compute(o.compute_us, factor);
        if (chance(random, o.stall_probability)) {
          const double stall = uniform(random, 0, o.stall_us);
          for (int g = 0; g < o.gpus_per_node; ++g) now[stalling * static_cast<size_t>(o.gpus_per_node) + g] += stall;
        }
        for (const Group& g : tp) meet(g, layer % 2 == 0 ? 1024 : 2048);
      }
      for (int d = 0; d < o.dp_calls; ++d) {
        compute(500, even);
        for (const Group& g : dp) meet(g, 100000 + d);
      }
      compute(2000, even);
    }
    out.window_us = *std::max_element(now.begin(), now.end());
  }
};

void draw_clocks(const ClockJobOptions& o, std::mt19937_64& random, std::vector<ClockJob::Clock>& clocks) {
  for (int n = 0; n < o.nodes; ++n) {
    const double offset = uniform(random, -o.node_offset_ms, o.node_offset_ms) * 1000;
    const double drift = uniform(random, -o.node_drift_ppm, o.node_drift_ppm) * 1e-6;
    const double phase = uniform(random, 0, 2 * kPi);
    for (int g = 0; g < o.gpus_per_node; ++g) {
      clocks.push_back({offset + o.gpu_offset_us * normal(random), drift + o.gpu_drift_ppm * 1e-6 * normal(random),
                        o.bend_us, phase});
    }
  }
}

// Which calls the traces hold: ranks and kernels go missing, windows are cut.
std::vector<Raw> record(const ClockJobOptions& o, const World& world, std::mt19937_64& random) {
  std::vector<bool> gone(world.ranks());
  std::vector<double> from(world.ranks()), to(world.ranks());
  for (size_t r = 0; r < gone.size(); ++r) {
    gone[r] = chance(random, o.missing_ranks);
    from[r] = uniform(random, 0, o.cut) * world.out.window_us;
    to[r] = world.out.window_us * (1 - uniform(random, 0, o.cut));
  }
  std::vector<Raw> kept;
  for (const Raw& c : world.raw) {
    const auto r = static_cast<size_t>(c.rank);
    if (!gone[r] && c.start_us >= from[r] && c.end_us <= to[r] && !chance(random, o.missing_kernels)) kept.push_back(c);
  }
  return kept;
}

// Traces of the ranks that recorded anything, and where each call went.
std::vector<CallRef> write_traces(const ClockJobOptions& o, const std::vector<Raw>& kept,
                                  const std::vector<ClockJob::Clock>& all, ClockJob& out) {
  std::vector<int32_t> trace_of(all.size(), -1);
  for (const Raw& c : kept) trace_of[static_cast<size_t>(c.rank)] = 0;
  for (size_t r = 0; r < all.size(); ++r) {
    if (trace_of[r] < 0) continue;
    trace_of[r] = static_cast<int32_t>(out.job.traces.size());
    RankTrace trace;
    trace.rank = Rank(static_cast<int64_t>(r));
    trace.session = SessionId(0);
    if (o.hosts) trace.host = "node" + std::to_string(r / static_cast<size_t>(o.gpus_per_node));
    out.job.traces.push_back(trace);
    out.clocks.push_back(all[r]);
  }
  out.job.world_size = static_cast<int32_t>(all.size());
  out.calls.resize(out.job.traces.size());
  std::vector<CallRef> refs;
  for (const Raw& c : kept) {
    const int32_t t = trace_of[static_cast<size_t>(c.rank)];
    const auto row = static_cast<size_t>(t);
    Column<CollectiveCall>& calls = out.job.traces[row].calls;
    CollectiveCall call;
    const auto begin = std::llround(out.clock_us(row, c.start_us) * 1000);
    const auto end = std::llround(out.clock_us(row, c.end_us) * 1000);
    call.start = LocalNs{begin + static_cast<int64_t>(ClockJob::kEpochUs) * 1000};
    call.duration_ns = end - begin;
    call.communicator = CommunicatorId(c.communicator);
    call.kind = CollectiveKind::all_reduce;
    call.dtype = DType::float32;
    call.in_elements = call.out_elements = c.elements;
    call.launch_start = call.start;
    call.launched = true;
    if (o.seq) call.seq = c.sequence;
    refs.push_back({TraceIndex(t), static_cast<int32_t>(calls.size())});
    calls.push_back(call);
    out.calls[row].push_back({c.instance, c.start_us, c.end_us});
    ++out.truth[static_cast<size_t>(c.instance)].recorded;
  }
  for (RankTrace& trace : out.job.traces) {
    trace.first_event = trace.calls.front().start;
    trace.last_event = trace.calls.back().end();
  }
  return refs;
}

// Moves a share of the calls into the next instance of their communicator, whose own call takes their place.
void mismatch(double share, std::mt19937_64& random, std::vector<std::vector<CallRef>>& rows,
              const std::vector<int32_t>& communicator) {
  std::map<int32_t, size_t> before;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto [at, fresh] = before.emplace(communicator[i], i);
    if (fresh) continue;
    for (CallRef& a : rows[at->second]) {
      for (CallRef& b : rows[i]) {
        if (a.trace == b.trace && chance(random, share / 2)) std::swap(a.call, b.call);
      }
    }
    at->second = i;
  }
}

void build_table(const ClockJobOptions& o, const std::vector<Raw>& kept, const std::vector<CallRef>& refs,
                 std::mt19937_64& random, ClockJob& out) {
  std::vector<std::vector<CallRef>> rows(out.truth.size());
  std::vector<int32_t> communicator(out.truth.size(), 0);
  for (size_t k = 0; k < kept.size(); ++k) {
    rows[static_cast<size_t>(kept[k].instance)].push_back(refs[k]);
    communicator[static_cast<size_t>(kept[k].instance)] = kept[k].communicator;
  }
  if (o.mismatched > 0) mismatch(o.mismatched, random, rows, communicator);
  InstanceTable& table = out.instances;
  table.communicators = out.job.communicators;
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return communicator[a] < communicator[b]; });
  std::map<int32_t, int32_t> ordinals;
  for (const size_t id : order) {
    const std::vector<CallRef>& members = rows[id];
    if (members.size() < 2) {
      for (const CallRef& ref : members) table.unmatched.push_back({ref, UnmatchedReason::alone});
      continue;
    }
    const CollectiveCall& call = out.job[members.front().trace].calls[static_cast<size_t>(members.front().call)];
    CollectiveInstance i;
    i.communicator = CommunicatorId(communicator[id]);
    i.session = SessionId(0);
    i.kind = call.kind;
    i.dtype = call.dtype;
    i.bytes = call.in_elements * 4;
    i.ordinal = ordinals[communicator[id]]++;
    i.seq = call.seq;
    i.first_member = static_cast<uint32_t>(table.members.size());
    i.member_count = static_cast<uint32_t>(members.size());
    i.expected = out.truth[id].members;
    i.complete = static_cast<int32_t>(members.size()) == i.expected;
    i.method = MatchMethod::seq;
    table.members.insert(table.members.end(), members.begin(), members.end());
    table.instances.push_back(i);
    out.instance_of.push_back(static_cast<int32_t>(id));
  }
  set_spans(table, out.job);
  std::sort(table.unmatched.begin(), table.unmatched.end(),
            [](const UnmatchedCall& a, const UnmatchedCall& b) { return a.call < b.call; });
}

}  // namespace

const std::vector<ClockScenario>& clock_scenarios() {
  static const std::vector<ClockScenario> all = [] {
    std::vector<ClockScenario> s;
    const auto add = [&](const char* name, const char* what) -> ClockJobOptions& {
      s.push_back({name, what, {}});
      return s.back().options;
    };
    add("base", "±50 ms, ±20 ppm, one rank 5 % slow, one node stalling");
    add("wave", "latency waves of 8 us per hop").hop_us = 8;
    ClockJobOptions& holes = add("holes", "20 % of ranks, 2 % of kernels missing");
    holes.missing_ranks = 0.2;
    holes.missing_kernels = 0.02;
    add("mismatched", "1 % of calls in a wrong instance").mismatched = 0.01;
    add("one step", "one step only").steps = 1;
    ClockJobOptions& one = add("one clock", "clocks equal but for 1 us per GPU");
    one.node_offset_ms = one.node_drift_ppm = 0;
    add("bent 5", "clocks bend by 5 us").bend_us = 5;
    add("bent 30", "clocks bend by 30 us").bend_us = 30;
    add("long", "45 s window").compute_us = 250'000;
    ClockJobOptions& calm = add("calm", "nobody slow or stalling, no waves");
    calm.slow_factor = 1;
    calm.stall_probability = calm.hop_us = 0;
    return s;
  }();
  return all;
}

ClockJobOptions clock_scenario(const char* name) {
  for (const ClockScenario& s : clock_scenarios()) {
    if (std::strcmp(s.name, name) == 0) return s.options;
  }
  return {};
}

double ClockJob::clock_us(size_t trace, double t_us) const {
  const Clock& c = clocks[trace];
  const double bend = c.bend_us == 0 ? 0 : c.bend_us * std::sin(2 * kPi * t_us / window_us + c.phase);
  return t_us + c.offset_us + c.drift * t_us + bend;
}

ClockJob make_clock_job(const ClockJobOptions& options) {
  ClockJob out;
  const size_t ranks = static_cast<size_t>(options.nodes) * static_cast<size_t>(options.gpus_per_node);
  World world{options, std::mt19937_64(options.seed), std::vector<double>(ranks), {}, {}, {}, out, {}};
  std::vector<ClockJob::Clock> clocks;
  draw_clocks(options, world.random, clocks);
  world.run();
  const std::vector<Raw> kept = record(options, world, world.random);
  const std::vector<CallRef> refs = write_traces(options, kept, clocks, out);
  build_table(options, kept, refs, world.random, out);
  return out;
}

}  // namespace skewscope
