// The stage: every trace on its own, in parallel.
#include <tbb/parallel_for.h>

#include "skewscope/summarize.h"
#include "src/summarize/gpu/gpu_timeline.h"
#include "src/summarize/gpu/hlo_sums.h"
#include "src/summarize/gpu/host_calls.h"
#include "src/summarize/gpu/kernel_shapes.h"
#include "src/summarize/gpu/rank_tables.h"
#include "src/summarize/gpu/streams.h"

namespace skewscope {

RankSummary summarize_trace(const RankTrace& trace) { return summarize::timeline_of(trace); }

std::vector<RankSummary> summarize_job(const JobTrace& job, Exchange& exchange) {
  std::vector<RankSummary> summaries(job.traces.size());
  tbb::parallel_for(size_t{0}, job.traces.size(), [&](size_t t) {
    if (job.traces[t].process == exchange.process()) summaries[t] = summarize_trace(job.traces[t]);
  });
  share(
      exchange, [&](size_t t) { return job.traces[t].process; }, summaries);
  return summaries;
}

RankTables tabulate_trace(const RankTrace& trace, const StringTable& strings, const RankDetail* detail) {
  RankTables tables;
  TimelineRow whole;
  whole.gpu_rows = static_cast<int64_t>(trace.gpu.size());
  whole.timeline = summarize::timeline_of(trace);
  tables.timeline = {whole};
  summarize::add_devices(trace, tables.timeline);
  summarize::add_steps(trace, tables.timeline);
  tables.over_time = summarize::timeline_bins(trace);
  tables.together = summarize::work_together(trace);
  summarize::add_streams(trace, tables);
  tables.launch_bound = summarize::launch_bound(trace);
  tables.launches = summarize::launch_totals(trace);
  tables.kernels = summarize::kernel_totals(trace.gpu, strings);
  if (detail == nullptr) return tables;
  tables.detailed = true;
  const bool told = trace.device >= 0 && static_cast<size_t>(trace.device) < detail->devices.size();
  const int32_t capability = told ? detail->devices[static_cast<size_t>(trace.device)].compute_major : -1;
  const bool any_units = trace.vendor != GpuVendor::nvidia || capability < 0;
  tables.half_precision_units = any_units || capability >= 7;
  tables.bfloat16_units = any_units || capability >= 8;
  tables.variants = summarize::kernel_variants(trace.gpu, *detail, strings);
  tables.copies = summarize::copy_totals(trace.gpu, detail->gpu, strings);
  tables.calls = summarize::host_call_totals(trace, detail->host, HostKind::call, strings);
  tables.overheads = summarize::host_call_totals(trace, detail->host, HostKind::overhead, strings);
  tables.utilization = summarize::utilization_of(trace, *detail);
  summarize::add_hlo_operations(trace.gpu, *detail, strings, tables);
  summarize::add_profiler_work(trace, detail->host, strings, tables);
  return tables;
}

}  // namespace skewscope
