// Makes the memory that columns are about to grow into while other threads go on.
//
// Rows are appended by one thread at a time, in the order of the text. Where fresh memory is dear (huge pages are
// cleared; a virtual machine asks its host for each), all would wait for that thread.
#pragma once

#include <tbb/task_group.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "file_content.h"
#include "skewscope/base/huge_pages.h"

namespace skewscope::ingest {

// Lives and ends in the isolation in which it is asked: others could not run its tasks while they wait for them.
class RoomAhead {
 public:
  ~RoomAhead() { tasks_.wait(); }
  // After rows were appended.
  void look(const FileContent& content) {
    size_t columns = 0;
    const auto look = [&](const auto& column) {
      if (++columns > seen_.size()) seen_.emplace_back();
      look_at(column, seen_[columns - 1]);
    };
    for_each_column(content.gpu, look);
    for_each_column(content.launches, look);
    look(content.comm_ops);
    look(content.comm_args);
  }

 private:
  static constexpr size_t kHugePage = 2 << 20;
  static constexpr size_t kSmallColumn = 4 * kHugePage;  // nobody waits long for one
  struct Seen {
    const char* begin = nullptr;
    size_t made = 0;  // bytes from there
  };

  template <class Row>
  void look_at(const std::vector<Row>& column, Seen& seen) {
    const auto* begin = reinterpret_cast<const char*>(column.data());
    const size_t used = column.size() * sizeof(Row), room = column.capacity() * sizeof(Row);
    if (room < kSmallColumn) return;
    if (seen.begin != begin) seen = {begin, used};
    while (seen.made < std::min(room, used + kHugePage / 2)) {
      const char* from = begin + seen.made;
      const size_t bytes = std::min(kHugePage - reinterpret_cast<uintptr_t>(from) % kHugePage, room - seen.made);
      tasks_.run([from, bytes] { make_pages(from, bytes); });
      seen.made += bytes;
    }
  }

  std::vector<Seen> seen_;  // by column
  tbb::task_group_context own_{tbb::task_group_context::isolated};  // of no pipeline that ends before
  tbb::task_group tasks_{own_};
};

}  // namespace skewscope::ingest
