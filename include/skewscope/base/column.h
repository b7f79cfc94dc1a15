// A column of a table: a vector that may lie in one block of memory with columns of other tables.
//
// Problem: the traces of thousands of ranks are tens of thousands of columns of a few kilobytes. An allocator rounds
// each up to its next size, by up to a fifth; and as it puts columns of like size on one page, a column that is given
// back frees nothing while another one stays on its page.
// Idea: columns that are given back together are packed into the same blocks, one behind the other.
// Why right: a block is held by the columns in it and goes with the last of them; a copy of a column, or one that grows
// beyond what the block has left, lies elsewhere.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace skewscope {

class ColumnBlock {
 public:
  explicit ColumnBlock(size_t bytes) : bytes_(bytes), memory_(new std::byte[bytes]) {}

  // nullptr where they do not fit any more. By any thread.
  void* take(size_t bytes) {
    const size_t at = used_.fetch_add(aligned(bytes), std::memory_order_relaxed);
    return at + aligned(bytes) <= bytes_ ? memory_.get() + at : nullptr;
  }

  bool has_room(size_t bytes) const { return used_ + aligned(bytes) <= bytes_; }

  bool holds(const void* place) const {
    const std::less<const void*> before;
    return !before(place, memory_.get()) && before(place, memory_.get() + bytes_);
  }

 private:
  static size_t aligned(size_t bytes) {
    constexpr size_t kAligned = alignof(std::max_align_t);
    return (bytes + kAligned - 1) / kAligned * kAligned;
  }

  size_t bytes_;
  std::atomic<size_t> used_ = 0;
  std::unique_ptr<std::byte[]> memory_;
};

// The heap, or a block: of which allocators that go with a column hold a share.
template <class T>
class ColumnAllocator {
 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  ColumnAllocator() = default;
  explicit ColumnAllocator(std::shared_ptr<ColumnBlock> block) : block_(std::move(block)) {}
  template <class U>
  ColumnAllocator(const ColumnAllocator<U>& other) : block_(other.block()) {}

  T* allocate(size_t n) {
    void* place = block_ ? block_->take(n * sizeof(T)) : nullptr;
    return place != nullptr ? static_cast<T*>(place) : std::allocator<T>().allocate(n);
  }
  void deallocate(T* place, size_t n) {
    if (!block_ || !block_->holds(place)) std::allocator<T>().deallocate(place, n);
  }
  ColumnAllocator select_on_container_copy_construction() const { return {}; }

  const std::shared_ptr<ColumnBlock>& block() const { return block_; }
  friend bool operator==(const ColumnAllocator&, const ColumnAllocator&) = default;

 private:
  std::shared_ptr<ColumnBlock> block_;
};

template <class T>
using Column = std::vector<T, ColumnAllocator<T>>;

// Packs columns into blocks, each into the first one with room of the two opened last: what one column leaves at the
// end of a block, a smaller one takes.
class ColumnPacker {
 public:
  // A longer column has pages of its own, and stays where it is.
  static constexpr size_t kLongestPacked = 32 * 1024;

  template <class T>
  void pack(Column<T>& column) {
    const size_t bytes = column.size() * sizeof(T);
    if (bytes == 0 || bytes > kLongestPacked) return;
    const auto has_room = [&](const std::shared_ptr<ColumnBlock>& block) { return block && block->has_room(bytes); };
    auto block = std::find_if(open_.begin(), open_.end(), has_room);
    if (block == open_.end()) {
      std::rotate(open_.begin(), open_.begin() + 1, open_.end());
      block = open_.end() - 1;
      *block = std::make_shared<ColumnBlock>(kBlockBytes);
    }
    column = Column<T>(column.begin(), column.end(), ColumnAllocator<T>(*block));
  }

 private:
  // Small enough to be used again for whatever is allocated next: an allocator does not break up large pieces.
  static constexpr size_t kBlockBytes = 256 * 1024;

  std::array<std::shared_ptr<ColumnBlock>, 2> open_;
};

}  // namespace skewscope
