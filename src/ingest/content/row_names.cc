#include "row_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "collectives/backend_prefix.h"
#include "collectives/kernel_names.h"
#include "src/ingest/text/char_set.h"
#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

// "LaunchKernel" of cudaLaunchKernel, cuLaunchKernel and hipLaunchKernel; "": a call of another interface.
std::string_view without_interface(std::string_view name) {
  for (const std::string_view interface : {"cuda"sv, "cu"sv, "hip"sv, "musa"sv}) {
    if (name.starts_with(interface)) return name.substr(interface.size());
  }
  return {};
}

// `name`: without_interface().
bool waits_for_whole_device(std::string_view name) {
  return name.starts_with("DeviceSynchronize"sv) || name.starts_with("CtxSynchronize"sv);
}

// "layers.3", "model.h.3.mlp": words with points between, one of them a number.
bool is_numbered_path(std::string_view name) {
  bool numbered = false, path = false;
  for (size_t begin = 0; begin <= name.size();) {
    const std::string_view word = name.substr(begin, name.find('.', begin) - begin);
    const bool number = std::all_of(word.begin(), word.end(), is_digit);
    if (word.empty() || word.find(' ') != word.npos) return false;
    numbered |= number;
    path |= !number;
    begin += word.size() + 1;
  }
  return numbered && path;
}

bool has_word(std::string_view name, std::string_view word) {
  const auto same = [](char a, char b) { return (a | 0x20) == b; };
  return std::search(name.begin(), name.end(), word.begin(), word.end(), same) != name.end();
}

// As NCCL calls types in names of kernels, and PyTorch in arguments.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kTypesInNames = {{{"_bf16"sv, "BFloat16"sv},
                                                                                         {"_f16"sv, "Half"sv},
                                                                                         {"_f32"sv, "Float"sv},
                                                                                         {"_f64"sv, "Double"sv},
                                                                                         {"_i32"sv, "Int"sv},
                                                                                         {"_i64"sv, "Long"sv},
                                                                                         {"_u8"sv, "Byte"sv},
                                                                                         {"_i8"sv, "Char"sv}}};

}  // namespace

bool is_collective_range(std::string_view name) {
  return name.size() >= 5 && (name[3] == ':' || name[4] == ':') && backend_prefix(name) > 0;
}

bool is_collective_op(std::string_view name) {
  return name == "record_param_comms"sv || name.starts_with("symm_mem::"sv) || name.starts_with("_C_custom_ar::"sv) ||
         name.starts_with("vllm::all_"sv) || name == "vllm::reduce_scatter"sv;
}

bool has_operation_word(std::string_view name) {
  // c10d's are known by their records.
  if (name.starts_with("aten"sv) || name.starts_with("c10d::"sv)) return false;
  // All such words have "ll" or "sc" in them, and few other names do.
  const auto may_be = [&](size_t at) {
    const auto pair = [&](char a, char b) { return (name[at] | 0x20) == a && (name[at + 1] | 0x20) == b; };
    return pair('l', 'l') || pair('s', 'c');
  };
  for (size_t at = 0; at + 1 < name.size(); ++at) {
    if (may_be(at)) return kind_by_word(name).has_value();
  }
  return false;
}

bool is_sized_op(std::string_view name) {
  return name == "c10d::_reduce_scatter_base_"sv || name == "c10d::_allgather_base_"sv;
}

bool waits_for_device(std::string_view name) { return waits_for_whole_device(without_interface(name)); }

bool never_launches(std::string_view name) {
  name = without_interface(name);
  static constexpr CharSet kFirst("ESDFOPGRC");
  if (name.empty() || !kFirst.holds(name.front())) return false;
  for (const std::string_view prefix : {"Event"sv, "Stream"sv, "Device"sv, "Func"sv, "Occupancy"sv, "PeekAt"sv, "Get"sv,
                                        "Pointer"sv, "DriverGet"sv, "RuntimeGet"sv, "SetDevice"sv, "Ctx"sv}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

bool synchronizes(std::string_view name) {
  name = without_interface(name);
  static constexpr CharSet kFirst("DSEC");
  if (name.empty() || !kFirst.holds(name.front())) return false;
  return waits_for_whole_device(name) || name.starts_with("StreamSynchronize"sv) ||
         name.starts_with("EventSynchronize"sv);
}

LaunchRole role_of_launch(std::string_view name) {
  const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  if (has("Launch"sv) && has("Kernel"sv)) return LaunchRole::kernel;  // a graph is launched, too, and a host function
  if (!has("Capture"sv)) return LaunchRole::other;
  if (has("BeginCapture"sv)) return LaunchRole::begins_capture;
  return has("EndCapture"sv) ? LaunchRole::ends_capture : LaunchRole::other;
}

std::string_view module_of_annotation(std::string_view name) {
  if (name.starts_with("FSDP::"sv)) {
    const size_t open = name.find(" (");
    if (open == name.npos || name.back() != ')') return {};
    return name.substr(open + 2, name.size() - open - 3);
  }
  if (is_collective_range(name) || profiler_step(name) >= 0) return {};
  return has_word(name, "layer"sv) || has_word(name, "block"sv) || is_numbered_path(name) ? name : std::string_view();
}

std::string_view type_of_kernel(std::string_view kernel) {
  for (const auto& [word, type] : kTypesInNames) {
    const size_t at = kernel.find(word);
    if (at != kernel.npos && kernel.substr(at + word.size(), 1) == "_"sv) return type;
  }
  return {};
}

bool is_optimizer_step(std::string_view name) { return name.starts_with("Optimizer.step#"sv); }

bool is_backward_op(std::string_view name) { return name.starts_with("autograd::engine::evaluate_function"sv); }

bool names_backward_thread(std::string_view label) { return label.find("(pt_autograd_"sv) != std::string_view::npos; }

int64_t profiler_step(std::string_view name) {
  constexpr std::string_view kPrefix = "ProfilerStep#";
  if (!name.starts_with(kPrefix)) return -1;
  int64_t number = -1;
  const auto [rest, error] = std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), number);
  return error == std::errc() && number >= 0 ? number : -1;
}

int64_t rank_in_label(std::string_view label) {
  size_t at = std::string_view::npos;
  if (label.starts_with("[TP"sv) || label.starts_with("[DP"sv)) {
    at = 3;
  } else if (const size_t word = label.find("ank"sv);
             word != std::string_view::npos && word > 0 && (label[word - 1] == 'r' || label[word - 1] == 'R')) {
    at = label.find_first_not_of(" :=_-", word + 3);
  }
  if (at == std::string_view::npos) return -1;
  int64_t rank = -1;
  const auto [rest, error] = std::from_chars(label.data() + at, label.data() + label.size(), rank);
  return error == std::errc() ? rank : -1;
}

}  // namespace skewscope::ingest
