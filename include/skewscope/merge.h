// Stage: a correlated job -> one trace for the Perfetto UI, all ranks on the common clock.
//
// Ranks of several components, whose clocks nobody compared, say so in the names of their processes.
// Times are those of the report: a collective starts at ClockModel::to_job(start) and ends its recorded duration later,
// and its wait and transfer are the Decomposition's. All other rows start and end where the clock puts both ends.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skewscope/base/result.h"
#include "skewscope/model/correlated_job.h"
#include "skewscope/model/rank_detail.h"

namespace skewscope {

// gpu: GPU rows and collectives with wait, transfer, lateness and the arrows between ranks. launches: host calls that
// GPU rows refer to, with an arrow to each. annotations, operators: of RankDetail.
enum class MergeCategory : uint8_t { gpu, launches, steps, annotations, operators };
inline constexpr size_t kMergeCategories = 5;
const char* to_string(MergeCategory category);

// A time that an excerpt shows, on the common clock, and what it is about.
struct MergeWindow {
  JobNs start, end;            // what is kept: half of the time below, at least 1 ms, on each side of it
  JobNs from, to;              // of the calls that show the finding
  std::string finding;         // "worst-wait", or what the report calls it
  std::string words;           // what it says
  std::vector<int32_t> ranks;  // sorted; only their rows are kept; empty: all
  InstanceId instance;         // whose wait it is; none where it is of none, or of several
};

struct MergeOptions {
  std::array<bool, kMergeCategories> categories{};   // by MergeCategory
  std::vector<int32_t> ranks;                        // only these are written; empty: all
  std::optional<std::pair<int64_t, int64_t>> steps;  // only what was launched in A <= step < B is written
  int32_t excerpts = 0;                              // windows around that many worst waits
  std::vector<MergeWindow> findings;                 // windows around these; `start` and `end` are merge's to say
  bool has_excerpts() const { return excerpts > 0 || !findings.empty(); }  // else all times are written
  bool wants(MergeCategory c) const { return categories[static_cast<size_t>(c)]; }
  bool wants_details() const { return wants(MergeCategory::annotations) || wants(MergeCategory::operators); }
};

// Shows the details of a trace's rows, with the strings they name; false where there are none (a digest). Asked for one
// trace at a time, so that no more than one trace's are held.
using ShowDetails = std::function<void(const RankDetail&, const StringTable&)>;
using DetailSource = std::function<Result<bool>(const RankTrace&, const ShowDetails&)>;

struct MergeResult {
  int64_t traces = 0;                              // of ranks and sessions
  std::array<int64_t, kMergeCategories> events{};  // slices of rows, by MergeCategory
  int64_t parts = 0, arrows = 0;                   // wait and transfer slices; arrows between ranks
  std::vector<MergeWindow> windows;                // by start; those around worst waits do not overlap each other
  std::vector<std::string> without_details;        // files
  int32_t components = 1;        // of ranks on one clock: positions in several say nothing of each other
  int64_t largest_drift_ns = 0;  // of a bundle: what the one offset, in the middle of a trace, leaves at its ends
  int64_t shown_ns() const;      // by `windows`; where they overlap, once
};

enum class TraceFormat : uint8_t { pftrace, json_gz };  // Perfetto's protobuf; Chrome's JSON as gzip

// The file is made new. Errors: output, and those of `details`.
Result<MergeResult> merge_trace(const CorrelatedJob& job, const MergeOptions& options, const DetailSource& details,
                                TraceFormat format, const std::string& path);

// A ZIP whose members are the traces of `ranks` (empty: all) as they are, and manifest.json, which tells Perfetto how
// to shift each. `base_time_ns`: what the time stamps of each file count from. The file is made new. Errors: no_input
// (of a trace only its digest is there; one cannot be read, or is compressed in a way that Perfetto does not read),
// output.
Result<MergeResult> bundle_traces(const CorrelatedJob& job, const std::vector<int32_t>& ranks,
                                  const std::map<std::string, int64_t>& base_time_ns, const std::string& path);

}  // namespace skewscope
