#include "chunk_cutter.h"

#include <algorithm>
#include <cstring>

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

constexpr size_t kHeadBlock = 32 << 10;
// Enough before a boundary to recognise it when text is thrown away block by block.
constexpr size_t kOverlap = 64 << 10;
// A few events: some other one begins there.
constexpr size_t kTail = 4 << 10;

// Behind `text[at]` (a key): `:` and `open`? Returns the position of `open`, npos if not, or if the text ends before.
size_t opening_after_key(std::string_view text, size_t at, char open) {
  const size_t colon = text.find_first_not_of(" \t\r\n", at);
  if (colon == std::string_view::npos || text[colon] != ':') return std::string_view::npos;
  const size_t value = text.find_first_not_of(" \t\r\n", colon + 1);
  return value != std::string_view::npos && text[value] == open ? value : std::string_view::npos;
}

size_t array_of_key(std::string_view text, std::string_view quoted_key, size_t from, size_t& key_at) {
  for (key_at = text.find(quoted_key, from); key_at != std::string_view::npos;
       key_at = text.find(quoted_key, key_at + 1)) {
    const size_t open = opening_after_key(text, key_at + quoted_key.size(), '[');
    if (open != std::string_view::npos) return open;
  }
  return std::string_view::npos;
}

// Whether the bracket that closes the events is in `text`, which begins at an event boundary.
bool closes_events(std::string_view text) {
  int64_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (in_string) {
      i += c == '\\';
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      depth++;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return c == ']';
      depth--;
    }
  }
  return false;
}

}  // namespace

void TextBuffer::reserve(size_t capacity) {
  if (capacity <= capacity_) return;
  auto bytes = std::make_unique_for_overwrite<char[]>(kRoomBefore + capacity + kRoomBehind);
  if (bytes_) std::memcpy(bytes.get() + kRoomBefore, text(), size_);
  bytes_ = std::move(bytes);
  capacity_ = capacity;
}

void TextBuffer::append(std::string_view more) {
  if (size_ + more.size() > capacity_) reserve(std::max(size_ + more.size(), 2 * capacity_));
  std::memcpy(text() + size_, more.data(), more.size());
  size_ += more.size();
}

void TextBuffer::pad() {
  reserve(size_);
  std::memset(text() + size_, 0, kRoomBehind);
}

void ChunkText::load(ByteSource& source) {
  if (unread == 0) return;
  resize(source.read_at(static_cast<size_t>(offset), text(), unread));
  unread = 0;
}

bool ChunkCutter::read_head_block() {
  const size_t had = head_.size();
  head_.resize(had + kHeadBlock);
  const size_t got = source_.read(head_.data() + had, kHeadBlock);
  head_.resize(had + got);
  bytes_ += static_cast<int64_t>(got);
  at_end_ = got < kHeadBlock;
  return got > 0;
}

// "[" then an object or nothing: events without anything around them.
bool ChunkCutter::start_bare_array() {
  const size_t open = head_.find('[');
  const size_t first = head_.find_first_not_of(" \t\r\n", open + 1);
  if (first != std::string::npos && head_[first] != '{' && head_[first] != ']') return false;
  bare_array_ = true;
  carry_ = head_.substr(open + 1);
  head_.clear();
  return true;
}

bool ChunkCutter::find_events() {
  size_t searched = 0;
  std::string first_text;  // of a head that is too long to keep
  while (read_head_block()) {
    if (first_text.empty()) {
      if (searched == 0 && head_.starts_with("\xef\xbb\xbf"sv)) head_.replace(0, 3, "   ");
      const size_t first = head_.find_first_not_of(" \t\r\n");
      if (first == std::string::npos) {
        head_.clear();
        continue;
      }
      if (head_[first] == '[') return start_bare_array();
      if (head_[first] != '{') return false;
    }
    size_t key_at = 0;
    const size_t open = array_of_key(head_, "\"traceEvents\"", searched, key_at);
    if (open != std::string::npos) {
      carry_ = head_.substr(open + 1);
      head_.resize(key_at);
      if (!first_text.empty()) head_.swap(first_text);
      return true;
    }
    size_t nodes_at = 0;
    if (first_text.empty() && array_of_key(head_, "\"nodes\"", searched, nodes_at) != std::string::npos &&
        head_.find("\"schema\"") < nodes_at) {
      execution_trace_ = true;
      return false;
    }
    if (head_.size() > kLargestHead) {
      const size_t kept = head_.size() - kOverlap;
      if (first_text.empty()) first_text = head_.substr(0, kept);
      head_.erase(0, kept);
    }
    searched = head_.size() > kOverlap ? head_.size() - kOverlap : 0;
  }
  if (!first_text.empty()) head_.swap(first_text);
  return false;
}

