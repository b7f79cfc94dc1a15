#include <catch2/catch.hpp>
#include <random>

#include "skewscope/digest.h"
#include "small_file.h"
#include "src/digest/block_file.h"
#include "src/digest/relative_calls.h"

using namespace skewscope;  // NOLINT
using skewscope::test::small_file;

namespace {

// The same blocks, one byte of one of them changed, with checksums that are right again.
std::string repacked(const std::vector<std::string>& blocks, size_t block, size_t at, char change) {
  std::vector<std::string> changed = blocks;
  changed[block][at] = static_cast<char>(changed[block][at] ^ change);
  return digest::pack_blocks(changed, 1 << 20);
}

}  // namespace

TEST_CASE("what a digest gives back has the same digest") {
  const std::string digest = to_digest(small_file());
  const Result<TraceFile> back = from_digest(digest);
  REQUIRE(back.ok());
  CHECK(to_digest(back.value()) == digest);
}

TEST_CASE("every field of a file survives its digest") {
  const TraceFile before = small_file();
  const TraceFile after = from_digest(to_digest(before)).value();
  CHECK(after.kind == before.kind);
  CHECK(after.compression == "gzip");
  CHECK(after.job_name == "pretrain");
  CHECK(after.bytes == 123'456);
  CHECK(after.events == 789);
  const RankEvidence &e = after.evidence, &f = before.evidence;
  CHECK((e.file == f.file && e.folder == f.folder && e.host == f.host && e.gpus == 8));
  CHECK((e.distributed.present && e.distributed.rank == 3 && e.distributed.world_size == 8));
  REQUIRE(e.distributed.groups.size() == 1);
  CHECK(e.distributed.groups[0].ranks == f.distributed.groups[0].ranks);
  CHECK((e.symmetric_rank == 3 && e.default_group_size == 8 && e.largest_group == 8));
  CHECK(e.call_groups == f.call_groups);
  CHECK((e.first_event == f.first_event && e.last_event == f.last_event));
  const RankTrace &t = after.linked.trace, &u = before.linked.trace;
  CHECK((t.file == u.file && t.host == u.host && t.device == 3 && t.device_name == "NVIDIA H100"));
  CHECK((t.calls_only && t.durations_only));
  CHECK(t.one_of == 8);
  CHECK((t.resolution_ns == 1000 && t.has_cpu_ops && t.vendor == GpuVendor::nvidia));
  CHECK((t.gpu.start == u.gpu.start && t.gpu.duration_ns == u.gpu.duration_ns && t.gpu.work == u.gpu.work));
  CHECK((t.gpu.device == u.gpu.device && t.gpu.stream == u.gpu.stream && t.gpu.launch == u.gpu.launch));
  CHECK(after.linked.strings.view(t.gpu.name[2]) == "ncclDevKernel_AllReduce");
  CHECK((t.launches.start == u.launches.start && t.launches.duration_ns == u.launches.duration_ns));
  CHECK(t.launches.thread == u.launches.thread);
  REQUIRE(t.steps.size() == 1);
  CHECK((t.steps[0].number == 12 && t.steps[0].start == u.steps[0].start && t.steps[0].duration_ns == 80));
  REQUIRE(t.calls.size() == 3);
  const CollectiveCall &c = t.calls[2], &d = u.calls[2];
  CHECK((c.start == d.start && c.duration_ns == 30 && c.gpu_row == 2 && c.stream == 20 && c.kind == d.kind));
  CHECK((c.dtype == d.dtype && c.source == d.source && c.custom == d.custom && c.in_elements == 4096));
  CHECK((c.out_elements == 4096 && c.peer == Rank(5) && c.seq == 77 && c.comms_id == d.comms_id && c.step == 12));
  CHECK((c.launch_start == d.launch_start && c.launch_duration_ns == 3 && c.launched));
  CHECK((c.phase == CallPhase::backward && c.module == 1));
  CHECK((c.algorithm == Algorithm::nvls && c.protocol == Protocol::ll128));
  CHECK(after.linked.modules == std::vector<std::string>{"layers.0", "layers.3"});
  CHECK((!t.grids.empty() && t.grids == u.grids));
  REQUIRE(t.messages.size() == 2);
  const BatchMessage &sent = t.messages[0], &received = t.messages[1];
  CHECK((sent.call == 0 && sent.sends && sent.peer == Rank(4) && sent.dtype == DType::float16 && sent.elements == 777));
  CHECK((received.call == 0 && !received.sends && !received.peer.known() && received.elements == -1));
  CHECK(after.linked.open_peers == before.linked.open_peers);
  REQUIRE(t.splits.size() == 2);
  CHECK((t.splits[0].call == 1 && t.splits[0].sends == 4096 && t.splits[0].receives == 1 << 20));
  CHECK((t.splits[1].call == 1 && t.splits[1].sends == -1 && t.splits[1].receives == 0));
  REQUIRE(after.linked.groups.size() == 1);
  CHECK(after.linked.groups[0].ranks == "[0, 1, 2, 3, 4, 5, 6, 7]");
  CHECK(after.linked.open_calls[2].root_in_group == 2);
  CHECK(after.linked.device_names == before.linked.device_names);
  CHECK((after.linked.first_host_row == before.linked.first_host_row));
  REQUIRE(after.linked.findings.size() == 1);
  CHECK(after.linked.findings[0].byte_offset == 4711);
}

TEST_CASE("a digest keeps calls of every kind and type, and refuses numbers that are none") {
  TraceFile file = small_file();
  for (int number = 0; number <= 255; ++number) {
    file.linked.trace.calls.back().kind = static_cast<CollectiveKind>(number);
    CHECK(from_digest(to_digest(file)).ok() == is_valid(static_cast<CollectiveKind>(number)));
  }
  file = small_file();
  for (int number = 0; number <= 255; ++number) {
    file.linked.trace.calls.back().dtype = static_cast<DType>(number);
    CHECK(from_digest(to_digest(file)).ok() == is_valid(static_cast<DType>(number)));
  }
}

TEST_CASE("a call of a module that is not there is refused") {
  TraceFile file = small_file();
  file.linked.modules.pop_back();
  CHECK_FALSE(from_digest(to_digest(file)).ok());
}

TEST_CASE("names that no GPU row has are left out of a digest") {
  TraceFile file = small_file();
  const std::string digest = to_digest(file);
  file.linked.strings.intern("aten::linear");
  CHECK(to_digest(file) == digest);
}

TEST_CASE("a digest cut anywhere is refused in words; with any byte changed it is, or says what it said") {
  const std::string whole = to_digest(small_file());
  for (size_t size = 0; size < whole.size(); ++size) {
    const Result<TraceFile> cut = from_digest(std::string_view(whole).substr(0, size));
    REQUIRE_FALSE(cut.ok());
    CHECK(cut.error().message.find("digest") != std::string::npos);
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x41);
    const Result<TraceFile> file = from_digest(changed);
    // The claim of memory may be too large without harm, and a compressed block may say one thing in two ways.
    const bool harmless = (at >= 16 && at < 24) || (file.ok() && to_digest(file.value()) == whole);
    CHECK((!file.ok() || harmless));
  }
}

