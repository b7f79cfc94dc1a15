#include "file_content.h"

#include <algorithm>

namespace skewscope::ingest {

int64_t measured_wait_of(const FileContent& content, int32_t args) {
  const std::vector<MeasuredWait>& waits = content.measured_waits;
  const auto wait = std::lower_bound(waits.begin(), waits.end(), args,
                                     [](const MeasuredWait& each, int32_t row) { return each.args < row; });
  return wait == waits.end() || wait->args != args ? -1 : wait->ns;
}

int64_t bytes_of(const FileContent& content) {
  int64_t bytes = bytes_of(content.gpu) + bytes_of(content.launches) + content.comm_args.bytes();
  const auto add = [&](const auto& rows) { bytes += static_cast<int64_t>(rows.size() * sizeof(rows[0])); };
  add(content.comm_ops);
  add(content.gpu_annotations);
  add(content.steps);
  add(content.optimizer_steps);
  add(content.modules);
  add(content.splits);
  add(content.messages);
  add(content.measured_waits);
  return bytes;
}

}  // namespace skewscope::ingest
