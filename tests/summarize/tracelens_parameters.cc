#include "tracelens_parameters.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <tuple>

#include "skewscope/efficiency/categories.h"
#include "src/summarize/gpu/spread.h"
#include "src/summarize/operators/forward_links.h"
#include "src/summarize/operators/kernel_positions.h"

namespace skewscope::test {

using nlohmann::json;
using summarize::OperatorView;

namespace {

efficiency::Work work_of(const std::string& name, const ArgumentsText& arguments) {
  return efficiency::work_of(name, {arguments.dims, arguments.types, arguments.strides, arguments.values});
}

// "[10, 64]", "true" and "8944" by value, a list of types as a list; what is none of these is a text.
json value_of(const efficiency::Parameter& parameter) {
  if (parameter.name.rfind("dtype", 0) == 0) {
    const size_t comma = parameter.value.find(", ");
    return {parameter.value.substr(0, comma), parameter.value.substr(comma + 2)};
  }
  const json value = json::parse(parameter.value, nullptr, false);
  return value.is_discarded() ? json(parameter.value) : value;
}

// What was recorded of the arguments, one item each.
struct Recorded {
  json dims, types, strides, values;

  explicit Recorded(const ArgumentsText& text)
      : dims(parsed(text.dims)),
        types(parsed(text.types)),
        strides(parsed(text.strides)),
        values(parsed(text.values)) {}

