// Makes one rank's digest, without the text: what a reader would have found in the trace that RankWriter writes; or
// keeps it for a file of another format.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "communication_text.h"
#include "document.h"
#include "rank_output.h"
#include "skewscope/model/trace_file.h"
#include "src/simulate/formats/simulated_rank.h"

namespace skewscope::simulate {

class RankDigest : public RankOutput {
 public:
  // `directory`: where files are written; `final_directory`: where the user will find them.
  // `format`: of the file that take() is for; null: a digest is written.
  RankDigest(const Job& job, int32_t rank, const std::string& directory, const std::string& final_directory,
             const NodeFormat* format = nullptr);

  bool write_step(int32_t step, const RankStep& timeline) override;
  bool finish() override;
  // After finish(), where there is a format.
  SimulatedRank take() { return std::move(kept_); }

  const std::string& file_name() const override { return file_name_; }
  int64_t gpu_rows() const override { return gpu_rows_; }
  int64_t lost_rows() const override { return lost_rows_; }

 private:
  // What an operation is in every step.
  struct OpFacts {
    StringId name;
    int32_t stream = 0;
    GpuWork work = GpuWork::compute;
    CommunicationText spelling;  // of communication
    int32_t module = -1;         // row of LinkedTrace::modules
    uint32_t kernel = 0;         // of KernelGrid
    uint16_t grid = 0;
    int32_t blocks = 0;
  };

  LocalNs local(int64_t true_ns) const { return {clock_.to_local(true_ns)}; }
  void describe_rank(const std::string& final_directory);
  OpFacts facts_of(const Op& op);
  int32_t mention(const Op& op);
  void add_operation(int32_t step, const Op& op, const OpFacts& facts, const OpTimes& times);
  void add_host_rows(const Op& op, const OpTimes& times, bool lost);
  void add_host_row(int64_t begin_true, int64_t end_true);
  CallPhase phase_of(const Op& op, LocalNs launch) const;
  void add_splits(const Op& op);
  void add_call(int32_t step, const Op& op, const OpFacts& facts, CollectiveCall call);
  void count_grid(const OpFacts& facts, int64_t duration_ns);
  void count_kernel(const Op& op, const OpTimes& times, bool lost);
  void report_lost();
  void sort_rows();
  void sort_calls(const std::vector<int32_t>& new_row);

  const Job& job_;
  int32_t rank_;
  RankClock clock_;
  Layout layout_;
  std::string file_name_, path_;
  TraceFile file_;
  std::map<std::pair<uint32_t, uint16_t>, KernelGrid> grids_;
  std::vector<OpFacts> facts_;  // by operation
  LocalNs backward_end_;        // of the step that is being written
  bool has_host_rows_ = false;
  int64_t gpu_rows_ = 0, lost_rows_ = 0;
  int64_t kernels_ = 0;  // launched
  std::vector<LostLaunch> lost_kernels_;
  const NodeFormat* format_;
  SimulatedRank kept_;
};

}  // namespace skewscope::simulate
