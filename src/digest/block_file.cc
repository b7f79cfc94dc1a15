#include "block_file.h"

#include <tbb/parallel_for.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <new>

#include "skewscope/digest.h"

namespace skewscope::digest {
namespace {

constexpr char kMagic[] = "\x89skew\r\n\x1a";  // as PNG's: shows at once what a transfer as text broke
constexpr size_t kMagicBytes = sizeof kMagic - 1;
constexpr size_t kEntryBytes = 16;
static_assert(kDigestHeadBytes == kMagicBytes + 4 + 4 + 8);
constexpr uint32_t kMostBlocks = 1 << 16;
constexpr int kPlanLevel = 9, kColumnLevel = 3;  // texts gain a seventh, byte planes nothing
// A small file must not take large memory: digests of real traces grow 2- to 30-fold, of perfectly periodic ones more.
constexpr uint64_t kMostGrowth = 1024, kAlwaysAllowed = uint64_t{1} << 26;

struct Entry {
  uint64_t stored = 0, inflated = 0;
};

// Numbers are stored lowest byte first.
template <class Number>
void put(std::string& bytes, Number number) {
  for (size_t i = 0; i < sizeof number; ++i) bytes.push_back(static_cast<char>(number >> (8 * i) & 0xff));
}

template <class Number>
Number get(std::string_view bytes, size_t at) {
  Number number = 0;
  for (size_t i = 0; i < sizeof number; ++i) {
    number |= static_cast<Number>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return number;
}

std::string deflate(const std::string& block, int level) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  if (!context) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string stored(ZSTD_compressBound(block.size()), '\0');
  const size_t size = ZSTD_compress2(context.get(), stored.data(), stored.size(), block.data(), block.size());
  if (ZSTD_isError(size) != 0) throw std::bad_alloc();  // there is room for any result, but memory to work in
  stored.resize(size);
  return stored;
}

bool inflate(std::string_view stored, std::string& block) {
  const size_t got = ZSTD_decompress(block.data(), block.size(), stored.data(), stored.size());
  if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation) throw std::bad_alloc();  // says nothing of the block
  return ZSTD_isError(got) == 0 && got == block.size();
}

// `file`: from its head to the end of its table at least.
std::vector<Entry> read_table(std::string_view file, const Head& head) {
  std::vector<Entry> table;
  for (size_t i = 0; i < head.blocks; ++i) {
    const size_t at = kDigestHeadBytes + i * kEntryBytes;
    table.push_back({get<uint64_t>(file, at), get<uint64_t>(file, at + 8)});
  }
  return table;
}

}  // namespace

Error damaged(const std::string& what) { return {ErrorKind::no_input, "damaged digest: " + what}; }

std::string pack_blocks(const std::vector<std::string>& blocks, uint64_t decoded_bytes) {
  std::vector<std::string> stored(blocks.size());
  tbb::parallel_for(size_t{0}, blocks.size(),
                    [&](size_t i) { stored[i] = deflate(blocks[i], i == 0 ? kPlanLevel : kColumnLevel); });
  std::string file(kMagic, kMagicBytes);
  put(file, kDigestVersion);
  put(file, static_cast<uint32_t>(blocks.size()));
  put(file, decoded_bytes);
  for (size_t i = 0; i < blocks.size(); ++i) {
    put(file, uint64_t{stored[i].size()});
    put(file, uint64_t{blocks[i].size()});
  }
  for (const std::string& block : stored) file += block;
  return file;
}

bool read_head(std::string_view file, Head& head) {
  if (file.size() < kDigestHeadBytes || !is_digest(file)) return false;
  head.version = get<uint32_t>(file, kMagicBytes);
  head.blocks = get<uint32_t>(file, kMagicBytes + 4);
  head.decoded_bytes = get<uint64_t>(file, kMagicBytes + 8);
  return true;
}

Result<std::vector<std::string>> unpack_blocks(std::string_view file) {
  Head head;
  if (!read_head(file, head)) return damaged("its head is cut");
  if (head.version != kDigestVersion) {
    return Error{ErrorKind::no_input, "a digest of version " + std::to_string(head.version) + ", this program reads " +
                                          std::to_string(kDigestVersion) + "; make it again from the trace"};
  }
  const std::optional<DigestSizes> sizes = digest_sizes(file);
  if (!sizes || sizes->file != file.size()) return damaged("its table and its length differ, or claim too much");
  const std::vector<Entry> table = read_table(file, head);
  std::vector<std::string> blocks(table.size());
  std::vector<std::string_view> stored;
  size_t at = kDigestHeadBytes + table.size() * kEntryBytes;
  for (const Entry& entry : table) {
    stored.push_back(file.substr(at, entry.stored));
    at += entry.stored;
  }
  std::atomic<bool> whole{true};
  tbb::parallel_for(size_t{0}, blocks.size(), [&](size_t i) {
    if (ZSTD_getFrameContentSize(stored[i].data(), stored[i].size()) != table[i].inflated) {
      whole = false;
      return;
    }
    blocks[i].resize(table[i].inflated);
    if (!inflate(stored[i], blocks[i])) whole = false;
  });
  if (!whole) return damaged("a block's checksum is wrong");
  return blocks;
}

}  // namespace skewscope::digest

namespace skewscope {

bool is_digest(std::string_view head) {
  return head.substr(0, digest::kMagicBytes) == std::string_view(digest::kMagic, digest::kMagicBytes);
}

size_t digest_table_bytes(std::string_view bytes) {
  digest::Head head;
  if (!digest::read_head(bytes, head) || head.blocks > digest::kMostBlocks) return 0;
  return head.blocks * digest::kEntryBytes;
}

std::optional<DigestSizes> digest_sizes(std::string_view bytes) {
  digest::Head head;
  const size_t table_bytes = digest_table_bytes(bytes);
  if (table_bytes == 0 || bytes.size() < kDigestHeadBytes + table_bytes) return std::nullopt;
  if (!digest::read_head(bytes, head) || head.version != kDigestVersion) return std::nullopt;
  constexpr uint64_t kMost = uint64_t{1} << 40;  // no sum of claims overflows
  DigestSizes sizes{kDigestHeadBytes + table_bytes, 0, head.decoded_bytes};
  for (const digest::Entry& entry : digest::read_table(bytes, head)) {
    if (entry.stored > kMost || entry.inflated > kMost) return std::nullopt;
    sizes.file += entry.stored;
    sizes.inflated += entry.inflated;
  }
  const uint64_t allowed = digest::kAlwaysAllowed + sizes.file * digest::kMostGrowth;
  return sizes.inflated <= allowed && sizes.decoded <= allowed ? std::optional(sizes) : std::nullopt;
}

}  // namespace skewscope
