// Tables of operators, on a trace with python stacks as deep as real ones: 24 frames above each operator, three inner
// operators and a call below it. Rows are host rows.
#include <benchmark/benchmark.h>

#include "skewscope/summarize.h"
#include "src/summarize/operators/slot_times.h"

using namespace skewscope;  // NOLINT

namespace {

constexpr int64_t kOperatorNs = 1000;

struct Trace {
  RankTrace trace;
  RankDetail detail;
  StringTable strings;

  explicit Trace(int32_t operators) {
    detail.threads.push_back({1, 1, "python3", "CPU", "thread 1"});
    detail.has_python = true;
    detail.arguments.push_back({strings.intern("[[8, 16], [16, 4]]"), strings.intern("[\"float\", \"float\"]"),
                                StringId(), StringId(), StringId(), StringId(), StringId()});
    for (int32_t i = 0; i < operators; ++i) add(i);
  }

 private:
  void add(int32_t number) {
    const int64_t start_ns = number * kOperatorNs;
    for (int32_t depth = 0; depth < 24; ++depth) {
      row(HostKind::python, "nn.Module: Block_" + std::to_string(number % 97), start_ns + depth,
          kOperatorNs - 2 * depth);
    }
    for (const char* name : {"aten::linear", "aten::addmm", "aten::mm"}) {
      row(HostKind::op, name, start_ns + 100, 500);
      detail.host.arguments.back() = 0;
    }
    row(HostKind::call, "cudaLaunchKernel", start_ns + 200, 100);
    trace.launches.start.push_back(LocalNs{start_ns + 200});
    trace.launches.duration_ns.push_back(100);
    trace.launches.thread.push_back(1);
    trace.gpu.start.push_back(LocalNs{start_ns + 5000});
    trace.gpu.duration_ns.push_back(700);
    trace.gpu.work.push_back(GpuWork::compute);
    trace.gpu.name.push_back(strings.intern("gemm"));
    trace.gpu.device.push_back(0);
    trace.gpu.stream.push_back(7);
    trace.gpu.launch.push_back(number);
    detail.gpu.caller.push_back(static_cast<int32_t>(detail.host.size()) - 1);
    detail.gpu.place.push_back(number);
    detail.gpu.shape.push_back(-1);
    detail.gpu.bytes.push_back(-1);
  }

  void row(HostKind kind, const std::string& name, int64_t start_ns, int64_t duration_ns) {
    HostEvents& host = detail.host;
    host.start.push_back(LocalNs{start_ns});
    host.duration_ns.push_back(duration_ns);
    host.name.push_back(strings.intern(name));
    host.kind.push_back(kind);
    host.thread.push_back(0);
    host.place.push_back(static_cast<int32_t>(host.size()));
    host.arguments.push_back(-1);
    host.sequence.push_back(-1);
    host.forward_thread.push_back(0);
  }
};

const Trace& made() {
  static const Trace trace(100'000);
  return trace;
}

void count_rows(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(made().detail.host.size()));
}

void tree(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(summarize::call_tree(made().detail.host));
  count_rows(state);
}

void rank_tables(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(tabulate_trace(made().trace, made().strings, &made().detail));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(made().trace.gpu.size()));
}

// 200,000 launches within as many ranges of different names as the argument says.
struct Nested {
  summarize::CallTree tree;
  std::vector<int32_t> slot;

  explicit Nested(int32_t depth) {
    for (int32_t row = 0; row < depth; ++row) {
      tree.parent.push_back(row - 1);
      slot.push_back(row);
    }
  }
};

void ranges(benchmark::State& state) {
  const auto depth = static_cast<int32_t>(state.range(0));
  const Nested nested(depth);
  for (auto _ : state) {
    summarize::SlotTimes times(nested.tree, nested.slot, nested.slot.size());
    for (int64_t i = 0; i < 200'000; ++i) {
      times.add(static_cast<int32_t>(i * 7919 % depth), LocalNs{i * 100}, 150);  // two at once
    }
    times.finish();
    benchmark::DoNotOptimize(times.ns(0));
  }
  state.SetItemsProcessed(state.iterations() * 200'000);
}

// One table, or those that one option asks for.
void table(benchmark::State& state, bool OperatorOptions::*asked) {
  OperatorOptions options{false, false, false, false, false, false, false, false};
  options.*asked = true;
  for (auto _ : state) {
    benchmark::DoNotOptimize(tabulate_operators(made().trace, made().detail, made().strings, options));
  }
  count_rows(state);
}

BENCHMARK(rank_tables)->Name("rank: tables of one trace")->Unit(benchmark::kMillisecond);
BENCHMARK(ranges)
    ->Name("operators: launches within nested ranges")
    ->Arg(50)
    ->Arg(500)
    ->Arg(5000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(tree)->Name("operators: call tree")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, operators, &OperatorOptions::operators)
    ->Name("operators: by category, name, arguments")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, kernels, &OperatorOptions::kernels)
    ->Name("operators: kernels by launcher")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, work, &OperatorOptions::work)->Name("operators: work")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, modules, &OperatorOptions::modules)->Name("operators: modules")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, annotations, &OperatorOptions::annotations)
    ->Name("operators: annotations")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, compiled, &OperatorOptions::compiled)
    ->Name("operators: compiled regions, graphs")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, critical_path, &OperatorOptions::critical_path)
    ->Name("operators: critical path")
    ->Unit(benchmark::kMillisecond);

}  // namespace
