// Stage: one trace -> RankSummary, the single-GPU timeline; RankTables, what else its GPU rows
// tell; and OperatorTables, what its operators did.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "collectives/kernel_table.h"
#include "skewscope/efficiency/roofline.h"
#include "skewscope/model/operator_tables.h"
#include "skewscope/model/rank_figures.h"
#include "skewscope/model/rank_summary.h"
#include "skewscope/model/rank_tables.h"

namespace skewscope {

RankSummary summarize_trace(const RankTrace& trace);
// Row = TraceIndex; parallel over traces, each in the process that holds it; all get all.
std::vector<RankSummary> summarize_job(const JobTrace& job, Exchange& exchange = alone());

// `strings`: of the names of the trace's rows. `detail`: of the same trace; nullptr where it was not read.
RankTables tabulate_trace(const RankTrace& trace, const StringTable& strings, const RankDetail* detail = nullptr);

// What of the tables is compared across ranks.
RankFigures figures_of(const RankTables& tables);
RankFigures figures_of(const OperatorTables& tables);
// Row = TraceIndex. `known`: figures by RankTrace::file, of traces that were tabulated while they were read; those of
// others are made here, without details. Each in the process that holds it; process 0 gets all.
std::vector<RankFigures> figures_of_job(const JobTrace& job, std::map<std::string, RankFigures> known,
                                        Exchange& exchange = alone());

// Which tables are made; what is not asked for costs nothing.
struct OperatorOptions {
  bool operators = true;      // by category, by name, by arguments
  bool kernels = true;        // by launcher, name, stream and shape; short ones
  bool collectives = true;    // of this rank
  bool work = true;           // FLOPs, bytes, roofline
  bool modules = true;        // nn.Module instances
  bool annotations = true;    // of the user
  bool compiled = true;       // torch.compile regions, Triton kernels, graph launches
  bool critical_path = true;  // and what each step consists of, GPU and host together
  bool any() const {
    return operators || kernels || collectives || work || modules || annotations || compiled || critical_path;
  }
  int64_t short_kernel_ns = 10'000;
  int32_t short_kernel_bins = 100;
  // To compare with TraceLens: without GPU rows that have no launch in the trace, and no category from a kernel's name
  // before "other".
  bool linked_only = false;
  const efficiency::Device* device = nullptr;  // whose peaks bound the work; null: not known
  const KernelTable* communicating = nullptr;  // kernels, by name; null: the built-in table
};

// `strings`: of all texts of the trace and its detail, which belong together (model/rank_detail.h).
OperatorTables tabulate_operators(const RankTrace& trace, const RankDetail& detail, const StringTable& strings,
                                  const OperatorOptions& options = {});

// Memory that tabulate_trace and tabulate_operators take together in addition to the trace, known before; from above.
int64_t bytes_to_tabulate(const RankTrace& trace, const RankDetail& detail, const StringTable& strings);

}  // namespace skewscope