TEST_CASE("a digest of another version is refused by its version") {
  std::string digest = to_digest(small_file());
  digest[8] = 99;
  const Result<TraceFile> file = from_digest(digest);
  REQUIRE_FALSE(file.ok());
  CHECK(file.error().message.find("version 99, this program reads " + std::to_string(kDigestVersion)) !=
        std::string::npos);
}

TEST_CASE("a forged digest, whose checksums are right, is a sound file or refused") {
  const auto blocks = digest::unpack_blocks(to_digest(small_file())).value();
  int refused = 0, taken = 0;
  for (size_t b = 0; b < blocks.size(); ++b) {
    for (size_t at = 0; at < blocks[b].size(); ++at) {
      for (const char change : {'\x01', '\x7f', '\x80', '\xff'}) {
        const Result<TraceFile> file = from_digest(repacked(blocks, b, at, change));
        (file.ok() ? taken : refused)++;
        if (file.ok()) CHECK(check_invariants(file.value().linked.trace).empty());
      }
    }
  }
  CHECK(refused > 100);
  CHECK(taken > 100);  // texts and counts can say anything
}

TEST_CASE("random changes of a forged digest are survived") {
  const auto blocks = digest::unpack_blocks(to_digest(small_file())).value();
  std::mt19937_64 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::string> changed = blocks;
    for (uint64_t n = random() % 4 + 1; n > 0; --n) {
      std::string& block = changed[random() % changed.size()];
      if (block.empty()) continue;
      const size_t at = random() % block.size();
      switch (random() % 3) {
        case 0:
          block[at] = static_cast<char>(random());
          break;
        case 1:
          block.erase(at, random() % 9);
          break;
        default:
          block.insert(at, random() % 9, static_cast<char>(random()));
          break;
      }
    }
    const Result<TraceFile> file = from_digest(digest::pack_blocks(changed, random() % (1 << 22)));
    if (file.ok()) CHECK(check_invariants(file.value().linked.trace).empty());
  }
}

