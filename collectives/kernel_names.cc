#include "collectives/kernel_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace skewscope {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";
constexpr std::string_view kMangledAnonymous = "_GLOBAL__N_1";

bool is_number(char c) { return c >= '0' && c <= '9'; }

// "_ZN5aiter5storeIDF16bEEvPi" -> aiter, store; up to the first template argument. Empty: not so mangled.
std::vector<std::string> mangled_path(std::string_view name) {
  std::vector<std::string> path;
  if (!name.starts_with("_Z")) return path;
  name.remove_prefix(2);
  const bool nested = name.starts_with('N');
  if (nested) name.remove_prefix(1);
  while (!name.empty() && is_number(name.front())) {
    size_t size = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), size);
    const auto digits = static_cast<size_t>(rest - name.data());
    if (error != std::errc() || size == 0 || size > name.size() - digits) return {};
    const std::string_view part = name.substr(digits, size);
    path.emplace_back(part == kMangledAnonymous ? kAnonymous : part);
    name.remove_prefix(digits + size);
    if (!nested) break;
  }
  return path;
}

// The parts of a name as compilers and demanglers write it out: up to its parameters, without template arguments and
// without the type that is returned.
std::vector<std::string> written_path(std::string_view name) {
  std::vector<std::string> path(1);
  size_t depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (depth == 0 && name.substr(i).starts_with(kAnonymous)) {
      path.back() += kAnonymous;
      i += kAnonymous.size() - 1;
    } else if (c == '<') {
      ++depth;
    } else if (c == '>') {
      if (depth > 0) --depth;
    } else if (depth > 0) {
      continue;
    } else if (c == '(') {
      break;
    } else if (c == ' ') {
      path.assign(1, {});  // behind the type that is returned
    } else if (c == ':' && i + 1 < name.size() && name[i + 1] == ':') {
      path.emplace_back();
      ++i;
    } else {
      path.back() += c;
    }
  }
  return path;
}

struct Word {
  std::string_view text;
  CollectiveKind kind;
};

// Folded. Longer ones first: allreduce before reduce.
constexpr std::array kWords = {
    Word{"allreduce", CollectiveKind::all_reduce},         Word{"allgather", CollectiveKind::all_gather},
    Word{"reducescatter", CollectiveKind::reduce_scatter}, Word{"alltoall", CollectiveKind::all_to_all},
    Word{"all2all", CollectiveKind::all_to_all},
};

// The same where the library's name already says that the kernel communicates.
constexpr std::array kLibraryWords = {
    Word{"sendrecv", CollectiveKind::unknown},  // point-to-point and all-to-all alike: the name does not tell
    Word{"broadcast", CollectiveKind::broadcast},
    Word{"nvlbarrier", CollectiveKind::barrier},
    Word{"invokebarrier", CollectiveKind::barrier},
    Word{"send", CollectiveKind::send},
    Word{"recv", CollectiveKind::recv},
};

constexpr std::array<std::string_view, 8> kLibraries = {"nccl",   "rccl", "hccl", "hcom_",
                                                        "oneccl", "mccl", "cncl", "mscclKernel"};

bool is_nccl(std::string_view library) { return library == "nccl" || library == "rccl"; }

// NCCL and RCCL write "ncclDevKernel_…"; "nccl_fp8_cast" is a helper of somebody else.
bool begins_with(std::string_view text, std::string_view library) {
  return text.starts_with(library) && !(is_nccl(library) && text.substr(library.size(), 1) == "_");
}

// "": none. Behind somebody's namespace only NCCL's and RCCL's are known.
std::string_view library_of(const std::vector<std::string>& path) {
  for (const std::string_view known : kLibraries) {
    const auto begins = [&](const std::string& part) { return begins_with(part, known); };
    if (begins(path.front()) || (is_nccl(known) && std::any_of(path.begin(), path.end(), begins))) return known;
  }
  return {};
}

}  // namespace

std::vector<std::string> path_of_kernel(std::string_view kernel_name) {
  std::vector<std::string> path = mangled_path(kernel_name);
  return path.empty() ? written_path(kernel_name) : path;
}

std::string folded_name(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c != '_') text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

std::optional<CollectiveKind> kind_by_word(std::string_view name) {
  const std::string text = folded_name(name);
  for (const Word& word : kWords) {
    if (text.find(word.text) != std::string::npos) return word.kind;
  }
  return std::nullopt;
}

// "ncclDevKernel_AllReduce_Sum_f32_RING_LL"; before 2.19 "ncclKernel_AllReduce_RING_LL_Sum_float", before 2.12
// "ncclAllReduceRingLLKernel_sum_f32"; symmetric memory "ncclSymkDevKernel_AllGather_LL"; Ctran "ncclKernelAllToAllv";
// "oneccl_allgatherv_write"; "hccl::all_reduce". The operation is the first word behind these prefixes.
std::optional<CollectiveKind> kind_of_library_kernel(const std::vector<std::string>& path) {
  const std::string_view library = library_of(path);
  if (library.empty()) return std::nullopt;
  const std::string function = folded_name(path.back());
  std::string_view rest(function);
  if (path.back().starts_with(library)) rest.remove_prefix(folded_name(library).size());
  for (const std::string_view prefix : {"symk", "sym", "dev", "kernel", "debug"}) {
    if (rest.starts_with(prefix)) rest.remove_prefix(prefix.size());
  }
  for (const Word& word : kWords) {
    if (rest.starts_with(word.text)) return word.kind;
  }
  for (const Word& word : kLibraryWords) {
    if (rest.starts_with(word.text)) return word.kind;
  }
  // oneCCL reduces locally, too: "oneccl_reduce_base".
  return is_nccl(library) && rest.starts_with("reduce") ? CollectiveKind::reduce : CollectiveKind::unknown;
}

std::optional<GpuWork> moving_kernel(std::string_view name) {
  if (name == "dma_request") return GpuWork::memcpy;  // MTIA's
  if (name.starts_with("MEMORY_COPY_") || name.starts_with("__amd_rocclr_copyBuffer")) return GpuWork::memcpy;
  if (name.starts_with("__amd_rocclr_fillBuffer")) return GpuWork::memset;
  return std::nullopt;
}

int32_t ranks_of_kernel(std::string_view name) {
  constexpr int32_t kMostRanks = 16;  // these kernels stay within a node
  const size_t function = name.find("cross_device_reduce_");
  if (function == std::string_view::npos) return -1;
  const size_t call = name.find(">(", function);
  const std::string_view arguments = name.substr(0, call == std::string_view::npos ? name.rfind('>') : call);
  const size_t comma = arguments.rfind(',');
  if (comma == std::string_view::npos || comma < function) return -1;
  int32_t ranks = 0;
  for (const char c : arguments.substr(comma + 1)) {
    if (c == ' ') continue;
    if (c < '0' || c > '9') return -1;
    ranks = std::min(10 * ranks + (c - '0'), kMostRanks + 1);
  }
  return ranks >= 2 && ranks <= kMostRanks ? ranks : -1;
}

}  // namespace skewscope
