// HTA's own tables of real traces, held against ours: with all steps (NAME.incl_last.json) and with the last one
// dropped, as HTA does unasked (NAME.json). What of these files is not compared stands in the last test, with the
// reason.
//
// On traces whose stamps are whole microseconds HTA rounds nothing, and every figure must be equal. It drops GPU rows
// without a launch, so we do, too. On traces with nanoseconds it rounds starts up and ends down: its times are at most
// ours, by less than 2 us per row.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "../real_trace_folder.h"
#include "skewscope/ingest.h"
#include "skewscope/summarize.h"

using namespace skewscope;
using nlohmann::json;
using skewscope::test::traces;

namespace {

struct Case {
  const char *set, *begin, *expected;
  int rank;
  std::optional<std::pair<int64_t, int64_t>> steps;  // given: the file without the last step
};

constexpr Case kWholeMicroseconds[] = {
    {"sampled_2of128", "sampled_rank-0", "sampled_2of128", 0, {}},
    {"sampled_2of128", "sampled_rank-1", "sampled_2of128", 1, {}},
    {"single/hta", "a100_rank0of16", "a100_rank0of16_no_args", 0, {}},
};
const Case kWithoutLastStep[] = {
    {"sampled_2of128", "sampled_rank-0", "sampled_2of128", 0, {{551, 552}}},
    {"sampled_2of128", "sampled_rank-1", "sampled_2of128", 1, {{551, 552}}},
    {"single/hta", "a100_rank0of16", "a100_rank0of16_no_args", 0, {{550, 554}}},
};
constexpr Case kNanoseconds[] = {
    {"single/hta", "a100_rank0of2", "a100_rank0of2_nccl_args", 0, {}},
    {"single/hta", "v100_rank0of1", "v100_rank0of1_ns_resolution", 0, {}},
    {"single/hta", "mi250_minitoy", "mi250_minitoy", 0, {}},
};
constexpr Case kWithoutGpu[] = {
    {"single/hta", "gloo_rank34of300", "gloo_rank34of300_cpu_only", 0, {}},
    {"single/hta", "rank_non_gpu", "rank_non_gpu", 0, {}},
};

std::vector<Case> exact_cases() {
  std::vector<Case> cases(std::begin(kWholeMicroseconds), std::end(kWholeMicroseconds));
  cases.insert(cases.end(), std::begin(kWithoutLastStep), std::end(kWithoutLastStep));
  return cases;
}

// GPU rows that were launched before recording began go.
RankTrace launched_only(const RankTrace& trace) {
  RankTrace kept = trace;
  kept.calls.clear();
  std::vector<bool> launched;
  for (const int32_t launch : trace.gpu.launch) launched.push_back(launch >= 0);
  for_each_column(kept.gpu, [&](auto& column) {
    auto to = column.begin();
    for (size_t i = 0; i < launched.size(); ++i) {
      if (launched[i]) *to++ = column[i];
    }
    column.erase(to, column.end());
  });
  return kept;
}

// The file of a set whose name begins so.
std::string file_of(const Case& c) {
  for (const auto& entry : std::filesystem::directory_iterator(traces(c.set))) {
    if (entry.path().filename().string().rfind(c.begin, 0) == 0) return entry.path().string();
  }
  FAIL("no " << c.begin);
  return "";
}

bool there() { return !traces("expected/hta").empty(); }

RankTables tables_of(const Case& c) {
  StageTimer timer;
  IngestOptions options;
  options.steps = c.steps;
  const Result<IngestedJob> ingested = ingest_job({file_of(c)}, options, timer);
  REQUIRE(ingested.ok());
  const JobTrace& job = ingested.value().job;
  return tabulate_trace(launched_only(job.traces.at(0)), job.strings);
}

template <class Use>
void with_details(const Case& c, const Use& use) {
  IngestOptions options;
  options.steps = c.steps;
  options.while_details_last = [&](const TraceFile& file) { use(file.linked); };
  StageTimer timer;
  REQUIRE(ingest_job({file_of(c)}, options, timer).ok());
}

RankTables detailed_tables_of(const Case& c) {
  RankTables tables;
  with_details(
      c, [&](const LinkedTrace& linked) { tables = tabulate_trace(linked.trace, linked.strings, &*linked.detail); });
  return tables;
}

OperatorTables operators_of(const Case& c) {
  OperatorTables tables;
  with_details(
      c, [&](const LinkedTrace& linked) { tables = tabulate_operators(linked.trace, *linked.detail, linked.strings); });
  return tables;
}

std::string name_of(const Case& c) { return std::string(c.expected) + (c.steps ? " without its last step" : ""); }

json expected_of(const Case& c) {
  std::ifstream file(traces("expected/hta") + "/" + c.expected + (c.steps ? ".json" : ".incl_last.json"));
  return json::parse(file);
}

// The rows of the case's rank; HTA writes the rank into the row, as a member or as the first item.
std::vector<json> rows_of(const Case& c, const json& table) {
  std::vector<json> rows;
  for (const json& row : table) {
    const json& rank = row.is_array() ? row[0] : row["rank"];
    if (rank == c.rank) rows.push_back(row);
  }
  return rows;
}

int64_t time_of(const RankTables& tables, bool (*counts)(const WorkTogether&)) {
  int64_t ns = 0;
  for (const WorkTogether& together : tables.together) {
    if (counts(together)) ns += together.time_ns;
  }
  return ns;
}

double us(int64_t ns) { return static_cast<double>(ns) / 1000; }

double rounded(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

const IdleGaps* gaps_of(const RankTables& tables, const json& row) {
  for (const StreamIdle& s : tables.streams) {
    if (s.stream != row["stream"]) continue;
    const std::string cause = row["idle_category"];
    return cause == "host_wait" ? &s.host_wait : cause == "kernel_wait" ? &s.kernel_wait : &s.other;
  }
  FAIL("no stream " << row["stream"]);
  return nullptr;
}

}  // namespace

TEST_CASE("HTA's temporal breakdown of whole-microsecond traces equals ours") {
  if (!there()) return;
  for (const Case& c : exact_cases()) {
    INFO(c.begin);
    const RankTables tables = tables_of(c);
    const json expected = rows_of(c, expected_of(c)["temporal_breakdown"]).at(0);
    const RankSummary& t = tables.timeline.front().timeline;
    // To HTA a fill is no computation.
    const int64_t compute = time_of(tables, [](const WorkTogether& w) { return w.compute; });
    CHECK(us(t.total_ns) == expected["kernel_time(us)"]);
    CHECK(us(t.idle_ns) == expected["idle_time(us)"]);
    CHECK(us(compute) == expected["compute_time(us)"]);
    CHECK(us(t.busy_ns - compute) == expected["non_compute_time(us)"]);
    CHECK(rounded(100 * us(t.idle_ns) / us(t.total_ns), 2) == expected["idle_time_pctg"]);
  }
}

TEST_CASE("HTA's overlap of communication and computation equals ours") {
  if (!there()) return;
  for (const Case& c : exact_cases()) {
    INFO(c.begin);
    const RankTables tables = tables_of(c);
    const json expected = rows_of(c, expected_of(c)["comm_comp_overlap"]).at(0);
    const int64_t both = time_of(tables, [](const WorkTogether& w) { return w.compute && w.communication; });
    const int64_t communication = time_of(tables, [](const WorkTogether& w) { return w.communication; });
    CHECK(rounded(100 * us(both) / us(communication), 2) == expected["comp_comm_overlap_pctg"]);
  }
}

TEST_CASE("HTA's time of every combination of kernel types equals ours, summed over the ranks of a set") {
  if (!there()) return;
  std::map<std::string, std::map<std::string, double>> found;  // by file of expected values, then by type
  for (const Case& c : exact_cases()) {
    for (const WorkTogether& w : tables_of(c).together) {
      std::string type;
      const auto add = [&](bool runs, const char* name) {
        if (runs) type += (type.empty() ? "" : " overlapping ") + std::string(name);
      };
      add(w.compute, "COMPUTATION");
      add(w.communication, "COMMUNICATION");
      add(w.memcpy || w.memset, "MEMORY");
      found[name_of(c)][type] += us(w.time_ns);
    }
  }
  for (const Case& c : exact_cases()) {
    const json expected = expected_of(c);
    for (const json& row : expected["kernel_breakdown_all"]["type"]) {
      INFO(name_of(c) << " " << row["kernel_type"]);
      CHECK(found[name_of(c)][row["kernel_type"]] == row["sum"]);
    }
  }
}

TEST_CASE("HTA's kernels with most time equal ours by name: sum, longest, shortest, mean, deviation") {
  if (!there()) return;
  for (const Case& c : exact_cases()) {
    const RankTables tables = tables_of(c);
    const std::vector<json> expected = rows_of(c, expected_of(c)["kernel_breakdown_all"]["top"]);
    CHECK(expected.size() >= 5);
    for (const json& row : expected) {
      INFO(c.begin << " " << row["name"]);
      const auto known = std::find_if(tables.kernels.begin(), tables.kernels.end(),
                                      [&](const KernelTotals& k) { return k.name == row["name"]; });
      REQUIRE(known != tables.kernels.end());
      CHECK(us(known->total_ns) == row["sum (us)"]);
      CHECK(us(known->longest_ns) == row["max (us)"]);
      CHECK(us(known->shortest_ns) == row["min (us)"]);
      CHECK(known->mean_ns() / 1000 == Approx(row["mean (us)"].get<double>()).epsilon(1e-6));
      // HTA: 0 for one row, as here.
      CHECK(known->deviation_ns / 1000 == Approx(row["stddev"].get<double>()).epsilon(1e-6));
    }
  }
}

TEST_CASE("HTA's idle time by stream and cause equals ours, and so does each gap's statistic") {
  if (!there()) return;
  for (const Case& c : exact_cases()) {
    const RankTables tables = tables_of(c);
    const json expected = expected_of(c)["idle_time_breakdown"];
    for (const json& row : rows_of(c, expected["idle"])) {
      INFO(c.begin << " " << row);
      // Two rows of that stream overlap by 2 us: to HTA a gap of -2 us, to us none.
      const bool overlapping =
          std::string(c.begin) == "a100_rank0of16" && row["stream"] == 27 && row["idle_category"] == "kernel_wait";
      CHECK(us(gaps_of(tables, row)->total_ns) - row["idle_time"].get<double>() == (overlapping ? 2 : 0));
    }
    int compared = 0;
    for (const json& row : rows_of(c, expected["stats"])) {
      INFO(c.begin << " " << row);
      const Distribution& d = gaps_of(tables, row)->each_ns;
      if (row["count"] == 0) CHECK(d.count == 0);
      // HTA counts rows that touch as gaps of length 0 and rows that overlap as negative ones; we count gaps.
      if (row["min"].is_null() || row["min"] <= 0) continue;
      ++compared;
      CHECK(d.count == row["count"]);
      CHECK(d.least / 1000 == row["min"]);
      CHECK(d.most / 1000 == row["max"]);
      CHECK(d.quartile_1 / 1000 == Approx(row["25%"].get<double>()).margin(0.005));
      CHECK(d.median / 1000 == Approx(row["50%"].get<double>()).margin(0.005));
      CHECK(d.quartile_3 / 1000 == Approx(row["75%"].get<double>()).margin(0.005));
      CHECK(d.mean / 1000 == Approx(row["mean"].get<double>()).margin(0.00501));
      if (!row["std"].is_null()) CHECK(d.deviation / 1000 == Approx(row["std"].get<double>()).margin(0.00501));
    }
    CHECK(compared > 0);
  }
}

TEST_CASE("HTA's queue length statistic of every stream equals ours") {
  if (!there()) return;
  for (const Case& c : {kWholeMicroseconds[0], kWholeMicroseconds[1], kNanoseconds[0]}) {
    const RankTables tables = tables_of(c);
    for (const json& row : rows_of(c, expected_of(c)["queue_length_summary"])) {
      INFO(c.begin << " " << row);
      const auto queue = std::find_if(tables.queues.begin(), tables.queues.end(),
                                      [&](const QueueDepth& q) { return q.stream == row[1]; });
      REQUIRE(queue != tables.queues.end());
      const Distribution& d = queue->depth;
      CHECK(d.count == row[2]);
      CHECK(d.mean == Approx(row[3].get<double>()).epsilon(1e-2));
      CHECK(d.least == row[5]);
      CHECK(d.median == row[7]);
      CHECK(d.most == row[9]);
    }
  }
}

TEST_CASE("HTA's launch statistics of whole-microsecond traces equal ours") {
  if (!there()) return;
  for (const Case& c : exact_cases()) {
    // HTA does not know cudaGraphLaunch as a launch; the reference names its own 6530 rows of that trace.
    if (std::string(c.begin) == "a100_rank0of16") continue;
    INFO(c.begin);
    const LaunchTotals found = tables_of(c).launches;
    const json expected = expected_of(c)["launch_stats"][std::to_string(c.rank)];
    CHECK(found.rows == expected["n"]);
    CHECK(us(found.host_ns) == expected["cpu_sum"]);
    CHECK(us(found.gpu_ns) == expected["gpu_sum"]);
    CHECK(us(found.delay_ns) == expected["delay_sum"]);
    CHECK(found.short_rows == expected["short(gpu<cpu,cpu<=50)"]);
    CHECK(found.slow_calls == expected["runtime_outliers(>50)"]);
    CHECK(found.late_starts == expected["delay_outliers(>100)"]);
  }
}

TEST_CASE("on nanosecond traces HTA's times are at most ours, by less than two microseconds a row") {
  if (!there()) return;
  for (const Case& c : kNanoseconds) {
    INFO(c.begin);
    const RankTables tables = tables_of(c);
    const json expected = rows_of(c, expected_of(c)["temporal_breakdown"]).at(0);
    const double slack = 2.0 * static_cast<double>(tables.timeline.front().gpu_rows);
    const int64_t compute = time_of(tables, [](const WorkTogether& w) { return w.compute; });
    const double theirs = expected["compute_time(us)"];
    CHECK(theirs <= us(compute));
    CHECK(us(compute) - theirs < slack);
    for (const json& row : rows_of(c, expected_of(c)["kernel_breakdown_all"]["top"])) {
      INFO(row["name"]);
      const auto known = std::find_if(tables.kernels.begin(), tables.kernels.end(),
                                      [&](const KernelTotals& k) { return k.name == row["name"]; });
      REQUIRE(known != tables.kernels.end());
      CHECK(row["sum (us)"].get<double>() <= us(known->total_ns));
      CHECK(us(known->total_ns) - row["sum (us)"].get<double>() < 2.0 * static_cast<double>(known->count));
    }
  }
}

TEST_CASE("HTA's bandwidth of copies and fills equals ours, whole kinds by count, mean, least and most") {
  if (!there()) return;
  // Not the trace with orphans, which HTA drops; of those with nanoseconds the one without copies that touch.
  for (const Case& c : {kWholeMicroseconds[0], kWholeMicroseconds[1], kNanoseconds[0]}) {
    const RankTables tables = detailed_tables_of(c);
    for (const json& row : rows_of(c, expected_of(c)["memory_bw_summary"])) {
      INFO(c.begin << " " << row);
      // HTA's kind is the name up to its bracket: pageable and pinned memory together.
      Distribution all;
      int names = 0;
      for (const CopyTotals& copy : tables.copies) {
        if (copy.name.rfind(row[1].get<std::string>() + " (", 0) != 0) continue;
        const Distribution& own = copy.concurrent_gb_per_s;
        const auto total = static_cast<double>(all.count), more = static_cast<double>(own.count);
        const double mean = (all.mean * total + own.mean * more) / (total + more);
        const double least = names == 0 ? own.least : std::min(all.least, own.least);
        const double most = std::max(all.most, own.most);
        all = own;
        all.count = static_cast<int64_t>(total + more);
        all.mean = mean;
        all.least = least;
        all.most = most;
        ++names;
      }
      CHECK(all.count == row[2]);
      CHECK(all.mean == Approx(row[3].get<double>()).epsilon(1e-5));
      CHECK(all.least == Approx(row[5].get<double>()).margin(1e-6));
      CHECK(all.most == Approx(row[9].get<double>()).epsilon(1e-5));
      if (names != 1) continue;
      if (!row[4].is_null()) CHECK(all.deviation == Approx(row[4].get<double>()).epsilon(1e-5));
      CHECK(all.quartile_1 == Approx(row[6].get<double>()).margin(1e-6).epsilon(1e-5));
      CHECK(all.median == Approx(row[7].get<double>()).margin(1e-6).epsilon(1e-5));
      CHECK(all.quartile_3 == Approx(row[8].get<double>()).margin(1e-6).epsilon(1e-5));
    }
  }
}

TEST_CASE("HTA's annotations of the host and of the GPU equal ours by name: sum") {
  if (!there()) return;
  for (const Case& c : kWholeMicroseconds) {
    const OperatorTables operators = operators_of(c);
    for (const bool on_gpu : {false, true}) {
      const json expected = expected_of(c)[on_gpu ? "gpu_user_annotation" : "cpu_user_annotation"];
      if (!expected.is_array()) continue;
      for (const json& row : rows_of(c, expected)) {
        INFO(c.begin << " " << row);
        const auto known = std::find_if(
            operators.annotations.begin(), operators.annotations.end(),
            [&](const AnnotationRow& a) { return a.on_gpu == on_gpu && a.name == row["name"].get<std::string>(); });
        REQUIRE(known != operators.annotations.end());
        CHECK(us(known->total_ns) == row["sum (us)"]);
      }
    }
  }
}

TEST_CASE("traces without GPU rows have HTA's annotations of the host, and no GPU time") {
  if (!there()) return;
  for (const Case& c : kWithoutGpu) {
    INFO(c.begin);
    const json expected = expected_of(c);
    CHECK(expected["kernel_breakdown_all"]["n_rows"] == 0);
    CHECK(tables_of(c).kernels.empty());
    CHECK(tables_of(c).launches.rows == expected["launch_stats"]["0"]["n"]);
    const OperatorTables operators = operators_of(c);
    for (const json& row : expected["cpu_user_annotation"]) {
      INFO(row);
      const auto known = std::find_if(operators.annotations.begin(), operators.annotations.end(),
                                      [&](const AnnotationRow& a) { return a.name == row["name"].get<std::string>(); });
      REQUIRE(known != operators.annotations.end());
      // HTA rounds starts up and ends down.
      const double lost = us(known->total_ns) - row["sum (us)"].get<double>();
      CHECK(lost >= 0);
      CHECK(lost < 2.0 * static_cast<double>(known->count));
    }
  }
}

TEST_CASE("each file of HTA's, and each key of it, is compared or has a reason why not") {
  if (!there()) return;
  const std::string kCompared;
  const std::map<std::string, std::string> keys = {
      {"temporal_breakdown", kCompared},
      {"kernel_breakdown_all", kCompared},
      {"comm_comp_overlap", kCompared},
      {"idle_time_breakdown", kCompared},
      {"launch_stats", kCompared},
      {"queue_length_summary", kCompared},
      {"memory_bw_summary", kCompared},
      {"gpu_user_annotation", kCompared},
      {"cpu_user_annotation", kCompared},
      {"trace", "which trace it is of"},
      {"ranks", "which ranks of it"},
      {"include_last_profiler_step", "which of the two files of a trace it is"},
      {"profiler_steps", "what --steps asks for in the other tests"},
      {"device_type", "a vendor's name; ingest's tests hold it"},
      {"events", "rows that HTA keeps in its own table; ingest's tests hold numbers of rows"},
      {"kernel_breakdown_default", "max, min and mean are the sum there: not to be reproduced"},
      {"stragglers", "HTA's own ranking of ranks, for which nothing else has numbers"},
      {"critical_path_step0", "hta_critical_path.cc compares it"},
  };
  const std::map<std::string, std::string> traces_left_out = {
      {"triton_example", "a cpu_op with a stream counts as GPU work there: not to be reproduced"},
  };
  std::set<std::string> compared;
  const auto add = [&](const auto& cases) {
    for (const Case& c : cases) compared.insert(c.expected);
  };
  add(exact_cases());
  add(kNanoseconds);
  add(kWithoutGpu);
  for (const auto& entry : std::filesystem::directory_iterator(traces("expected/hta"))) {
    std::string trace = entry.path().stem().string();
    trace = trace.substr(0, trace.find(".incl_last"));
    INFO(trace);
    CHECK(compared.count(trace) + traces_left_out.count(trace) == 1);
    std::ifstream file(entry.path());
    const json content = json::parse(file);
    for (const auto& [key, value] : content.items()) {
      INFO(key);
      CHECK(keys.count(key) == 1);
    }
  }
}
