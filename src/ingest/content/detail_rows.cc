#include "detail_rows.h"

#include <algorithm>
#include <limits>

namespace skewscope::ingest {
namespace {

// No trace has as many events as would not fit; what claims so keeps the last number.
int32_t place_behind(int64_t first_event, int32_t place) {
  return static_cast<int32_t>(std::min<int64_t>(first_event + place, std::numeric_limits<int32_t>::max()));
}

// Numbers of the file by those of the chunk.
template <class Distinct, class Change>
std::vector<int32_t> append_distinct(const Distinct& chunk, Distinct& file, const Change& change) {
  std::vector<int32_t> numbers;
  for (auto row : chunk.rows()) {
    change(row);
    numbers.push_back(file.number_of(row));
  }
  return numbers;
}

int32_t renumbered(const std::vector<int32_t>& numbers, int32_t local) {
  return local < 0 ? -1 : numbers[static_cast<size_t>(local)];
}

template <class Value>
void append(const std::vector<Value>& more, std::vector<Value>& column) {
  column.insert(column.end(), more.begin(), more.end());
}

template <class Value, class Change>
void append_changed(const std::vector<Value>& more, std::vector<Value>& column, const Change& change) {
  const size_t first = column.size();
  append(more, column);
  for (size_t i = first; i < column.size(); ++i) change(column[i]);
}

}  // namespace

size_t DetailHash::operator()(const ThreadIds& ids) const { return RowMixer().add(ids.process).add(ids.thread).hash(); }

size_t DetailHash::operator()(const ArgumentSet& set) const {
  RowMixer mixer;
  for (const StringId id :
       {set.dims, set.types, set.strides, set.values, set.kernel_file, set.kernel_backend, set.call_stack}) {
    mixer.add(id);
  }
  return mixer.hash();
}

size_t DetailHash::operator()(const KernelShape& shape) const {
  RowMixer mixer;
  for (size_t i = 0; i < 3; ++i) mixer.add(shape.grid[i]).add(shape.block[i]);
  mixer.add(int64_t{shape.registers}).add(int64_t{shape.shared_memory});
  return mixer.add(shape.blocks_per_sm).add(shape.warps_per_sm).add(shape.occupancy_percent).hash();
}

void DetailRows::clear() {
  for_each_column(host, [](auto& column) { column.clear(); });
  threads.clear();
  arguments.clear();
  shapes.clear();
  operations.clear();
  launches.clear();
  gpu.clear();
  gpu_annotations.clear();
  for_each_column(memory, [](auto& column) { column.clear(); });
  splits.clear();
  names.clear();
}

void DetailRows::roll_back(const Mark& to) {
  for_each_column(host, [&](auto& column) { column.resize(to.host); });
  launches.resize(to.launches);
  gpu.resize(to.gpu);
  gpu_annotations.resize(to.gpu_annotations);
  for_each_column(memory, [&](auto& column) { column.resize(to.memory); });
  splits.resize(to.splits);
  names.resize(to.names);
}

void append_details(const DetailRows& chunk, const std::vector<StringId>& ids, int64_t first_event, DetailRows& file) {
  const auto to_id = [&](StringId& id) { id = mapped(ids, id); };
  const auto to_place = [&](int32_t& place) { place = place_behind(first_event, place); };
  const std::vector<int32_t> threads = append_distinct(chunk.threads, file.threads, [](ThreadIds&) {});
  const std::vector<int32_t> shapes = append_distinct(chunk.shapes, file.shapes, [](KernelShape&) {});
  const std::vector<int32_t> arguments = append_distinct(chunk.arguments, file.arguments, [&](ArgumentSet& set) {
    for (StringId* id :
         {&set.dims, &set.types, &set.strides, &set.values, &set.kernel_file, &set.kernel_backend, &set.call_stack}) {
      to_id(*id);
    }
  });
  const auto first_host = static_cast<int32_t>(file.host.size());
  append_changed(chunk.launches, file.launches, [&](LaunchDetailRow& row) {
    row.host += first_host;
    row.shape = renumbered(shapes, row.shape);
  });
  append(chunk.host.start, file.host.start);
  append(chunk.host.duration_ns, file.host.duration_ns);
  append(chunk.host.kind, file.host.kind);
  append(chunk.host.sequence, file.host.sequence);
  append(chunk.host.forward_thread, file.host.forward_thread);
  append_changed(chunk.host.name, file.host.name, to_id);
  append_changed(chunk.host.place, file.host.place, to_place);
  append_changed(chunk.host.thread, file.host.thread, [&](int32_t& row) { row = renumbered(threads, row); });
  append_changed(chunk.host.arguments, file.host.arguments, [&](int32_t& row) { row = renumbered(arguments, row); });
  const auto first_operation = static_cast<int32_t>(file.operations.size());
  append_changed(chunk.operations, file.operations, [&](DeviceOperation& operation) {
    for (StringId* id : {&operation.name, &operation.module, &operation.program, &operation.category}) to_id(*id);
  });
  append_changed(chunk.gpu, file.gpu, [&](GpuDetailRow& row) {
    to_place(row.place);
    row.shape = renumbered(shapes, row.shape);
    if (row.operation >= 0) row.operation += first_operation;
  });
  append_changed(chunk.gpu_annotations, file.gpu_annotations, [&](GpuAnnotationRow& row) { to_id(row.name); });
  append(chunk.memory.at, file.memory.at);
  append(chunk.memory.bytes, file.memory.bytes);
  append(chunk.memory.address, file.memory.address);
  append(chunk.memory.allocated, file.memory.allocated);
  append(chunk.memory.reserved, file.memory.reserved);
  append(chunk.memory.device, file.memory.device);
  append_changed(chunk.memory.thread, file.memory.thread, [&](int32_t& row) { row = renumbered(threads, row); });
  append_changed(chunk.names, file.names, [&](TrackName& name) { to_id(name.text); });
  append_changed(chunk.splits, file.splits, [&](SplitSizes& sizes) {
    to_id(sizes.in);
    to_id(sizes.out);
  });
}

int64_t bytes_of(const DetailRows& rows) {
  int64_t bytes = rows.threads.bytes() + rows.arguments.bytes() + rows.shapes.bytes();
  const auto add = [&](const auto& column) { bytes += static_cast<int64_t>(column.size() * sizeof(column[0])); };
  for_each_column(rows.host, add);
  add(rows.operations);
  add(rows.launches);
  add(rows.gpu);
  add(rows.gpu_annotations);
  for_each_column(rows.memory, add);
  add(rows.splits);
  add(rows.names);
  return bytes;
}

}  // namespace skewscope::ingest
