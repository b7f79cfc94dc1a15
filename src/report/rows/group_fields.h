// The fields by which rows name a kind of group, in every table that is by kind.
#pragma once

#include "skewscope/model/group_kinds.h"

namespace skewscope::report {

// `group_kind`: row of groups.kinds; -1, no group is known, leaves the fields as they are.
template <class Row>
void set_group(int32_t group_kind, const GroupKinds& groups, Row& row) {
  if (group_kind < 0) return;
  const GroupKind& kind = groups.kinds[static_cast<size_t>(group_kind)];
  row.group = kind.name();
  row.size = kind.size;
  row.nodes = kind.nodes;
  row.groups = kind.communicators;
}

}  // namespace skewscope::report
