#include "comm_records.h"

#include <tbb/parallel_invoke.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "collectives/kernel_names.h"
#include "skewscope/base/sort_runs.h"
#include "src/ingest/content/row_names.h"

namespace skewscope::ingest {

NameKinds::Kind NameKinds::of(StringId name) {
  if (!name.known()) return kind_of_({});
  std::optional<Kind>& told = told_[name.index()];
  if (!told) told = kind_of_(names_.view(name));
  return *told;
}

CommRecords::CommRecords(const FileContent& content) : content_(content) {
  NameKinds annotations(content.strings, kind_from_annotation);
  roles_.reserve(content.comm_ops.size());
  std::array<std::vector<int32_t>, kRoles> of_role;
  for (size_t i = 0; i < content.comm_ops.size(); ++i) {
    const CommOpRow& op = content.comm_ops[i];
    const auto row = static_cast<int32_t>(i);
    const NameKinds::Kind annotation = annotations.of(op.name);
    const Role role = role_of(content.strings.view(op.name), annotation);
    any_batch_ |= role == Role::range && annotation == CollectiveKind::coalesced;
    roles_.push_back(role);
    if (role == Role::other) continue;
    of_role[static_cast<size_t>(role)].push_back(row);
    const bool may_be = role == Role::record || role == Role::custom;
    const bool linkable = content.gpu.external_ids_tell && may_be && op.external_id > 0;
    if (linkable) by_external_id_.push_back(row);
  }
  std::vector<int32_t> gpu_ranges(content.gpu_annotations.size());
  std::iota(gpu_ranges.begin(), gpu_ranges.end(), 0);
  tbb::parallel_invoke(
      [&] { gpu_ranges_ = RangeIndex(content.gpu_annotations, std::move(gpu_ranges)); },
      [&] {
        for (size_t role = 0; role < kRoles; ++role) {
          open_[role] = RangeIndex(content.comm_ops, std::move(of_role[role]));
        }
      },
      [&] { sort_runs(by_external_id_, [&](int32_t a, int32_t b) { return external_id_of(a) < external_id_of(b); }); });
}

CommRecords::Role CommRecords::role_of(std::string_view name, std::optional<CollectiveKind> annotation) {
  if (name == "record_param_comms") return Role::record;
  if (annotation) return Role::range;
  if (is_sized_op(name)) return Role::sized;
  return is_collective_range(name) ? Role::other : Role::custom;
}

void CommRecords::add_launch(const LaunchRow& launch) {
  launched_.resize(roles_.size(), false);
  const auto near = [&](Role role) -> size_t& { return near_launch_[static_cast<size_t>(role)]; };
  const int32_t over = open(Role::record).innermost(launch.thread, launch.start, near(Role::record), [&](int32_t i) {
    return launched_in(launch, content_.comm_ops[static_cast<size_t>(i)]);
  });
  if (over >= 0) launched_[static_cast<size_t>(over)] = true;
  const int32_t range =
      open(Role::range).innermost(launch.thread, launch.start, near(Role::range), [](int32_t) { return true; });
  if (range < 0) return;
  const auto [first, added] = first_launch_.try_emplace(range, launch.start);
  if (!added) first->second = std::min(first->second, launch.start);
}

}  // namespace skewscope::ingest
