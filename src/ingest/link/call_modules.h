// The part of the model in which the host launched a call. See call_modules.cc.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "range_index.h"
#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

class CallModules {
 public:
  // Held on to: the rows of modules.
  explicit CallModules(const FileContent& content);

  // Row of `names` of the module in which this thread launched then; -1: nothing names one. Adds the name, or that of
  // the others where there are as many as may be. Moments mostly come in order.
  int32_t of(int64_t thread, LocalNs launch, std::vector<std::string>& names);

 private:
  const FileContent& content_;
  // The start of the forward operator of the backward operator in which this thread launched then; null: it launched
  // in none, or nothing aligns it to one.
  const PassFlowRow* forward_of(int64_t thread, LocalNs launch);

  RangeIndex<ModuleRow> ranges_;
  RangeIndex<BackwardRow> backward_;
  std::vector<PassFlowRow> forward_ends_;   // of arrows, by id
  std::vector<PassFlowRow> backward_ends_;  // by thread and start
  size_t near_ = 0, near_forward_ = 0, near_backward_ = 0;
  std::unordered_map<int64_t, int32_t> row_of_name_;  // by id
};

// Row of `name` among `names`; added where it is not there and there is room, else that of kOtherModules.
int32_t module_row(const std::string& name, std::vector<std::string>& names);

}  // namespace skewscope::ingest
