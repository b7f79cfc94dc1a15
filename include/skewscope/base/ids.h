// Ids are types: a rank, an index of a trace and an index of a communicator must not mix.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace skewscope {

// An index or number with a meaning of its own; Id(), which holds -1, says "there is none".
template <class Tag>
struct Id {
  int32_t value = -1;

  constexpr Id() = default;
  constexpr explicit Id(int64_t v) : value(static_cast<int32_t>(v)) {}
  constexpr bool known() const { return value >= 0; }
  constexpr size_t index() const { return static_cast<size_t>(value); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

// Global rank of a process in its job, 0..world_size-1.
using Rank = Id<struct RankTag>;
// As a trace wrote it; none where no job has such a rank.
constexpr Rank rank_from(int64_t number) { return number >= 0 && number <= INT32_MAX ? Rank(number) : Rank(); }
// Row in JobTrace::traces. One rank has one trace per session.
using TraceIndex = Id<struct TraceTag>;
// Row in CommunicatorTable::communicators.
using CommunicatorId = Id<struct CommunicatorTag>;
// Row in InstanceTable::instances.
using InstanceId = Id<struct InstanceTag>;
// Entry of a StringTable.
using StringId = Id<struct StringTag>;
// One capture of the job: all ranks recorded over (about) the same time.
using SessionId = Id<struct SessionTag>;

}  // namespace skewscope

template <class Tag>
struct std::hash<skewscope::Id<Tag>> {
  size_t operator()(skewscope::Id<Tag> id) const { return std::hash<int32_t>{}(id.value); }
};
