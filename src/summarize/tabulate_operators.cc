// The stage's second half: what the operators of one trace did. Every table is made only where asked for.
#include "skewscope/summarize.h"
#include "src/summarize/operators/compiled_sums.h"
#include "src/summarize/operators/kernel_sums.h"
#include "src/summarize/operators/memory_sums.h"
#include "src/summarize/operators/operator_sums.h"
#include "src/summarize/operators/pass_sums.h"
#include "src/summarize/operators/range_sums.h"
#include "src/summarize/operators/stack_sums.h"
#include "src/summarize/operators/work_sums.h"
#include "src/summarize/path/critical_path.h"
#include "src/summarize/path/execution_summary.h"

namespace skewscope {

OperatorTables tabulate_operators(const RankTrace& trace, const RankDetail& detail, const StringTable& strings,
                                  const OperatorOptions& options) {
  if (!options.any()) return {};  // no call tree either
  const summarize::OperatorView view(trace, detail, strings, options);
  OperatorTables tables;
  if (options.operators) {
    const summarize::LaunchingInstances instances = summarize::launching_instances(view);
    summarize::add_categories(view, instances, tables);
    summarize::add_operators(view, instances, tables);
    summarize::add_arguments(view, instances, tables);
    summarize::add_passes(view, tables);
    summarize::add_stacks(view, tables);
    summarize::add_memory(view, tables);
  }
  if (options.kernels) {
    summarize::add_kernels(view, tables);
    summarize::add_short_kernels(view, tables);
  }
  if (options.collectives) summarize::add_collectives(view, tables);
  if (options.work) summarize::add_work(view, tables);
  if (options.modules) summarize::add_modules(view, tables);
  if (options.annotations) summarize::add_annotations(view, tables);
  if (options.compiled) {
    summarize::add_compiled(view, tables);
    summarize::add_graphs(view, tables);
  }
  if (options.critical_path) {
    summarize::add_critical_path(view, tables);
    summarize::add_execution_summary(view, tables);
  }
  return tables;
}

}  // namespace skewscope
