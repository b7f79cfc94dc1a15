// Writes one rank's trace, step by step, as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "communication_text.h"
#include "document.h"
#include "rank_output.h"
#include "trace_sink.h"

namespace skewscope::simulate {

class RankWriter : public RankOutput {
 public:
  // The file is begun with the first step that is recorded.
  RankWriter(const Job& job, int32_t rank, const std::string& directory);

  bool write_step(int32_t step, const RankStep& timeline) override;
  bool finish() override;

  const std::string& file_name() const override { return file_name_; }
  int64_t gpu_rows() const override { return gpu_rows_; }
  int64_t lost_rows() const override { return lost_rows_; }

 private:
  // What links the rows of one operation.
  struct Link {
    int64_t external_id = 0;    // of the innermost CPU row; 0: none
    int64_t annotation_id = 0;  // of the nccl:* range
  };

  int64_t local(int64_t true_ns) const { return clock_.to_local(true_ns); }
  bool flush_if_full();
  void step_annotations(int32_t step, const RankStep& timeline);
  Link cpu_rows(int32_t step, const Op& op, const OpTimes& times, size_t row);
  Link communication_cpu_rows(int32_t step, const Op& op, const OpTimes& times, const CommunicationText& call);
  void wait_row(const RankStep& timeline);
  void python_rows(Place place, const OpTimes& times);
  void cpu_op(const char* name, Place place, int64_t begin_true, int64_t end_true, int64_t id, double shape = 1);
  void launch_row(const Op& op, const OpTimes& times, const CommunicationText& call, int64_t correlation,
                  const Link& link);
  void gpu_rows_of(int32_t step, const Op& op, const OpTimes& times, const CommunicationText& call, int64_t correlation,
                   const Link& link);
  void kernel_row(int32_t step, const Op& op, const OpTimes& times, const CommunicationText& call, int64_t correlation,
                  const Link& link);
  void copy_row(const Op& op, const OpTimes& times, int64_t correlation, const Link& link);
  void stream_wait_row(const Program& program, const RankStep& timeline, size_t row);
  void sync_row(const RankStep& timeline, int64_t correlation);
  void gloo_rows(int32_t step, const RankStep& timeline);
  void print_seq(int32_t step, const Op& op, const CommunicationText& call);
  int64_t open_range(std::string_view category, std::string_view name, Place place, int64_t begin_true,
                     int64_t end_true);

  const Job& job_;
  int32_t rank_;
  RankClock clock_;
  Layout layout_;
  std::string file_name_;
  TraceSink sink_;
  std::vector<CommunicationText> calls_;  // by operation; empty for others
  std::vector<int64_t> launched_as_;      // correlation by operation, of the step
  Text text_;
  bool begun_ = false;
  int64_t first_ns_ = 0, last_ns_ = 0;
  int64_t next_external_ = 1, next_event_ = 0, next_correlation_ = 1000, next_python_ = 1;
  int64_t gpu_rows_ = 0, lost_rows_ = 0;
};

}  // namespace skewscope::simulate
