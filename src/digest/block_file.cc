#include "block_file.h"

#include <tbb/parallel_for.h>
#include <zstd.h>

#include <atomic>
#include <cstring>
#include <memory>

#include "skewscope/digest.h"

namespace skewscope::digest {
namespace {

constexpr char kMagic[] = "\x89skew\r\n\x1a";  // as PNG's: shows at once what a transfer as text broke
constexpr size_t kMagicBytes = sizeof kMagic - 1;
constexpr size_t kHeadBytes = kMagicBytes + 4 + 4 + 8, kEntryBytes = 16;
constexpr int kPlanLevel = 9, kColumnLevel = 3;  // texts gain a seventh, byte planes nothing
// A small file must not take large memory: real digests inflate 2- to 30-fold.
constexpr uint64_t kMostInflation = 4096, kAlwaysAllowed = uint64_t{1} << 28;

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
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string stored(ZSTD_compressBound(block.size()), '\0');
  stored.resize(ZSTD_compress2(context.get(), stored.data(), stored.size(), block.data(), block.size()));
  return stored;
}

bool inflate(std::string_view stored, std::string& block) {
  const size_t got = ZSTD_decompress(block.data(), block.size(), stored.data(), stored.size());
  return ZSTD_isError(got) == 0 && got == block.size();
}

// Empty when the table and the file do not agree.
std::vector<Entry> read_table(std::string_view file, const Head& head) {
  const uint64_t table_bytes = uint64_t{head.blocks} * kEntryBytes;
  if (file.size() - kHeadBytes < table_bytes) return {};
  std::vector<Entry> table;
  uint64_t stored = kHeadBytes + table_bytes, inflated = 0;
  for (size_t i = 0; i < head.blocks; ++i) {
    const size_t at = kHeadBytes + i * kEntryBytes;
    table.push_back({get<uint64_t>(file, at), get<uint64_t>(file, at + 8)});
    if (table.back().stored > file.size() || table.back().inflated > kAlwaysAllowed + file.size() * kMostInflation) {
      return {};
    }
    stored += table.back().stored;
    inflated += table.back().inflated;
  }
  const bool allowed = inflated <= kAlwaysAllowed + file.size() * kMostInflation;
  return allowed && stored == file.size() ? table : std::vector<Entry>();
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
  if (file.size() < kHeadBytes || !is_digest(file)) return false;
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
  const std::vector<Entry> table = read_table(file, head);
  if (table.empty()) return damaged("its table and its length differ");
  if (head.decoded_bytes > kAlwaysAllowed + file.size() * kMostInflation) return damaged("it claims too much memory");
  std::vector<std::string> blocks(table.size());
  std::vector<std::string_view> stored;
  size_t at = kHeadBytes + table.size() * kEntryBytes;
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

int64_t decoded_bytes(std::string_view bytes) {
  digest::Head head;
  if (!digest::read_head(bytes, head)) return 0;
  return static_cast<int64_t>(std::min<uint64_t>(head.decoded_bytes, INT64_MAX));
}

}  // namespace skewscope