void ChunkCutter::fill(TextBuffer& chunk) {
  const size_t wanted = chunk.capacity() - chunk.size();
  const size_t got = source_.read(chunk.text() + chunk.size(), wanted);
  chunk.resize(chunk.size() + got);
  bytes_ += static_cast<int64_t>(got);
  at_end_ = got < wanted;
}

bool ChunkCutter::next(ChunkText& chunk) { return cut_unread(chunk) || cut_read(chunk); }

// Where a file can be read anywhere, only the end of a chunk is looked at here. Copying the rest takes half as long as
// parsing it, and here one thread after the other would do it.
bool ChunkCutter::cut_unread(ChunkText& chunk) {
  const size_t at = static_cast<size_t>(bytes_) - carry_.size(), wanted = settings_.chunk_bytes;
  if (behind_events_ || at + wanted > source_.readable_anywhere()) return false;
  size_t cut = std::string_view::npos;
  for (size_t looked = std::min(kTail, wanted);; looked = std::min(8 * looked, wanted)) {
    tail_.resize(looked);
    if (source_.read_at(at + wanted - looked, tail_.data(), looked) < looked) return false;
    cut = last_event_boundary(tail_, 0);
    if (cut != std::string_view::npos) cut += wanted - looked;
    if (cut != std::string_view::npos || looked == wanted) break;
  }
  if (cut == std::string_view::npos || cut == 0) return false;
  carry_.clear();
  at_end_ = false;
  bytes_ = static_cast<int64_t>(at + cut);
  source_.seek(at + cut);
  chunk.clear();
  chunk.reserve(wanted);
  chunk.unread = cut;
  chunk.offset = static_cast<int64_t>(at);
  chunk.last = false;
  chunk.share = source_.share_read();
  return true;
}

bool ChunkCutter::cut_read(ChunkText& chunk) {
  chunk.clear();
  chunk.reserve(std::max(settings_.chunk_bytes, carry_.size()));
  chunk.append(carry_);
  chunk.offset = bytes_ - static_cast<int64_t>(carry_.size());
  carry_.clear();
  size_t searched = 0;
  while (true) {
    if (!at_end_) fill(chunk);
    chunk.last = at_end_;
    chunk.share = source_.share_read();
    if (at_end_) return chunk.size() > 0;
    const size_t cut = last_event_boundary(chunk.view(), searched);
    if (cut != std::string_view::npos && cut > 0) {
      behind_events_ = false;
      carry_ = chunk.view().substr(cut);
      chunk.resize(cut);
      return true;
    }
    // A boundary may straddle the end of what was searched.
    searched = chunk.size() > kOverlap ? chunk.size() - kOverlap : 0;
    if (behind_events_) return cut_tail(chunk);
    if (!grow_or_skip(chunk)) return false;
  }
}

bool ChunkCutter::grow_or_skip(ChunkText& chunk) {
  if (chunk.size() < settings_.largest_chunk_bytes) {
    chunk.reserve(std::min(2 * chunk.capacity(), std::max(settings_.largest_chunk_bytes, chunk.capacity() + 1)));
    return true;
  }
  behind_events_ = closes_events(chunk.view());
  return behind_events_ || skip_to_boundary(chunk);
}

// Other keys follow the events, in pieces as they come. The parser may not keep blanks and commas at the end of a
// chunk.
bool ChunkCutter::cut_tail(ChunkText& chunk) {
  const size_t cut = chunk.view().find_last_not_of(" \t\r\n,") + 1;
  if (cut > 0) {
    carry_ = chunk.view().substr(cut);
    chunk.resize(cut);
  }
  return true;
}

bool ChunkCutter::skip_to_boundary(ChunkText& chunk) {
  if (first_skipped_ < 0) first_skipped_ = chunk.offset;
  while (true) {
    const size_t kept = std::min(kOverlap, chunk.size() / 2);
    const size_t dropped = chunk.size() - kept;
    std::memmove(chunk.text(), chunk.text() + dropped, kept);
    chunk.resize(kept);
    chunk.offset += static_cast<int64_t>(dropped);
    skipped_bytes_ += static_cast<int64_t>(dropped);
    fill(chunk);
    const size_t boundary = next_event_boundary(chunk.view(), 0);
    if (boundary != std::string_view::npos) {
      std::memmove(chunk.text(), chunk.text() + boundary, chunk.size() - boundary);
      chunk.resize(chunk.size() - boundary);
      chunk.offset += static_cast<int64_t>(boundary);
      skipped_bytes_ += static_cast<int64_t>(boundary);
      return true;
    }
    if (at_end_) return chunk.size() > 0;
  }
}

}  // namespace skewscope::ingest
