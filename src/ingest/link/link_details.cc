#include "link_details.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "skewscope/base/sort_runs.h"

namespace skewscope::ingest {
namespace {

bool before(const ThreadIds& a, const ThreadIds& b) {
  return std::tie(a.process, a.thread) < std::tie(b.process, b.thread);
}

std::vector<int32_t> numbers_up_to(size_t n) {
  std::vector<int32_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// Where each row of `order` goes.
std::vector<int32_t> inverse(const std::vector<int32_t>& order) {
  std::vector<int32_t> numbers(order.size());
  for (size_t i = 0; i < order.size(); ++i) numbers[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
  return numbers;
}

// By (process, thread), as the metadata call them; the last name counts.
std::vector<HostThread> name_threads(const std::vector<ThreadIds>& all, const std::vector<int32_t>& order,
                                     const std::vector<TrackName>& names, const StringTable& strings) {
  std::map<int64_t, StringId> processes, labels;
  std::map<std::pair<int64_t, int64_t>, StringId> threads;
  for (const TrackName& name : names) {
    if (name.of == TrackName::Of::process) processes[name.ids.process] = name.text;
    if (name.of == TrackName::Of::label) labels[name.ids.process] = name.text;
    if (name.of == TrackName::Of::thread) threads[{name.ids.process, name.ids.thread}] = name.text;
  }
  const auto text = [&](const auto& texts, const auto& key) {
    const auto found = texts.find(key);
    return found == texts.end() ? std::string() : std::string(strings.view(found->second));
  };
  std::vector<HostThread> named;
  named.reserve(order.size());
  for (const int32_t row : order) {
    const ThreadIds& ids = all[static_cast<size_t>(row)];
    named.push_back({ids.process, ids.thread, text(processes, ids.process), text(labels, ids.process),
                     text(threads, std::make_pair(ids.process, ids.thread))});
  }
  return named;
}

// Rows by (thread, start, longest first, place). They come by place, and nearly in order on each thread.
std::vector<int32_t> call_tree_order(const HostEvents& host, size_t threads) {
  std::vector<std::vector<int32_t>> rows(threads);
  std::vector<size_t> counts(threads);
  for (const int32_t thread : host.thread) ++counts[static_cast<size_t>(thread)];
  for (size_t t = 0; t < threads; ++t) rows[t].reserve(counts[t]);
  for (size_t i = 0; i < host.size(); ++i) {
    rows[static_cast<size_t>(host.thread[i])].push_back(static_cast<int32_t>(i));
  }
  tbb::parallel_for(size_t{0}, threads, [&](size_t t) {
    sort_runs(rows[t], [&](int32_t a, int32_t b) {
      const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
      return std::tie(host.start[i], host.duration_ns[j]) < std::tie(host.start[j], host.duration_ns[i]);
    });
  });
  std::vector<int32_t> order;
  order.reserve(host.size());
  for (std::vector<int32_t>& some : rows) {
    order.insert(order.end(), some.begin(), some.end());
    std::vector<int32_t>().swap(some);
  }
  return order;
}

// Sorts the host rows; where each of them went.
std::vector<int32_t> link_host(DetailRows& rows, const StringTable& strings, RankDetail& detail,
                               std::vector<int32_t>& thread_row) {
  const std::vector<ThreadIds>& ids = rows.threads.rows();
  std::vector<int32_t> threads = numbers_up_to(ids.size());
  std::sort(threads.begin(), threads.end(),
            [&](int32_t a, int32_t b) { return before(ids[static_cast<size_t>(a)], ids[static_cast<size_t>(b)]); });
  detail.threads = name_threads(ids, threads, rows.names, strings);
  thread_row = inverse(threads);
  for (int32_t& thread : rows.host.thread) thread = thread_row[static_cast<size_t>(thread)];
  detail.host = std::move(rows.host);
  const std::vector<int32_t> order = call_tree_order(detail.host, threads.size());
  for_each_column(detail.host, [&](auto& column) { column = gathered(column, order); });
  return inverse(order);
}

// Where the kernel does not tell grid and block, the call does (HIP).
int32_t shape_with_call(int32_t own, int32_t of_call, DetailRows& rows) {
  if (of_call < 0) return own;
  KernelShape shape = own < 0 ? KernelShape() : rows.shapes.rows()[static_cast<size_t>(own)];
  const KernelShape& call = rows.shapes.rows()[static_cast<size_t>(of_call)];
  if (shape.grid[0] < 0) std::copy(std::begin(call.grid), std::end(call.grid), std::begin(shape.grid));
  if (shape.block[0] < 0) std::copy(std::begin(call.block), std::end(call.block), std::begin(shape.block));
  return rows.shapes.number_of(shape);
}

GpuDetails link_gpu(DetailRows& rows, const Column<int32_t>& launch_of, const std::vector<int32_t>& host_row) {
  GpuDetails gpu;
  for_each_column(gpu, [&](auto& column) { column.reserve(rows.gpu.size()); });
  for (size_t i = 0; i < rows.gpu.size(); ++i) {
    const GpuDetailRow& row = rows.gpu[i];
    const LaunchDetailRow launch =
        launch_of[i] < 0 ? LaunchDetailRow() : rows.launches[static_cast<size_t>(launch_of[i])];
    gpu.caller.push_back(launch.host < 0 ? -1 : host_row[static_cast<size_t>(launch.host)]);
    gpu.place.push_back(row.place);
    gpu.shape.push_back(shape_with_call(row.shape, launch.shape, rows));
    gpu.operation.push_back(row.operation);
    gpu.bytes.push_back(row.bytes);
    gpu.gb_per_s.push_back(row.gb_per_s);
  }
  return gpu;
}

GpuAnnotations link_annotations(std::vector<GpuAnnotationRow> rows) {
  sort_runs(rows, [](const GpuAnnotationRow& a, const GpuAnnotationRow& b) { return a.start < b.start; });
  GpuAnnotations annotations;
  for (const GpuAnnotationRow& row : rows) {
    annotations.start.push_back(row.start);
    annotations.duration_ns.push_back(row.duration_ns);
    annotations.name.push_back(row.name);
    annotations.device.push_back(row.device);
    annotations.stream.push_back(row.stream);
  }
  return annotations;
}

// `thread_row`: where each thread went.
MemoryEvents link_memory(MemoryEvents events, const std::vector<int32_t>& thread_row) {
  for (int32_t& thread : events.thread) thread = thread_row[static_cast<size_t>(thread)];
  std::vector<int32_t> order = numbers_up_to(events.size());
  sort_runs(order, [&](int32_t a, int32_t b) {
    return events.at[static_cast<size_t>(a)] < events.at[static_cast<size_t>(b)];
  });
  for_each_column(events, [&](auto& column) { column = gathered(column, order); });
  return events;
}

}  // namespace

RankDetail link_details(FileContent& content) {
  DetailRows& rows = *content.details;
  RankDetail detail;
  std::vector<int32_t> thread_row;
  const std::vector<int32_t> host_row = link_host(rows, content.strings, detail, thread_row);
  detail.gpu = link_gpu(rows, content.gpu.events.launch, host_row);
  detail.gpu_annotations = link_annotations(std::move(rows.gpu_annotations));
  detail.memory = link_memory(std::move(rows.memory), thread_row);
  detail.arguments = rows.arguments.take();
  detail.shapes = rows.shapes.take();
  detail.operations = std::move(rows.operations);
  detail.devices = content.devices;
  detail.base_time_ns = content.base_time_ns;
  detail.has_python =
      std::find(detail.host.kind.begin(), detail.host.kind.end(), HostKind::python) != detail.host.kind.end();
  detail.has_arguments = std::any_of(detail.arguments.begin(), detail.arguments.end(),
                                     [](const ArgumentSet& set) { return set.dims.known(); });
  return detail;
}

void add_call_details(const CallMetadata& call, const std::vector<SplitSizes>& splits, CallDetails& details) {
  const auto splits_of = [&](int32_t row) { return row < 0 ? SplitSizes() : splits[static_cast<size_t>(row)]; };
  const SplitSizes own = splits_of(call.own_args), of_op = splits_of(call.op_args);
  details.name.push_back(call.args.collective_name);
  details.dtype.push_back(call.args.dtype);
  details.group_name.push_back(call.args.group_name);
  details.group_ranks.push_back(call.args.group_ranks);
  details.group_size.push_back(call.args.group_size);
  details.in_split.push_back(own.in.known() ? own.in : of_op.in);
  details.out_split.push_back(own.out.known() ? own.out : of_op.out);
}

int64_t bytes_of(const RankDetail& detail) {
  int64_t bytes = 0;
  const auto add = [&](const auto& column) { bytes += static_cast<int64_t>(column.size() * sizeof(column[0])); };
  for_each_column(detail.host, add);
  for_each_column(detail.gpu, add);
  for_each_column(detail.gpu_annotations, add);
  for_each_column(detail.memory, add);
  for_each_column(detail.calls, add);
  add(detail.threads);
  add(detail.arguments);
  add(detail.shapes);
  add(detail.operations);
  return bytes;
}

}  // namespace skewscope::ingest