  static json parsed(const std::string& text) {
    json list = json::parse(text, nullptr, false);
    return list.is_array() ? list : json::array();
  }
  // A further operand is one to TraceLens where it has dimensions.
  bool has(size_t place) const { return place < dims.size() && !dims[place].empty(); }
  json type_of_further(size_t place) const { return has(place) ? types.at(place) : json(); }
  json strides_of_further(size_t place) const { return has(place) ? strides.at(place) : json(); }
};

bool transposed(const json& strides) { return !strides.empty() && strides.back() != 1; }

}  // namespace

TraceLensParameters tracelens_parameters(const std::string& name, const ArgumentsText& arguments) {
  TraceLensParameters parameters;
  for (const efficiency::Parameter& parameter : work_of(name, arguments).parameters) {
    parameters[parameter.name] = value_of(parameter);
  }
  const Recorded recorded(arguments);
  const auto ours = [&](const char* own) { return parameters.count(own) > 0; };
  if (ours("stride_A")) {
    parameters.emplace("B", 1);
    // BLAS libraries count in column-major order.
    parameters["transpose"] = {transposed(parameters["stride_B"]), transposed(parameters["stride_A"])};
  } else if (ours("N_Q")) {
    parameters["dropout"] = json::parse(recorded.values.at(3).get<std::string>() + "0");
    parameters["flash_impl"] = name.find("flash") != std::string::npos;
  } else if (ours("num_input_elems")) {
    parameters["dtype_in_out"] = {recorded.types.at(0), json()};
  } else if (ours("num_channels")) {
    parameters["dtype_in_out"] = {recorded.types.at(0), json()};
    if (name.find("_backward") != std::string::npos) {
      std::string mask = recorded.values.back().get<std::string>();
      std::transform(mask.begin(), mask.end(), mask.begin(), [](unsigned char c) { return std::tolower(c); });
      parameters["output_mask"] = json::parse(mask);
    }
  } else if (ours("shape_in1")) {
    parameters["dtype_in1_in2_out"] = {recorded.types.at(0), recorded.types.at(1), recorded.type_of_further(2)};
    parameters["stride_output"] = recorded.strides_of_further(2);
  } else if (ours("op_shape")) {
    parameters["dtype_in_out"] = {recorded.types.at(0), recorded.type_of_further(1)};
    parameters["stride_input"] = recorded.strides.at(0);
    parameters["stride_output"] = recorded.strides_of_further(1);
  }
  for (auto at = parameters.begin(); at != parameters.end();) {
    at = at->second.is_null() ? parameters.erase(at) : std::next(at);
  }
  return parameters;
}

namespace {

std::string table_of(const std::string& name, const TraceLensParameters& parameters) {
  const std::string_view category = efficiency::tracelens_category(name, "");
  if (category == "GEMM" || category == "CONV_fwd" || category == "CONV_bwd" || category == "SDPA_fwd") {
    return std::string(category);
  }
  if (category == "reduce") return "Reduce_fwd";
  if (category == "NORM_fwd" || category == "NORM_bwd") return "Normalization";
  if (category == "elementwise") return parameters.count("shape_in1") > 0 ? "BinaryElementwise" : "UnaryElementwise";
  return "";
}

// One run of an operator and the GPU rows that count for it.
struct Run {
  int32_t host_row;
  bool of_backward;  // the rows that backward launched for it
  std::vector<int32_t> gpu_rows;
};

// Every operator with the GPU rows below it, of which a run on the CPU has none; and again with the rows that backward
// launched for it. In the order of the file.
std::vector<Run> runs_of(const OperatorView& view) {
  const std::vector<int32_t> forward = summarize::forward_rows(view.host());
  std::map<std::pair<int32_t, bool>, std::set<int32_t>> rows;
  for (size_t at = 0; at < view.host().size(); ++at) {
    if (view.host().kind[at] == HostKind::op) rows[{static_cast<int32_t>(at), false}];
  }
  for (size_t gpu_row = 0; gpu_row < view.gpu().size(); ++gpu_row) {
    for (int32_t host_row = view.detail.gpu.caller[gpu_row]; host_row >= 0;
         host_row = view.tree.parent[static_cast<size_t>(host_row)]) {
      const auto at = static_cast<size_t>(host_row);
      if (view.host().kind[at] != HostKind::op) continue;
      rows[{host_row, false}].insert(static_cast<int32_t>(gpu_row));
      if (forward[at] >= 0) rows[{forward[at], true}].insert(static_cast<int32_t>(gpu_row));
    }
  }
  std::vector<Run> runs;
  for (const auto& [key, gpu_rows] : rows) {
    runs.push_back({key.first, key.second, {gpu_rows.begin(), gpu_rows.end()}});
  }
  const auto place = [&](const Run& run) { return view.host().place[static_cast<size_t>(run.host_row)]; };
  std::stable_sort(runs.begin(), runs.end(), [&](const Run& a, const Run& b) { return place(a) < place(b); });
  return runs;
}

struct Sums {
  ModelledRow row;
  std::vector<int64_t> gpu_ns;
  summarize::KernelPositions kernels;
};

void describe(const OperatorView& view, int32_t host_row, const ArgumentsText& arguments, WorkRow& row) {
  const efficiency::Work work = work_of(row.name, arguments);
  row.recompute = view.is_recompute(host_row);
  row.process_name = view.thread(host_row).process_name;
  row.process_label = view.thread(host_row).process_label;
  row.thread_name = view.thread(host_row).name;
  row.arguments = arguments;
  row.first_place = view.host().place[static_cast<size_t>(host_row)];
  row.flops = work.flops.value_or(-1);
  row.bytes = work.bytes.value_or(-1);
  row.compute = efficiency::to_string(work.compute);
  row.precision = efficiency::to_string(work.precision);
}

void add_run(const OperatorView& view, Run run, Sums& sums) {
  summarize::BusyTime busy;  // rows are sorted by start
  for (const int32_t row : run.gpu_rows) {
    busy.add(view.gpu().start[static_cast<size_t>(row)], view.gpu().duration_ns[static_cast<size_t>(row)]);
  }
  sums.gpu_ns.push_back(busy.ns());
  const auto place = [&](int32_t gpu_row) {
    const auto row = static_cast<size_t>(gpu_row);
    return std::make_pair(view.host().place[static_cast<size_t>(view.detail.gpu.caller[row])],
                          view.detail.gpu.place[row]);
  };
  std::sort(run.gpu_rows.begin(), run.gpu_rows.end(), [&](int32_t a, int32_t b) { return place(a) < place(b); });
  sums.kernels.add(view, run.gpu_rows);
}

}  // namespace

std::vector<ModelledRow> modelled_rows(const OperatorView& view) {
  std::map<std::string, Sums> found;
  for (const Run& run : runs_of(view)) {
    const std::string name(view.name(run.host_row));
    if (!efficiency::has_work_model(name)) continue;
    const ArgumentsText arguments = view.arguments(run.host_row);
    const TraceLensParameters parameters = tracelens_parameters(name, arguments);
    std::string table = table_of(name, parameters);
    if (run.of_backward) table = table == "Reduce_fwd" ? "Reduce_bwd" : "";
    if (table.empty()) continue;
    const bool again = view.is_recompute(run.host_row);
    Sums& sums = found[table + name + (again ? " again " : " ") + json(parameters).dump()];
    if (sums.gpu_ns.empty()) {  // the first
      sums.row.table = table;
      sums.row.parameters = parameters;
      sums.row.work.name = name;
      describe(view, run.host_row, arguments, sums.row.work);
    }
    add_run(view, run, sums);
  }
  std::vector<ModelledRow> rows;
  for (auto& [key, sums] : found) {
    sums.row.work.per_second = summarize::rates_of(sums.gpu_ns);
    sums.row.work.gpu = summarize::spread_of(sums.gpu_ns);
    sums.row.work.kernels = sums.kernels.finish(view);
    rows.push_back(std::move(sums.row));
  }
  return rows;
}

}  // namespace skewscope::test
