// Problem: a collective leaves a record and a range on the host, and a kernel on the GPU; where there is no kernel, its
// time was in no figure and nobody learned it. Idea: a range in which no communication kernel was launched ran as what
// was launched in it: copies are the collective's. Where nothing was launched, it is lost. What was launched and is in
// no row (a window that ends, a graph that was captured) is not the range's to tell, nor is a group of one, which
// copies or does nothing, nor a batch, whose kernel is launched by another range. Cost: nothing where every range has
// its kernel; else O(log ranges) per copy and launch.
#include "calls_without_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "collectives/backend_prefix.h"
#include "collectives/kernel_names.h"
#include "range_index.h"
#include "skewscope/base/human_units.h"

namespace skewscope::ingest {
namespace {

constexpr double kMany = 0.05;  // of the calls that have a kernel

// nullopt: of the host, of no operation, or no range.
std::optional<CollectiveKind> kind_of_range(std::string_view name) {
  if (is_host_backend(name)) return std::nullopt;
  const std::optional<CollectiveKind> kind = kind_from_annotation(name);
  return kind == CollectiveKind::coalesced ? std::nullopt : kind;
}

std::optional<CollectiveKind> kind_of_op(std::string_view name) {
  if (const auto kind = kind_of_range(name)) return kind;
  return name.starts_with("symm_mem::") ? kind_by_word(name) : std::nullopt;
}

struct Search {
  const FileContent& content;
  const std::vector<bool>& served;
  std::vector<std::optional<CollectiveKind>> kinds;  // of those that are searched for, by row of comm_ops
  RangeIndex<CommOpRow> open;
  std::vector<bool> launches;  // by row of comm_ops: something was launched in it

  Search(const FileContent& c, const std::vector<bool>& s)
      : content(c), served(s), kinds(c.comm_ops.size()), launches(c.comm_ops.size(), false) {
    std::vector<int32_t> rows;
    for (size_t i = 0; i < content.comm_ops.size(); ++i) {
      if (served[i]) continue;
      kinds[i] = kind_of_op(content.strings.view(content.comm_ops[i].name));
      if (kinds[i]) rows.push_back(static_cast<int32_t>(i));
    }
    leave_lone_groups(rows);
    open = RangeIndex<CommOpRow>(content.comm_ops, std::move(rows));
  }

  // Ranges whose record, around them, is of a group of one or was served by a kernel itself.
  void leave_lone_groups(std::vector<int32_t>& rows) {
    std::vector<int32_t> records;
    for (size_t i = 0; i < content.comm_ops.size(); ++i) {
      const int32_t args = content.comm_ops[i].args;
      const bool lone = args >= 0 && content.comm_args.operation_of(static_cast<size_t>(args)).group_size == 1;
      if (lone || (served[i] && args >= 0)) records.push_back(static_cast<int32_t>(i));
    }
    const RangeIndex<CommOpRow> index(content.comm_ops, std::move(records));
    size_t near = 0;
    std::erase_if(rows, [&](int32_t row) {
      const CommOpRow& op = content.comm_ops[static_cast<size_t>(row)];
      return index.innermost(op.thread, op.start, near, [](int32_t) { return true; }) >= 0;
    });
    std::fill(kinds.begin(), kinds.end(), std::nullopt);
    for (const int32_t row : rows) kinds[static_cast<size_t>(row)] = kind_of_op(name_of(row));
  }

  std::string_view name_of(int32_t op) const {
    return content.strings.view(content.comm_ops[static_cast<size_t>(op)].name);
  }
  int32_t over(size_t launch, size_t& near) const {
    const LaunchEvents& events = content.launches.events;
    return open.innermost(events.thread[launch], events.start[launch], near, [](int32_t) { return true; });
  }

  void see_launches() {
    size_t near = 0;
    for (size_t i = 0; i < content.launches.size(); ++i) {
      const int32_t op = over(i, near);
      if (op >= 0) launches[static_cast<size_t>(op)] = true;
    }
  }

  std::vector<CopiedCall> copied(std::vector<int32_t>& copies) const {
    std::map<int32_t, CopiedCall> calls;
    const GpuEvents& gpu = content.gpu.events;
    size_t near = 0;
    for (size_t row = 0; row < gpu.size(); ++row) {
      if (gpu.work[row] != GpuWork::memcpy || gpu.launch[row] < 0) continue;
      const int32_t op = over(static_cast<size_t>(gpu.launch[row]), near);
      if (op < 0) continue;
      copies.push_back(static_cast<int32_t>(row));
      const LocalNs end = gpu.start[row] + gpu.duration_ns[row];
      const auto [at, added] = calls.try_emplace(op, CopiedCall{op, static_cast<int32_t>(row), gpu.start[row], end, 0});
      CopiedCall& call = at->second;
      if (gpu.start[row] < call.start) {
        call.start = gpu.start[row];
        call.first_row = static_cast<int32_t>(row);
      }
      call.end = std::max(call.end, end);
      call.copying_ns += gpu.duration_ns[row];
    }
    std::vector<CopiedCall> rows;
    for (const auto& [op, call] : calls) rows.push_back(call);
    return rows;
  }

