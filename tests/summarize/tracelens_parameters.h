// The tables that TraceLens has of the operators it prices (GEMM.csv, CONV_fwd.csv, …): one row per set of parameters,
// over every run of an operator, also of those within
// another one and of those that the GPU has nothing of.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "skewscope/efficiency/work.h"
#include "src/summarize/operators/operator_view.h"

namespace skewscope::test {

// By name; without those that are null.
using TraceLensParameters = std::map<std::string, nlohmann::json>;

// Ours, and what TraceLens repeats of the arguments: their types and strides.
TraceLensParameters tracelens_parameters(const std::string& name, const ArgumentsText& arguments);

// What one row of TraceLens is made from, as our rows have it.
struct ModelledRow {
  std::string table;  // "GEMM"
  TraceLensParameters parameters;
  WorkRow work;
};

std::vector<ModelledRow> modelled_rows(const summarize::OperatorView& view);

}  // namespace skewscope::test
