// Problem: a tracer that writes `"dtype": ,` leaves one argument out; two calls agree in all arguments or are not one,
// so a rank that lacks an argument would match with nobody. Idea: most of what is absent is elsewhere in the file:
// NCCL's kernels have operation and type in their names, "distributedInfo" lists the members of each group by name, and
// an all-reduce gives out what it takes in. Right because nothing is filled that two places tell differently.
#include "absent_arguments.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "collectives/kernel_table.h"
#include "src/ingest/content/defects.h"
#include "src/ingest/content/row_names.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

// PyTorch's words.
std::string_view operation_of_kernel(std::string_view kernel, const KernelTable& kernels) {
  switch (kernels.nature_of(kernel).kind) {
    case CollectiveKind::all_reduce:
      return "allreduce"sv;
    case CollectiveKind::all_gather:
      return "_allgather_base"sv;
    case CollectiveKind::reduce_scatter:
      return "_reduce_scatter_base"sv;
    case CollectiveKind::broadcast:
      return "broadcast"sv;
    case CollectiveKind::reduce:
      return "reduce"sv;
    case CollectiveKind::unknown:  // from here on all is sends and receives
    case CollectiveKind::all_to_all:
    case CollectiveKind::gather:
    case CollectiveKind::scatter:
    case CollectiveKind::barrier:
    case CollectiveKind::send:
    case CollectiveKind::recv:
    case CollectiveKind::coalesced:
    case CollectiveKind::send_recv:
      break;
  }
  return {};
}

class AbsentArguments {
 public:
  explicit AbsentArguments(FileContent& content) : content_(content) {}

  void fill() {
    find_kernels();
    CommArgsRows filled;
    for (size_t i = 0; i < content_.comm_args.size(); ++i) {
      CommArgs args = content_.comm_args[i];
      fill_one(kernels_[i], args);
      filled.push_back(args);
    }
    content_.comm_args = std::move(filled);
  }

 private:
  // The name of the kernel that each row of arguments is of, or of whose record.
  void find_kernels() {
    kernels_.resize(content_.comm_args.size());
    std::unordered_map<int64_t, StringId> by_external_id;
    for (const CommKernel& kernel : content_.gpu.comm_kernels) {
      const StringId name = content_.gpu.events.name[static_cast<size_t>(kernel.row)];
      if (kernel.args >= 0) kernels_[static_cast<size_t>(kernel.args)] = name;
      if (kernel.external_id > 0) by_external_id.emplace(kernel.external_id, name);
    }
    for (const CommOpRow& op : content_.comm_ops) {
      const auto kernel = by_external_id.find(op.external_id);
      if (op.args >= 0 && kernel != by_external_id.end()) kernels_[static_cast<size_t>(op.args)] = kernel->second;
    }
  }

  std::string_view text(StringId id) const { return id.known() ? content_.strings.view(id) : std::string_view(); }

  void fill_one(StringId kernel_name, CommArgs& args) {
    const std::string kernel(text(kernel_name));
    if (!args.collective_name.known()) {
      if (const std::string_view operation = operation_of_kernel(kernel, *content_.kernels); !operation.empty()) {
        args.collective_name = content_.strings.intern(operation);
      }
    }
    if (!args.dtype.known()) {
      const std::string_view type = type_of_kernel(kernel);
      if (!type.empty()) args.dtype = content_.strings.intern(type);
    }
    if (!args.group_name.known()) args.group_name = group_of(args);
    const std::string_view operation = text(args.collective_name);
    if (operation == "allreduce"sv || operation == "broadcast"sv || operation == "reduce"sv) {
      if (args.in_elements < 0) args.in_elements = args.out_elements;
      if (args.out_elements < 0) args.out_elements = args.in_elements;
    }
  }

  // The only one with these members; none: no group has them, or several.
  StringId group_of(const CommArgs& args) {
    std::string listed;  // "[0, 1]" without blanks and brackets
    for (const char c : text(args.group_ranks)) {
      if (c != ' ' && c != '[' && c != ']') listed += c;
    }
    if (listed.empty()) return {};
    std::string name;
    for (const ProcessGroup& group : content_.distributed.groups) {
      std::string members;
      for (const int64_t rank : group.ranks.ranks()) members += (members.empty() ? "" : ",") + std::to_string(rank);
      if (members != listed || group.name.empty()) continue;
      if (!name.empty() && name != group.name) return {};
      name = group.name;
    }
    return name.empty() ? StringId() : content_.strings.intern(name);
  }

  FileContent& content_;
  std::vector<StringId> kernels_;  // by row of comm_args; none: of no kernel
};

}  // namespace

void fill_absent_arguments(FileContent& content) {
  const bool any = std::any_of(content.findings.begin(), content.findings.end(),
                               [](const Finding& finding) { return finding.code == code_of(Defect::absent_value); });
  if (any) AbsentArguments(content).fill();
}

}  // namespace skewscope::ingest
