// The decoded blocks of a digest, each behind its length in two bytes, lowest first: packed with right checksums, as
// nobody's mistake but somebody's intention. What is read is sound, and is the same once it is written again.
#include "skewscope/digest.h"

#include <fstream>

#include "memory_folder.h"
#include "skewscope/correlate.h"
#include "skewscope/report.h"
#include "src/digest/block_file.h"

using namespace skewscope;  // NOLINT
using test::require;

namespace {

std::vector<std::string> blocks_of(std::string_view bytes) {
  std::vector<std::string> blocks;
  while (bytes.size() >= 2) {
    const size_t claimed = static_cast<unsigned char>(bytes[0]) + 256 * static_cast<unsigned char>(bytes[1]);
    bytes.remove_prefix(2);
    blocks.emplace_back(bytes.substr(0, claimed));
    bytes.remove_prefix(blocks.back().size());
  }
  return blocks;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(from_digest(bytes));
  const std::vector<std::string> blocks = blocks_of(bytes);
  if (blocks.empty()) return 0;
  const std::string digest = digest::pack_blocks(blocks, 1 << 20);
  const Result<TraceFile> file = from_digest(digest);
  if (!file.ok()) return 0;
  require(check_invariants(file.value().linked.trace).empty());
  const std::string again = to_digest(file.value());
  const Result<TraceFile> read_again = from_digest(again);
  require(read_again.ok() && to_digest(read_again.value()) == again);

  const MemoryFolder folder;
  std::ofstream(folder.path() + "/one.digest", std::ios::binary) << digest;
  CorrelateOptions options;
  options.ingest.memory_limit_bytes = int64_t{1} << 28;
  StageTimer timer;
  const auto report = correlate({folder.path()}, options, timer);
  require(report.ok() || report.error().kind != ErrorKind::internal);
  if (report.ok()) to_json(report.value(), {});
  return 0;
}