TEST_CASE("a digest takes no more memory than its head claims") {
  const auto blocks = digest::unpack_blocks(to_digest(small_file())).value();
  const Result<TraceFile> file = from_digest(digest::pack_blocks(blocks, 100));
  REQUIRE_FALSE(file.ok());
  CHECK(file.error().message.find("columns do not fit") != std::string::npos);
}

TEST_CASE("a small digest that claims large memory is refused before it gets any") {
  const std::string huge = digest::pack_blocks({std::string(16, 'x')}, uint64_t{1} << 40);
  CHECK_FALSE(digest_sizes(huge));
  CHECK_FALSE(from_digest(huge).ok());
}

TEST_CASE("a row that begins at the furthest time and lasts gets through a digest, one that begins later does not") {
  TraceFile file = small_file();
  RankTrace& trace = file.linked.trace;
  trace.gpu.start.back() = {kFurthestNs};
  trace.calls.back().start = {kFurthestNs};
  trace.last_event = file.evidence.last_event = file.linked.last_host_row = {kFurthestNs + 30};
  CHECK(from_digest(to_digest(file)).ok());
  trace.gpu.start.back() = {kFurthestNs + 1};
  trace.calls.back().start = {kFurthestNs + 1};
  CHECK_FALSE(from_digest(to_digest(file)).ok());
}

TEST_CASE("a forged row without a name, and a path that no system has, are refused") {
  TraceFile nameless = small_file();
  nameless.linked.trace.gpu.name[1] = StringId();
  CHECK(from_digest(to_digest(nameless)).error().message == "damaged digest: a name that is not there");
  TraceFile long_path = small_file();
  long_path.evidence.file = std::string(40'000, 'x');
  CHECK(from_digest(to_digest(long_path)).error().message == "damaged digest: a path that no system has");
}

TEST_CASE("a forged message of no call, of a call that is no batch, or of no known type is refused") {
  for (const int32_t call : {-1, 1, 2}) {
    TraceFile file = small_file();
    file.linked.trace.messages[1].call = call;
    CHECK_FALSE(from_digest(to_digest(file)).ok());
  }
  TraceFile file = small_file();
  file.linked.trace.messages[0].dtype = static_cast<DType>(99);
  CHECK(from_digest(to_digest(file)).error().message == "damaged digest: a message of no known type");
}

TEST_CASE("a forged digest of a vendor, or with work, that has no name is refused") {
  TraceFile file = small_file();
  file.linked.trace.vendor = static_cast<GpuVendor>(4);
  CHECK(from_digest(to_digest(file)).error().message.find("vendor") != std::string::npos);
  file = small_file();
  file.linked.trace.gpu.work[0] = static_cast<GpuWork>(77);
  CHECK(from_digest(to_digest(file)).error().message.find("work") != std::string::npos);
}

TEST_CASE("a forged digest whose columns differ in length is refused, whatever row a call names") {
  TraceFile file = small_file();
  file.linked.trace.gpu.duration_ns.resize(1);  // the call is of row 2, which the writer is not asked to look at
  file.linked.trace.calls[2].gpu_row = -1;
  const auto blocks = digest::unpack_blocks(to_digest(file)).value();
  CHECK_FALSE(from_digest(digest::pack_blocks(blocks, 1 << 20)).ok());
  RankTrace trace = small_file().linked.trace;
  trace.gpu.stream.resize(2);
  CHECK_FALSE(digest::make_calls_absolute(trace));
  trace = small_file().linked.trace;
  trace.launches.duration_ns.resize(1);
  CHECK_FALSE(digest::make_calls_absolute(trace));
}

TEST_CASE("head and table of a digest tell how much it will take") {
  const std::string digest = to_digest(small_file());
  const std::string_view head = std::string_view(digest).substr(0, kDigestHeadBytes);
  const size_t table = digest_table_bytes(head);
  REQUIRE(table > 0);
  const auto sizes = digest_sizes(std::string_view(digest).substr(0, kDigestHeadBytes + table));
  REQUIRE(sizes);
  CHECK(sizes->file == digest.size());
  CHECK(sizes->inflated > 0);
  CHECK(sizes->decoded >= 3 * 33 + 2 * 24);  // three GPU rows, two launches
}

TEST_CASE("JSON is no digest") {
  CHECK_FALSE(is_digest("{\"traceEvents\": []}"));
  CHECK_FALSE(is_digest(""));
  CHECK(is_digest(to_digest(small_file()).substr(0, 8)));
}
