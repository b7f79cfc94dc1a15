// A column of a table: a vector that may lie in one block of memory with columns of other tables.
//
// Problem: the traces of thousands of ranks are tens of thousands of columns of a few kilobytes. An allocator rounds
// each up to its next size, by up to a fifth; and as it puts columns of like size on one page, a column that is given
// back frees nothing while another one stays on its page.
// Idea: columns that are given back together are packed into the same blocks, one behind the other.
// Why right: a block is held by the columns in it and goes with the last of them; a copy of a column, or one that grows
// beyond what the block has left, lies elsewhere.
#pragma once

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
    constexpr size_t kAligned = alignof(std::max_align_t);
    const size_t rounded = (bytes + kAligned - 1) / kAligned * kAligned;
    const size_t at = used_.fetch_add(rounded, std::memory_order_relaxed);
    return at + rounded <= bytes_ ? memory_.get() + at : nullptr;
  }

  bool holds(const void* place) const {
    const std::less<const void*> before;
    return !before(place, memory_.get()) && before(place, memory_.get() + bytes_);
  }

 private:
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

// Packs columns into blocks, in the order given.
class ColumnPacker {
 public:
  // A longer column has pages of its own, and stays where it is.
  static constexpr size_t kLongestPacked = 32 * 1024;

  template <class T>
  void pack(Column<T>& column) {
    const size_t bytes = column.size() * sizeof(T);
    if (bytes == 0 || bytes > kLongestPacked) return;
    if (!open_ || !pack_into_open_block(column)) {
      open_ = std::make_shared<ColumnBlock>(kBlockBytes);
      pack_into_open_block(column);
    }
  }

 private:
  static constexpr size_t kBlockBytes = 256 * 1024;

  template <class T>
  bool pack_into_open_block(Column<T>& column) {
    Column<T> packed(column.begin(), column.end(), ColumnAllocator<T>(open_));
    if (!open_->holds(packed.data())) return false;
    column = std::move(packed);
    return true;
  }

  std::shared_ptr<ColumnBlock> open_;
};

}  // namespace skewscope