  // Ranges in which only kernels were launched that count as computing.
  void find_unknown(CallsWithoutKernels& calls) const {
    const GpuEvents& gpu = content.gpu.events;
    std::vector<bool> told(kinds.size(), false);
    for (const CopiedCall& call : calls.copied) told[static_cast<size_t>(call.op)] = true;
    size_t near = 0;
    for (size_t row = 0; row < gpu.size(); ++row) {
      if (gpu.work[row] != GpuWork::compute || gpu.launch[row] < 0) continue;
      const int32_t op = over(static_cast<size_t>(gpu.launch[row]), near);
      if (op < 0 || told[static_cast<size_t>(op)] || !kind_of_range(name_of(op))) continue;
      told[static_cast<size_t>(op)] = true;
      if (calls.unknown.empty()) calls.unknown_kernel = gpu.name[row];
      ++calls.unknown[*kinds[static_cast<size_t>(op)]];
    }
  }

  // A range at the very end has launched nothing yet where recording stopped; none is behind the last that did.
  std::map<CollectiveKind, int64_t> lost() const {
    std::map<CollectiveKind, int64_t> lost;
    for (size_t i = 0; i < kinds.size(); ++i) {
      const bool counts = kinds[i] && !launches[i] && kind_of_range(name_of(static_cast<int32_t>(i)));
      if (counts) ++lost[*kinds[i]];
    }
    return lost;
  }
};

bool holds_batches(const FileContent& content) {
  return std::any_of(content.comm_ops.begin(), content.comm_ops.end(), [&](const CommOpRow& op) {
    return kind_from_annotation(content.strings.view(op.name)) == CollectiveKind::coalesced;
  });
}

std::string listed(const std::map<CollectiveKind, int64_t>& calls) {
  std::string text;
  for (const auto& [kind, count] : calls) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_string(kind));
  }
  return text;
}

int64_t sum_of(const std::map<CollectiveKind, int64_t>& calls) {
  int64_t sum = 0;
  for (const auto& [kind, count] : calls) sum += count;
  return sum;
}

// "NCCL ", as the ranges say; "" where they do not agree.
std::string backend_of(const FileContent& content) {
  std::string_view backend;
  for (const CommOpRow& op : content.comm_ops) {
    const std::string_view name = content.strings.view(op.name);
    if (!kind_of_range(name)) continue;
    const std::string_view own = name.substr(0, backend_prefix(name) - 1);
    if (!backend.empty() && own != backend) return "";
    backend = own;
  }
  std::string text(backend);
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text.empty() ? text : text + " ";
}

}  // namespace

CallsWithoutKernels calls_without_kernels(const FileContent& content, const std::vector<bool>& served) {
  Search search(content, served);
  if (std::none_of(search.kinds.begin(), search.kinds.end(), [](const auto& kind) { return kind.has_value(); }))
    return {};
  CallsWithoutKernels calls;
  if (!content.gpu.empty()) {
    search.see_launches();
    calls.copied = search.copied(calls.copies);
    search.find_unknown(calls);
  }
  if (!holds_batches(content)) calls.lost = search.lost();
  return calls;
}

void report_calls_without_kernels(const CallsWithoutKernels& calls, FileContent& content) {
  const int64_t lost = sum_of(calls.lost);
  if (content.gpu.empty() && content.kernel_launches > 0) {
    const std::string made = lost > 0 ? fmt::format(" (calls made: {})", listed(calls.lost)) : "";
    return report(content, Severity::warning, "gpu-rows-lost", content.kernel_launches,
                  fmt::format("{} kernels were launched and none was recorded: the GPU rows of this rank are missing, "
                              "so waiting for it is a lower bound{}",
                              content.kernel_launches, made));
  }
  if (content.gpu.empty() && lost > 0) {
    return report(content, Severity::warning, "no-gpu-activity", lost,
                  fmt::format("{} {}calls were made ({}) and no GPU rows recorded: add ProfilerActivity.CUDA (or XPU) "
                              "to the profiler's activities",
                              lost, backend_of(content), listed(calls.lost)));
  }
  std::map<CollectiveKind, int64_t> kinds;
  int64_t copying_ns = 0;
  for (const CopiedCall& call : calls.copied) {
    const std::string_view name = content.strings.view(content.comm_ops[static_cast<size_t>(call.op)].name);
    ++kinds[kind_of_op(name).value_or(CollectiveKind::unknown)];
    copying_ns += call.copying_ns;
  }
  report(content, Severity::warning, "copied-collectives", std::ssize(calls.copied),
         fmt::format("{} ran as copies, without a kernel: their copying ({}) counts as communication, their waiting is "
                     "not in the trace",
                     listed(kinds), human_duration(copying_ns)));
  if (const int64_t unknown = sum_of(calls.unknown); unknown > 0) {
    report(content, Severity::warning, "unknown-kernels", unknown,
           fmt::format("{} ran as kernels that are not known to communicate: they count as computing; the first is {}; "
                       "list them with --kernels",
                       listed(calls.unknown), content.strings.view(calls.unknown_kernel)));
  }
  const auto served = static_cast<double>(content.gpu.comm_kernels.size());
  report(content, static_cast<double>(lost) > kMany * served ? Severity::warning : Severity::info,
         "calls-without-kernel", lost,
         fmt::format("{} of this rank have a record and a range, but no kernel: their time is missing",
                     listed(calls.lost)));
}

}  // namespace skewscope::ingest
