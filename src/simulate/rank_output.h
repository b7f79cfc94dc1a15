// What becomes of a rank's steps: a trace (rank_writer.h) or a digest (rank_digest.h).
#pragma once

#include <cstdint>
#include <string>

#include "timeline.h"

namespace skewscope::simulate {

class RankOutput {
 public:
  virtual ~RankOutput() = default;
  // Each false when the file cannot be written.
  virtual bool write_step(int32_t step, const RankStep& timeline) = 0;
  virtual bool finish() = 0;

  virtual const std::string& file_name() const = 0;
  virtual int64_t gpu_rows() const = 0;
  virtual int64_t lost_rows() const = 0;
};

}  // namespace skewscope::simulate
