// Each step's time by what ran, as tb_plugin's execution summary has it.
#pragma once

#include "src/summarize/operators/operator_view.h"

namespace skewscope::summarize {

// Whether a range of the host is a data loader's: "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", a
// range of the user that names one, or the iterator's own Python function.
bool is_data_loader(std::string_view name, HostKind kind);

void add_execution_summary(const OperatorView& view, OperatorTables& tables);

}  // namespace skewscope::summarize
